"""com.microsoft QuantizeLinear(x) -> QuantizeLinear(x)"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from onnxloom.transforms.patterns.contributed.contributed_op import ContributedOpPattern
from onnxloom.transforms.rewriting.declarative import Inputs, Match, Tensor, op


class ContributedQuantizeLinearPattern(ContributedOpPattern):
    op_type = "QuantizeLinear"
    operands = ("x", "y_scale", "y_zero_point")
    attributes: ClassVar[Mapping[str, Any]] = {"axis": 1}

    def replacement(self, inputs: Inputs, match: Match) -> Tensor:
        axis = match.attribute("axis")
        return op.QuantizeLinear(inputs.x, inputs.y_scale, inputs.y_zero_point, axis=axis)
