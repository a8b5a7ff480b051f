"""com.microsoft QLinearSoftmax(X) -> QuantizeLinear(Softmax(DequantizeLinear(X)))

Attribute `opset` is that of the Softmax it was made of: before 13 all dims from `axis` on were one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from onnxloom.transforms.miss import Miss, no_match
from onnxloom.transforms.patterns.contributed.contributed_op import ContributedOpPattern
from onnxloom.transforms.rewriting.declarative import Inputs, Match, Tensor, op


class ContributedQLinearSoftmaxPattern(ContributedOpPattern):
    op_type = "QLinearSoftmax"
    operands = ("X", "X_scale", "x_zero_point", "y_scale", "y_zero_point")
    attributes: ClassVar[Mapping[str, Any]] = {"axis": -1, "opset": 13}

    def replacement(self, inputs: Inputs, match: Match) -> Tensor | Miss:
        axis, rank = match.attribute("axis"), match.graph.rank(match["X"])
        if match.attribute("opset") < 13 and (rank is None or axis % max(rank, 1) != rank - 1):
            return no_match(match.anchor, "several dims are one row")
        x = op.DequantizeLinear(inputs.X, inputs.X_scale, inputs.x_zero_point)
        return op.QuantizeLinear(op.Softmax(x, axis=axis), inputs.y_scale, inputs.y_zero_point)
