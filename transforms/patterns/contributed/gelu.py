"""com.microsoft Gelu(X) -> Gelu(X)"""

from __future__ import annotations

from onnxloom.transforms.patterns.contributed.contributed_op import ContributedOpPattern
from onnxloom.transforms.rewriting.declarative import Inputs, Match, Tensor, op


class ContributedGeluPattern(ContributedOpPattern):
    op_type = "Gelu"
    operands = ("X",)
    min_opset = 20

    def replacement(self, inputs: Inputs, match: Match) -> Tensor:
        return op.Gelu(inputs.X)
