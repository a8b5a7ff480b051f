"""Max(x, 0) -> Relu(x)

Of two floats, the zero a scalar without a sign that does not raise the rank. The sign of a zero
may change: which of 0.0 and -0.0 is the larger one, the standard does not say.
"""

from __future__ import annotations

from onnxloom.transforms.miss import Miss, no_match
from onnxloom.transforms.rewriting.declarative import (
    DeclarativePattern,
    Inputs,
    Match,
    MatcherConfig,
    Tensor,
    op,
    pattern,
)
from onnxloom.transforms.rewriting.pattern import Numerics


class MaxReluPattern(DeclarativePattern):
    numerics = Numerics.TOLERANCE
    config = MatcherConfig(rtol=0)  # Max(x, -0.0) is not Relu

    @pattern
    def positive(x: Tensor) -> Tensor:
        return op.Max(x, 0)

    def requirements(self, match: Match) -> Miss | None:
        dtype = match.graph.dtype(match["x"])
        if dtype is not None and dtype.kind == "i":
            return no_match(match.anchor, "few runtimes have a Relu of integers")
        return None

    def replacement(self, inputs: Inputs, match: Match) -> Tensor:
        return op.Relu(inputs.x)
