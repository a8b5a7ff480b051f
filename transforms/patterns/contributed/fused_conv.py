"""com.microsoft FusedConv(X, W, B, Z) -> activation(Conv(X, W, B) + Z)"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from onnxloom.transforms.miss import Miss
from onnxloom.transforms.patterns.contributed.contributed_op import ContributedOpPattern
from onnxloom.transforms.patterns.contributed.fused_activation import activated
from onnxloom.transforms.rewriting.declarative import Inputs, Match, Tensor, op

CONV_ATTRIBUTES: Mapping[str, Any] = dict.fromkeys(
    ("auto_pad", "dilations", "group", "kernel_shape", "pads", "strides")
)
"""Attributes of a Conv; None where absent."""


class ContributedFusedConvPattern(ContributedOpPattern):
    op_type = "FusedConv"
    operands = ("X", "W", "B", "Z")
    attributes: ClassVar[Mapping[str, Any]] = {**CONV_ATTRIBUTES, "activation": None, "activation_params": ()}

    def replacement(self, inputs: Inputs, match: Match) -> Tensor | Miss:
        attributes = {name: match.attribute(name) for name in CONV_ATTRIBUTES}
        y = op.Conv(inputs.X, inputs.W, inputs.B, **attributes)
        if inputs.Z is not None:
            y = y + inputs.Z
        return activated(match, y, match.attribute("activation"), match.attribute("activation_params"))
