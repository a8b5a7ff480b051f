"""com.microsoft QLinearAdd(A, B) -> QuantizeLinear(Add(DequantizeLinear(A), DequantizeLinear(B)))"""

from __future__ import annotations

from onnxloom.transforms.patterns.contributed.contributed_op import ContributedOpPattern
from onnxloom.transforms.patterns.contributed.qlinear import dequantized, quantized
from onnxloom.transforms.rewriting.declarative import Inputs, Match, Tensor, op


class ContributedQLinearAddPattern(ContributedOpPattern):
    op_type = "QLinearAdd"
    operands = (
        "A",
        "A_scale",
        "A_zero_point",
        "B",
        "B_scale",
        "B_zero_point",
        "C_scale",
        "C_zero_point",
    )

    def replacement(self, inputs: Inputs, match: Match) -> Tensor:
        y = op.Add(dequantized(inputs, "A"), dequantized(inputs, "B"))
        return quantized(match, y, "C", like="A")
