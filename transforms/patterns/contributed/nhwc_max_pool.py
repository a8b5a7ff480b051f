"""com.microsoft NhwcMaxPool(x) -> MaxPool between Transposes"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from onnxloom.transforms.miss import Miss, no_match
from onnxloom.transforms.patterns.contributed.contributed_op import ContributedOpPattern
from onnxloom.transforms.rewriting.declarative import Inputs, Match, Tensor, op


class ContributedNhwcMaxPoolPattern(ContributedOpPattern):
    op_type = "NhwcMaxPool"
    operands = ("x",)
    attributes: ClassVar[Mapping[str, Any]] = dict.fromkeys(
        ("auto_pad", "ceil_mode", "dilations", "kernel_shape", "pads", "strides")
    )

    def replacement(self, inputs: Inputs, match: Match) -> Tensor | Miss:
        rank = match.graph.rank(match["x"])
        if rank is None or rank < 3:
            return no_match(match.anchor, "the rank of the input is not known, or has no spatial dims")
        attributes = {name: match.attribute(name) for name in self.attributes}
        pooled = op.MaxPool(channels_first(inputs.x, rank), **attributes)
        return channels_last(pooled, rank)


def channels_first(x: Tensor, rank: int) -> Tensor:
    """`[N, spatial dims, C]` as `[N, C, spatial dims]`."""
    return op.Transpose(x, perm=[0, rank - 1, *range(1, rank - 1)])


def channels_last(x: Tensor, rank: int) -> Tensor:
    """`[N, C, spatial dims]` as `[N, spatial dims, C]`."""
    return op.Transpose(x, perm=[0, *range(2, rank), 1])
