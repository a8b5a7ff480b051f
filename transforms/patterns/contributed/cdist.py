"""com.microsoft CDist(A, B) -> the squared distance of each row of A from each row of B, or its root

with the differences themselves: a product of A and B would cancel.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from onnxloom.transforms.miss import Miss, no_match
from onnxloom.transforms.patterns.contributed.contributed_op import ContributedOpPattern
from onnxloom.transforms.rewriting.declarative import Inputs, Match, Tensor, op


class ContributedCDistPattern(ContributedOpPattern):
    op_type = "CDist"
    operands = ("A", "B")
    attributes: ClassVar[Mapping[str, Any]] = {"metric": "sqeuclidean"}
    min_opset = 18

    def replacement(self, inputs: Inputs, match: Match) -> Tensor | Miss:
        metric = match.attribute("metric")
        if metric not in ("sqeuclidean", "euclidean"):
            return no_match(match.anchor, f"the metric {metric!r} is not known")
        differences = op.Unsqueeze(inputs.A, [1]) - op.Unsqueeze(inputs.B, [0])
        squared = op.ReduceSumSquare(differences, [2], keepdims=0)
        return squared if metric == "sqeuclidean" else op.Sqrt(squared)
