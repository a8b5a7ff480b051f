"""com.microsoft DequantizeLinear(x) -> DequantizeLinear(x)"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from onnxloom.transforms.patterns.contributed.contributed_op import ContributedOpPattern
from onnxloom.transforms.rewriting.declarative import Inputs, Match, Tensor, op


class ContributedDequantizeLinearPattern(ContributedOpPattern):
    op_type = "DequantizeLinear"
    operands = ("x", "x_scale", "x_zero_point")
    attributes: ClassVar[Mapping[str, Any]] = {"axis": 1}

    def replacement(self, inputs: Inputs, match: Match) -> Tensor:
        axis = match.attribute("axis")
        return op.DequantizeLinear(inputs.x, inputs.x_scale, inputs.x_zero_point, axis=axis)
