"""ArrayFeatureExtractor(X, Y) -> Gather(X, Reshape(Y, [-1]); axis=-1)

Of a list X the result is one row: what is gathered from Unsqueeze(X, [0]).
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
        if not match.graph.rank(match["X"]):
            return no_match(match.anchor, "X is not known to have a dim")
        return None

    def replacement(self, inputs: Inputs, match: Match) -> Tensor:
        columns = inputs.Y if match.graph.rank(match["Y"]) == 1 else op.Reshape(inputs.Y, [-1])
        rows = op.Unsqueeze(inputs.X, [0]) if match.graph.rank(match["X"]) == 1 else inputs.X
        return op.Gather(rows, columns, axis=-1)
