"""com.microsoft Trilu(X, k) -> Trilu(X, k)"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from onnxloom.transforms.patterns.contributed.contributed_op import ContributedOpPattern
from onnxloom.transforms.rewriting.declarative import Inputs, Match, Tensor, op


class ContributedTriluPattern(ContributedOpPattern):
    op_type = "Trilu"
    operands = ("X", "k")
    attributes: ClassVar[Mapping[str, Any]] = {"upper": 1}
    min_opset = 14

    def replacement(self, inputs: Inputs, match: Match) -> Tensor:
        return op.Trilu(inputs.X, inputs.k, upper=match.attribute("upper"))
