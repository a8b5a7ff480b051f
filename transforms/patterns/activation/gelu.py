"""0.5 * x * (1 + Erf(x / sqrt(2))) -> Gelu(x)

The factor 1/2 may stand at any place, also inside the sum; the scale may be a division or a product.
Constants may be rounded to f16. Nothing else reads a value in between.
"""

from __future__ import annotations

from math import sqrt

from onnxloom.transforms.patterns.activation.spellings import HALF_ROUNDED, half_of_product
from onnxloom.transforms.rewriting.declarative import (
    DeclarativePattern,
    Inputs,
    Match,
    Tensor,
    one_of,
    op,
    pattern,
)
from onnxloom.transforms.rewriting.pattern import Numerics


class GeluPattern(DeclarativePattern):
    min_opset = 20
    numerics = Numerics.TOLERANCE
    config = HALF_ROUNDED

    @pattern
    def with_erf(x: Tensor) -> Tensor:
        erf = op.Erf(one_of(x / sqrt(2), x * sqrt(0.5)))
        return one_of(half_of_product(x, erf + 1), x * (erf * 0.5 + 0.5))

    def replacement(self, inputs: Inputs, match: Match) -> Tensor:
        return op.Gelu(inputs.x)
