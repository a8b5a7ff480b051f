"""com.microsoft BiasSplitGelu(X, bias) -> left * Gelu(right), the halves of X + bias"""

from __future__ import annotations

from onnxloom.transforms.patterns.contributed.contributed_op import ContributedOpPattern
from onnxloom.transforms.rewriting.declarative import Inputs, Match, Tensor, op


class ContributedBiasSplitGeluPattern(ContributedOpPattern):
    op_type = "BiasSplitGelu"
    operands = ("X", "bias")
    min_opset = 20

    def replacement(self, inputs: Inputs, match: Match) -> Tensor:
        left, right = op.Split(inputs.X + inputs.bias, axis=-1, num_outputs=2).results(2)
        return left * op.Gelu(right)
