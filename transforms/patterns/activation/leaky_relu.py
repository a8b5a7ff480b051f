"""Where(x > 0, x, x * k) -> LeakyRelu(x; alpha = k)

where k is one known number that f32 holds, as the attribute does, and not negative: a negative one would
turn the sign of zero. The comparison may be >=, or < with the branches the other way round.
"""

from __future__ import annotations

from math import copysign

from onnxloom.transforms.miss import Miss, no_match
from onnxloom.transforms.patterns.activation.swish import is_f32
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


class LeakyReluPattern(DeclarativePattern):
    min_opset = 6

    @pattern
    def chosen(x: Tensor, k: Scalar) -> Tensor:
        return one_of(
            op.Where(one_of(op.Greater(x, 0), op.GreaterOrEqual(x, 0)), x, x * k),
            op.Where(op.Less(x, 0), x * k, x),
        )

    def requirements(self, match: Match) -> Miss | None:
        slope = match.scalar("k")
        if not is_f32(slope):
            return no_match(match.anchor, "the slope is no f32 number, which the attribute has to be")
        if copysign(1, slope) < 0:
            return no_match(match.anchor, "the slope is negative, which turns the sign of zero")
        return None

    def replacement(self, inputs: Inputs, match: Match) -> Tensor:
        return op.LeakyRelu(inputs.x, alpha=float(match.scalar("k")))
