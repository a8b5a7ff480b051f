"""OneHotEncoder(X; cats_int64s) -> Cast(X == categories)

where values that are no category give zeros.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from onnx import TensorProto
from xdsl.ir import Operation

from onnxloom.dialects import onnx
from onnxloom.transforms.miss import Miss, no_match
from onnxloom.transforms.rewriting.declarative import DecomposePattern, Inputs, Match, Tensor, op
from onnxloom.transforms.rewriting.pattern import Numerics


class OneHotEncoderPattern(DecomposePattern):
    """Numbers are compared with each category."""

    start_ops: ClassVar[tuple[type[Operation], ...]] = (onnx.OneHotEncoderOp,)
    numerics: ClassVar[Numerics] = Numerics.EXACT

    def requirements(self, match: Match) -> Miss | None:
        dtype = match.graph.dtype(match["X"])
        if dtype is None or dtype.kind not in "if" or not match.attribute("cats_int64s"):
            return no_match(match.anchor, "X or the categories are no numbers")
        if not match.attribute("zeros"):
            return no_match(match.anchor, "values that are no category are an error")
        return None

    def replacement(self, inputs: Inputs, match: Match) -> Tensor:
        x = inputs.X
        if match.graph.dtype(match["X"]) != np.int64:
            x = op.Cast(x, to=TensorProto.INT64)
        categories = np.array(match.attribute("cats_int64s"), np.int64)
        return op.Cast(op.Equal(op.Unsqueeze(x, [-1]), categories), to=TensorProto.FLOAT)
