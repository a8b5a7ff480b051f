"""com.microsoft QLinearSoftmax(X) -> QuantizeLinear(Softmax(DequantizeLinear(X)))

Attribute `opset` is that of the Softmax it was made of: before 13 all dims from `axis` on were one row.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from onnxloom.transforms.miss import Miss, no_match
from onnxloom.transforms.patterns.contributed.contributed_op import ContributedOpPattern
from onnxloom.transforms.patterns.contributed.qlinear import dequantized, quantized
from onnxloom.transforms.rewriting.declarative import Inputs, Match, Tensor, op


class ContributedQLinearSoftmaxPattern(ContributedOpPattern):
    op_type = "QLinearSoftmax"
    operands = ("X", "x_scale", "x_zero_point", "y_scale", "y_zero_point")
    attributes: ClassVar[Mapping[str, Any]] = {"axis": -1, "opset": 13}

    def replacement(self, inputs: Inputs, match: Match) -> Tensor | Miss:
        axis, rank = match.attribute("axis"), match.graph.rank(match["X"])
        x = dequantized(inputs, "X", "x")
        if match.attribute("opset") >= 13:
            return quantized(match, op.Softmax(x, axis=axis), "y", like="X")
        if rank is None:
            return no_match(match.anchor, "its rank is not known, and dims may be one row")
        if axis % max(rank, 1) == rank - 1:
            return quantized(match, op.Softmax(x, axis=-1), "y", like="X")
        rows = op.Softmax(op.Flatten(x, axis=axis), axis=-1)
        return quantized(match, op.Reshape(rows, op.Shape(inputs.X)), "y", like="X")
