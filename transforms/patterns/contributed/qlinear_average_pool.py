"""com.microsoft QLinearAveragePool(X) -> AveragePool between DequantizeLinear and QuantizeLinear"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from onnxloom.transforms.miss import Miss
from onnxloom.transforms.patterns.contributed.contributed_op import ContributedOpPattern
from onnxloom.transforms.patterns.contributed.qlinear_pool import OPERANDS, quantized_pool
from onnxloom.transforms.rewriting.declarative import Inputs, Match, Tensor, op

WINDOW = ("auto_pad", "ceil_mode", "count_include_pad", "kernel_shape", "pads", "strides")


class ContributedQLinearAveragePoolPattern(ContributedOpPattern):
    op_type = "QLinearAveragePool"
    operands = OPERANDS
    attributes: ClassVar[Mapping[str, Any]] = {**dict.fromkeys(WINDOW), "channels_last": 0}

    def replacement(self, inputs: Inputs, match: Match) -> Tensor | Miss:
        window = {name: match.attribute(name) for name in WINDOW}
        return quantized_pool(inputs, match, lambda x: op.AveragePool(x, **window))
