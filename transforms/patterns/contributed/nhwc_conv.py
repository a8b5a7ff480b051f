"""com.microsoft NhwcFusedConv(X, W, B, Z) -> activation(Conv(X, W, B) + Z) between Transposes"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from onnxloom.transforms.miss import Miss, no_match
from onnxloom.transforms.patterns.contributed.contributed_op import ContributedOpPattern
from onnxloom.transforms.patterns.contributed.fused_activation import activated
from onnxloom.transforms.patterns.contributed.fused_conv import CONV_ATTRIBUTES
from onnxloom.transforms.patterns.contributed.nhwc_max_pool import channels_first, channels_last
from onnxloom.transforms.rewriting.declarative import Inputs, Match, Tensor, op


class ContributedNhwcFusedConvPattern(ContributedOpPattern):
    op_type = "NhwcFusedConv"
    operands = ("X", "W", "B", "Z")
    attributes: ClassVar[Mapping[str, Any]] = {**CONV_ATTRIBUTES, "activation": None, "activation_params": ()}

    def replacement(self, inputs: Inputs, match: Match) -> Tensor | Miss:
        rank = match.graph.rank(match["X"])
        if rank is None or rank < 3:
            return no_match(match.anchor, "the rank of the input is not known, or has no spatial dims")
        attributes = {name: match.attribute(name) for name in CONV_ATTRIBUTES}
        y = channels_last(op.Conv(channels_first(inputs.X, rank), inputs.W, inputs.B, **attributes), rank)
        if inputs.Z is not None:
            y = y + inputs.Z
        return activated(match, y, match.attribute("activation"), match.attribute("activation_params"))
