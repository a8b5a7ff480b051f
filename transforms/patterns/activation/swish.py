"""x * Sigmoid(x) -> Swish(x), x * Sigmoid(x * alpha) -> Swish(x; alpha)

where alpha is one known number that f32 holds: the attribute has no other type.
"""

from __future__ import annotations

import numpy as np

from onnxloom.transforms.miss import Miss, no_match
from onnxloom.transforms.rewriting.declarative import (
    DeclarativePattern,
    Inputs,
    Match,
    Scalar,
    Tensor,
    one_of,
    op,
    pattern,
)
from onnxloom.transforms.rewriting.pattern import Numerics


class SwishPattern(DeclarativePattern):
    min_opset = 24
    numerics = Numerics.TOLERANCE

    @pattern
    def gated(x: Tensor, alpha: Scalar | None) -> Tensor:
        return x * op.Sigmoid(one_of(x * alpha, x))

    def requirements(self, match: Match) -> Miss | None:
        if match.has("alpha") and not is_f32(match.scalar("alpha")):
            return no_match(match.anchor, "alpha is no f32 number, which the attribute has to be")
        return None

    def replacement(self, inputs: Inputs, match: Match) -> Tensor:
        return op.Swish(inputs.x, alpha=match.scalar("alpha") if match.has("alpha") else 1.0)


def is_f32(number: float) -> bool:
    """Whether a finite number is an f32."""
    with np.errstate(over="ignore"):
        return float(np.float32(number)) == number and bool(np.isfinite(number))
