"""com.microsoft QLinearSoftmax(X) -> QuantizeLinear(Softmax(DequantizeLinear(X)))

Attribute `opset` is that of the Softmax it was made of: before 13 all dims from `axis` on were one.
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
        if match.attribute("opset") < 13 and (rank is None or axis % max(rank, 1) != rank - 1):
            return no_match(match.anchor, "several dims are one row")
        y = op.Softmax(dequantized(inputs, "X", "x"), axis=axis)
        return quantized(match, y, "y", like="X")
