"""Binarizer(X; threshold) -> Cast(X > threshold)"""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from onnx import helper
from xdsl.ir import Operation

from onnxloom.dialects import onnx
from onnxloom.transforms.miss import Miss, no_match
from onnxloom.transforms.rewriting.declarative import DecomposePattern, Inputs, Match, Tensor, op
from onnxloom.transforms.rewriting.pattern import Numerics


class BinarizerPattern(DecomposePattern):
    """A comparison with a threshold."""

    start_ops: ClassVar[tuple[type[Operation], ...]] = (onnx.BinarizerOp,)
    numerics: ClassVar[Numerics] = Numerics.EXACT

    def requirements(self, match: Match) -> Miss | None:
        if match.graph.dtype(match["X"]) not in (np.dtype(np.float32), np.dtype(np.float64)):
            return no_match(match.anchor, "X is neither f32 nor f64")
        return None

    def replacement(self, inputs: Inputs, match: Match) -> Tensor:
        dtype = match.graph.dtype(match["X"])
        assert dtype is not None, "asked before"
        above = op.Greater(inputs.X, float(np.float32(match.attribute("threshold"))))
        return op.Cast(above, to=helper.np_dtype_to_tensor_dtype(dtype))
