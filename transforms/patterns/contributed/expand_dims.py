"""com.microsoft ExpandDims(X, axis) -> Unsqueeze(X, axis)"""

from __future__ import annotations

from onnxloom.transforms.miss import Miss, no_match
from onnxloom.transforms.patterns.contributed.contributed_op import ContributedOpPattern
from onnxloom.transforms.rewriting.declarative import Inputs, Match, Tensor, op


class ContributedExpandDimsPattern(ContributedOpPattern):
    op_type = "ExpandDims"
    operands = ("X", "axis")
    min_opset = 13

    def replacement(self, inputs: Inputs, match: Match) -> Tensor | Miss:
        axis = match.graph.constant_scalar(match["axis"], broadcast=True)
        if axis is None:
            return no_match(match.anchor, "the axis is not constant")
        return op.Unsqueeze(inputs.X, [int(axis)])
