"""com.microsoft BiasGelu(A, B) -> Gelu(A + B)"""

from __future__ import annotations

from onnxloom.transforms.patterns.contributed.contributed_op import ContributedOpPattern
from onnxloom.transforms.rewriting.declarative import Inputs, Match, Tensor, op


class ContributedBiasGeluPattern(ContributedOpPattern):
    op_type = "BiasGelu"
    operands = ("A", "B")
    min_opset = 20

    def replacement(self, inputs: Inputs, match: Match) -> Tensor:
        return op.Gelu(inputs.A + inputs.B)
