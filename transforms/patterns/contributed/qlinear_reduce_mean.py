"""com.microsoft QLinearReduceMean(data) -> QuantizeLinear(ReduceMean(DequantizeLinear(data)))"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from onnxloom.transforms.patterns.contributed.contributed_op import ContributedOpPattern
from onnxloom.transforms.patterns.contributed.qlinear import dequantized, quantized
from onnxloom.transforms.rewriting.declarative import Inputs, Match, Tensor, op


class ContributedQLinearReduceMeanPattern(ContributedOpPattern):
    op_type = "QLinearReduceMean"
    operands = ("data", "data_scale", "data_zero_point", "reduced_scale", "reduced_zero_point")
    attributes: ClassVar[Mapping[str, Any]] = {"axes": None, "keepdims": 1}
    min_opset = 18

    def replacement(self, inputs: Inputs, match: Match) -> Tensor:
        axes = match.attribute("axes")
        mean = op.ReduceMean(
            dequantized(inputs, "data"),
            list(axes) if axes else None,
            keepdims=match.attribute("keepdims"),
        )
        return quantized(match, mean, "reduced", like="data")
