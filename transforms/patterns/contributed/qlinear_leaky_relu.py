"""com.microsoft QLinearLeakyRelu(X) -> QuantizeLinear(LeakyRelu(DequantizeLinear(X)))"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from onnxloom.transforms.patterns.contributed.contributed_op import ContributedOpPattern
from onnxloom.transforms.patterns.contributed.qlinear import dequantized, quantized
from onnxloom.transforms.rewriting.declarative import Inputs, Match, Tensor, op


class ContributedQLinearLeakyReluPattern(ContributedOpPattern):
    op_type = "QLinearLeakyRelu"
    operands = ("X", "X_scale", "X_zero_point", "Y_scale", "Y_zero_point")
    attributes: ClassVar[Mapping[str, Any]] = {"alpha": 0.01}

    def replacement(self, inputs: Inputs, match: Match) -> Tensor:
        y = op.LeakyRelu(dequantized(inputs, "X"), alpha=match.attribute("alpha"))
        return quantized(match, y, "Y", like="X")
