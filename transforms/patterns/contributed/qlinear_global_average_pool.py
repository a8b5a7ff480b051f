"""com.microsoft QLinearGlobalAveragePool(X) -> GlobalAveragePool of the dequantized X, quantized"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from onnxloom.transforms.miss import Miss
from onnxloom.transforms.patterns.contributed.contributed_op import ContributedOpPattern
from onnxloom.transforms.patterns.contributed.qlinear_pool import OPERANDS, quantized_pool
from onnxloom.transforms.rewriting.declarative import Inputs, Match, Tensor, op


class ContributedQLinearGlobalAveragePoolPattern(ContributedOpPattern):
    op_type = "QLinearGlobalAveragePool"
    operands = OPERANDS
    attributes: ClassVar[Mapping[str, Any]] = {"channels_last": 0}

    def replacement(self, inputs: Inputs, match: Match) -> Tensor | Miss:
        return quantized_pool(inputs, match, lambda x: op.GlobalAveragePool(x))
