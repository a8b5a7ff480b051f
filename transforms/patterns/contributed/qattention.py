"""com.microsoft QAttention -> Attention of the standard

on thirds of the product of quantized input and weights, scaled to floats, + bias.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from onnxloom.transforms.patterns.contributed.attention import ContributedAttentionPattern
from onnxloom.transforms.patterns.contributed.attention_masks import FLOAT
from onnxloom.transforms.rewriting.declarative import Inputs, Match, Tensor, op


class ContributedQAttentionPattern(ContributedAttentionPattern):
    op_type = "QAttention"
    operands = (
        "input",
        "weight",
        "bias",
        "input_scale",
        "weight_scale",
        "mask_index",
        "input_zero_point",
        "weight_zero_point",
        "past",
    )
    attributes: ClassVar[Mapping[str, Any]] = {
        "num_heads": 0,
        "unidirectional": 0,
        "scale": None,
        "mask_filter_value": -10000.0,
        "do_rotary": 0,
        "past_present_share_buffer": 0,
        "qkv_hidden_sizes": None,
    }
    float_operand: ClassVar[str] = "bias"

    def _projected(self, inputs: Inputs, match: Match) -> Tensor:
        sums = op.MatMulInteger(
            inputs.input, inputs.weight, inputs.input_zero_point, inputs.weight_zero_point
        )
        scale = op.Mul(inputs.input_scale, inputs.weight_scale)
        return op.Cast(sums, to=FLOAT) * scale + inputs.bias
