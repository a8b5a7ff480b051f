"""com.microsoft FastGelu(X, bias) -> Gelu(X + bias; approximate = "tanh")"""

from __future__ import annotations

from onnxloom.transforms.patterns.contributed.contributed_op import ContributedOpPattern
from onnxloom.transforms.rewriting.declarative import Inputs, Match, Tensor, op


class ContributedFastGeluPattern(ContributedOpPattern):
    op_type = "FastGelu"
    operands = ("X", "bias")
    min_opset = 20

    def replacement(self, inputs: Inputs, match: Match) -> Tensor:
        x = inputs.X if inputs.bias is None else inputs.X + inputs.bias
        return op.Gelu(x, approximate="tanh")
