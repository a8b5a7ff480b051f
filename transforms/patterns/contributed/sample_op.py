"""com.microsoft SampleOp(X) -> Identity(X)"""

from __future__ import annotations

from onnxloom.transforms.patterns.contributed.contributed_op import ContributedOpPattern
from onnxloom.transforms.rewriting.declarative import Inputs, Match, Tensor, op


class ContributedSampleOpPattern(ContributedOpPattern):
    op_type = "SampleOp"
    operands = ("X",)

    def replacement(self, inputs: Inputs, match: Match) -> Tensor:
        return op.Identity(inputs.X)
