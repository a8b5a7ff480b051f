"""ArrayFeatureExtractor(X, Y) -> Gather(X, Reshape(Y, [-1]); axis=-1)

X has more than one dim: of a list, the result would have one dim more.
"""

from __future__ import annotations

from typing import ClassVar

from xdsl.ir import Operation

from onnxloom.dialects import onnx
from onnxloom.transforms.miss import Miss, no_match
from onnxloom.transforms.rewriting.declarative import DecomposePattern, Inputs, Match, Tensor, op
from onnxloom.transforms.rewriting.pattern import Numerics


class ArrayFeatureExtractorPattern(DecomposePattern):
    """Chosen columns are gathered."""

    start_ops: ClassVar[tuple[type[Operation], ...]] = (onnx.ArrayFeatureExtractorOp,)
    numerics: ClassVar[Numerics] = Numerics.EXACT

    def requirements(self, match: Match) -> Miss | None:
        rank = match.graph.rank(match["X"])
        if rank is None or rank < 2:
            return no_match(match.anchor, "X is not known to have more than one dim")
        return None

    def replacement(self, inputs: Inputs, match: Match) -> Tensor:
        columns = inputs.Y if match.graph.rank(match["Y"]) == 1 else op.Reshape(inputs.Y, [-1])
        return op.Gather(inputs.X, columns, axis=-1)
