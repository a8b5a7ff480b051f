"""com.microsoft Unique(x) -> Unique of all elements, in the order in which they come"""

from __future__ import annotations

from onnxloom.transforms.patterns.contributed.contributed_op import ContributedOpPattern
from onnxloom.transforms.rewriting.declarative import Inputs, Match, Tensor, op


class ContributedUniquePattern(ContributedOpPattern):
    op_type = "Unique"
    operands = ("x",)
    min_opset = 11

    def replacement(self, inputs: Inputs, match: Match) -> tuple[Tensor | None, ...]:
        values, _, places, counts = op.Unique(inputs.x, sorted=0).results(4)
        return (values, places, counts)
