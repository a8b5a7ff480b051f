"""com.microsoft QLinearConv(x, w, B) -> QLinearConv, between Transposes where channels are last"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from onnxloom.transforms.miss import Miss, no_match
from onnxloom.transforms.patterns.contributed.contributed_op import ContributedOpPattern
from onnxloom.transforms.patterns.contributed.fused_conv import CONV_ATTRIBUTES
from onnxloom.transforms.patterns.contributed.nhwc_max_pool import channels_first, channels_last
from onnxloom.transforms.rewriting.declarative import Inputs, Match, Tensor, op


class ContributedQLinearConvPattern(ContributedOpPattern):
    op_type = "QLinearConv"
    operands = (
        "x",
        "x_scale",
        "x_zero_point",
        "w",
        "w_scale",
        "w_zero_point",
        "y_scale",
        "y_zero_point",
        "B",
    )
    attributes: ClassVar[Mapping[str, Any]] = {**CONV_ATTRIBUTES, "channels_last": 0}

    def replacement(self, inputs: Inputs, match: Match) -> Tensor | Miss:
        rank = match.graph.rank(match["x"])
        is_last = bool(match.attribute("channels_last"))
        if is_last and (rank is None or rank < 3):
            return no_match(match.anchor, "the rank of the input is not known, or has no spatial dims")
        x, *others = inputs
        if is_last:
            assert rank is not None
            x = channels_first(x, rank)
        attributes = {name: match.attribute(name) for name in CONV_ATTRIBUTES}
        y = op.QLinearConv(x, *others, **attributes)
        if not is_last:
            return y
        assert rank is not None
        return channels_last(y, rank)
