"""x * Tanh(Softplus(x)) -> Mish(x)

where Softplus may be spelled Log(1 + Exp(x)): where that overflows, Tanh of it is 1 all the same.
"""

from __future__ import annotations

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


class MishPattern(DeclarativePattern):
    min_opset = 18
    numerics = Numerics.TOLERANCE

    @pattern
    def gated(x: Tensor) -> Tensor:
        return x * op.Tanh(one_of(op.Softplus(x), op.Log(op.Exp(x) + 1)))

    def replacement(self, inputs: Inputs, match: Match) -> Tensor:
        return op.Mish(inputs.x)
