"""com.microsoft SkipSimplifiedLayerNormalization(input, skip, gamma, bias) -> RMSNormalization of the sum"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from onnxloom.transforms.patterns.contributed.contributed_op import ContributedOpPattern
from onnxloom.transforms.patterns.contributed.skip_layer_normalization import skip_sum
from onnxloom.transforms.rewriting.declarative import Inputs, Match, Tensor, op


class ContributedSkipSimplifiedLayerNormalizationPattern(ContributedOpPattern):
    op_type = "SkipSimplifiedLayerNormalization"
    operands = ("input", "skip", "gamma", "bias")
    attributes: ClassVar[Mapping[str, Any]] = {"epsilon": 1e-12}
    min_opset = 23

    def replacement(self, inputs: Inputs, match: Match) -> tuple[Tensor | None, ...]:
        total = skip_sum(inputs)
        normal = op.RMSNormalization(total, inputs.gamma, axis=-1, epsilon=match.attribute("epsilon"))
        return (normal, None, None, total)
