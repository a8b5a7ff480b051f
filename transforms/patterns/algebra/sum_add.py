"""Sum(x, y) -> Add(x, y)

The two compute the same; patterns and kernels know Add.
"""

from __future__ import annotations

from onnxloom.transforms.rewriting.declarative import (
    DeclarativePattern,
    Inputs,
    Match,
    MatcherConfig,
    Tensor,
    op,
    pattern,
)


class SumAddPattern(DeclarativePattern):
    config = MatcherConfig(commute=False)

    @pattern
    def two(x: Tensor, y: Tensor) -> Tensor:
        return op.Sum(x, y)

    def replacement(self, inputs: Inputs, match: Match) -> Tensor:
        return op.Add(inputs.x, inputs.y)
