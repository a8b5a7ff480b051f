"""com.microsoft QLinearWhere(condition, X, Y) -> Where(condition, X, Y) of levels of the result"""

from __future__ import annotations

from onnxloom.transforms.patterns.contributed.contributed_op import ContributedOpPattern
from onnxloom.transforms.patterns.contributed.qlinear import dequantized, quantized
from onnxloom.transforms.rewriting.declarative import Inputs, Match, Tensor, op


class ContributedQLinearWherePattern(ContributedOpPattern):
    op_type = "QLinearWhere"
    operands = (
        "condition",
        "X",
        "x_scale",
        "x_zero_point",
        "Y",
        "y_scale",
        "y_zero_point",
        "z_scale",
        "z_zero_point",
    )

    def replacement(self, inputs: Inputs, match: Match) -> Tensor:
        chosen = op.Where(inputs.condition, dequantized(inputs, "X", "x"), dequantized(inputs, "Y", "y"))
        return quantized(match, chosen, "z", like="X")
