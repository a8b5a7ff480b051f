"""com.microsoft QLinearSigmoid(X) -> QuantizeLinear(Sigmoid(DequantizeLinear(X)))"""

from __future__ import annotations

from onnxloom.transforms.patterns.contributed.contributed_op import ContributedOpPattern
from onnxloom.transforms.patterns.contributed.qlinear import dequantized, quantized
from onnxloom.transforms.rewriting.declarative import Inputs, Match, Tensor, op


class ContributedQLinearSigmoidPattern(ContributedOpPattern):
    op_type = "QLinearSigmoid"
    operands = ("X", "X_scale", "X_zero_point", "Y_scale", "Y_zero_point")

    def replacement(self, inputs: Inputs, match: Match) -> Tensor:
        return quantized(match, op.Sigmoid(dequantized(inputs, "X")), "Y", like="X")
