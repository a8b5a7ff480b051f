"""com.microsoft BiasAdd(X, bias, skip) -> X + bias + skip"""

from __future__ import annotations

from onnxloom.transforms.patterns.contributed.contributed_op import ContributedOpPattern
from onnxloom.transforms.rewriting.declarative import Inputs, Match, Tensor


class ContributedBiasAddPattern(ContributedOpPattern):
    op_type = "BiasAdd"
    operands = ("X", "bias", "skip")

    def replacement(self, inputs: Inputs, match: Match) -> Tensor:
        return inputs.X + inputs.bias + inputs.skip
