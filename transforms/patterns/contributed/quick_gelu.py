"""com.microsoft QuickGelu(X) -> Swish(X; alpha)"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from onnxloom.transforms.patterns.contributed.contributed_op import ContributedOpPattern
from onnxloom.transforms.rewriting.declarative import Inputs, Match, Tensor, op


class ContributedQuickGeluPattern(ContributedOpPattern):
    op_type = "QuickGelu"
    operands = ("X",)
    attributes: ClassVar[Mapping[str, Any]] = {"alpha": 1.702}
    min_opset = 24

    def replacement(self, inputs: Inputs, match: Match) -> Tensor:
        return op.Swish(inputs.X, alpha=match.attribute("alpha"))
