"""FeatureVectorizer(X1, X2, ..; inputdimensions) -> Concat(X1, X2, ..; axis=1)

Every input is rows of as many features as `inputdimensions` says.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np
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
        if any(graph.dtype(value) != np.float32 for value in values):
            return no_match(match.anchor, "an input is not f32")
        if any(graph.rank(value) != 2 for value in values):
            return no_match(match.anchor, "an input is not known to be rows")
        widths = tuple(static_dim(graph, value, 1) for value in values)
        if widths != tuple(match.attribute("inputdimensions") or ()):
            return no_match(match.anchor, "inputs are cut or padded")
        return None

    def replacement(self, inputs: Inputs, match: Match) -> Tensor:
        return op.Concat(*inputs.X, axis=1)
