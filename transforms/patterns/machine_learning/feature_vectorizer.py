"""FeatureVectorizer(X1, X2, ..; inputdimensions) -> Concat(X1, X2, ..; axis=1) as f32

Every input is rows of features, of which there are as many as `inputdimensions` says after a Slice or a Pad.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from onnx import TensorProto
from xdsl.ir import Operation

from onnxloom.dialects import onnx
from onnxloom.transforms.miss import Miss, no_match
from onnxloom.transforms.patterns.operands import static_dim
from onnxloom.transforms.rewriting.declarative import DecomposePattern, Inputs, Match, Tensor, op
from onnxloom.transforms.rewriting.pattern import Numerics


class FeatureVectorizerPattern(DecomposePattern):
    """Rows are joined."""

    start_ops: ClassVar[tuple[type[Operation], ...]] = (onnx.FeatureVectorizerOp,)
    numerics: ClassVar[Numerics] = Numerics.EXACT

    def requirements(self, match: Match) -> Miss | None:
        graph, values = match.graph, match.tensors("X")
        if any(graph.rank(value) != 2 or static_dim(graph, value, 1) is None for value in values):
            return no_match(match.anchor, "an input is not known to be rows of so many features")
        if len(match.attribute("inputdimensions") or ()) != len(values):
            return no_match(match.anchor, "there is not one dimension per input")
        return None

    def replacement(self, inputs: Inputs, match: Match) -> Tensor:
        parts: list[Tensor] = []
        for value, x, wanted in zip(
            match.tensors("X"), inputs.X, match.attribute("inputdimensions"), strict=True
        ):
            width = static_dim(match.graph, value, 1)
            assert width is not None, "asked before"
            y = x if match.graph.dtype(value) == np.float32 else op.Cast(x, to=TensorProto.FLOAT)
            if wanted < width:
                y = op.Slice(y, [0], [wanted], [1])
            elif wanted > width:
                y = op.Pad(y, [0, 0, 0, wanted - width])
            parts.append(y)
        return op.Concat(*parts, axis=1)
