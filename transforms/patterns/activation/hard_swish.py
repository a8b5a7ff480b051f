"""x * Clip(x + 3, 0, 6) / 6 -> HardSwish(x), x * HardSigmoid(x; alpha = 1/6, beta = 1/2) -> HardSwish(x)

The division may be a product and stand at any place; Clip may be Min and Relu or Max. Constants may be
rounded to f16. Nothing else reads a value in between.
"""

from __future__ import annotations

from xdsl.dialects.builtin import f64

from onnxloom.transforms.miss import Miss, no_match
from onnxloom.transforms.patterns.activation.spellings import HALF_ROUNDED, clipped_to_six
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


class HardSwishPattern(DeclarativePattern):
    min_opset = 14
    numerics = Numerics.TOLERANCE
    config = HALF_ROUNDED

    @pattern
    def clipped(x: Tensor) -> Tensor:
        six = clipped_to_six(x + 3)
        product = x * six
        return one_of(
            product / 6,
            product * (1 / 6),
            x * one_of(six / 6, six * (1 / 6)),
            one_of(x / 6, x * (1 / 6)) * six,
        )

    @pattern
    def gated(x: Tensor) -> Tensor:
        return x * op.HardSigmoid(x, alpha=1 / 6, beta=0.5)

    def requirements(self, match: Match) -> Miss | None:
        if match.graph.element_type(match["x"]) == f64:
            return no_match(match.anchor, "1/6 is an f32 number in the op, which loses digits of f64")
        return None

    def replacement(self, inputs: Inputs, match: Match) -> Tensor:
        return op.HardSwish(inputs.x)
