"""com.microsoft SkipLayerNormalization(input, skip, gamma, beta, bias) -> LayerNormalization of the sum"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from onnxloom.transforms.patterns.contributed.contributed_op import ContributedOpPattern
from onnxloom.transforms.rewriting.declarative import Inputs, Match, Tensor, op


class ContributedSkipLayerNormalizationPattern(ContributedOpPattern):
    op_type = "SkipLayerNormalization"
    operands = ("input", "skip", "gamma", "beta", "bias")
    attributes: ClassVar[Mapping[str, Any]] = {"epsilon": 1e-12}
    min_opset = 17

    def replacement(self, inputs: Inputs, match: Match) -> tuple[Tensor | None, ...]:
        total = skip_sum(inputs)
        normal = op.LayerNormalization(
            total, inputs.gamma, inputs.beta, axis=-1, epsilon=match.attribute("epsilon")
        )
        return (*normal.results(3), total)


def skip_sum(inputs: Inputs) -> Tensor:
    """What is normalized: input, skip and bias added."""
    total = inputs.input + inputs.skip
    return total if inputs.bias is None else total + inputs.bias
