"""com.microsoft BiasSoftmax(data, bias) -> Softmax(data + bias)

where the axis is the last one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from onnxloom.transforms.miss import Miss, no_match
from onnxloom.transforms.patterns.contributed.contributed_op import ContributedOpPattern
from onnxloom.transforms.rewriting.declarative import Inputs, Match, Tensor, op


class ContributedBiasSoftmaxPattern(ContributedOpPattern):
    op_type = "BiasSoftmax"
    operands = ("data", "bias")
    attributes: ClassVar[Mapping[str, Any]] = {"axis": 1, "is_inner_broadcast": None}
    min_opset = 13

    def replacement(self, inputs: Inputs, match: Match) -> Tensor | Miss:
        rank = match.graph.rank(match["data"])
        if rank is None or match.attribute("axis") % rank != rank - 1:
            return no_match(match.anchor, "its softmax is over several axes, or the rank is not known")
        return op.Softmax(inputs.data + inputs.bias, axis=-1)
