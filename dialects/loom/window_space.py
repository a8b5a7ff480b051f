"""The plan-time op of sliding windows: how many places a window takes, and the padding in front."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from xdsl.dialects.builtin import ArrayAttr, IndexType, IntegerAttr, StringAttr, UnitAttr
from xdsl.ir import SSAValue
from xdsl.irdl import (
    AnyAttr,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    traits_def,
    var_result_def,
)
from xdsl.traits import Pure

from onnxloom.dialects.loom.plan_time import PlanTensor, PlanTimeOp

MODES: Final = ("NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER")


def window_dim(
    size: int,
    kernel: int,
    stride: int,
    dilation: int,
    pads: tuple[int, int],
    mode: str,
    ceil: bool,
    clips: bool = False,
) -> tuple[int, int, int]:
    """Number of places of a window along one dim, and the padding before and after it.

    A window that is longer than the padded dim, by less than a stride, has one place if it `clips`: its end
    is cut off. So the shape inference of the onnx package has it, whose division rounds toward zero.

    Raises:
        ValueError: the window does not fit.
    """
    extent = (kernel - 1) * dilation + 1
    if mode in ("SAME_UPPER", "SAME_LOWER"):
        places = -(-size // stride)
        total = max((places - 1) * stride + extent - size, 0)
        small, large = total // 2, total - total // 2
        return (places, small, large) if mode == "SAME_UPPER" else (places, large, small)
    before, after = (0, 0) if mode == "VALID" else pads
    span = size + before + after - extent
    clipped = -stride < span < 0 and (ceil or (clips and size > 0))
    if span < 0 and not clipped:
        raise ValueError(f"a window of {extent} does not fit a dim of {size} with pads {before} and {after}")
    if clipped and not ceil:
        return 1, before, after
    places = span // stride + 1
    if ceil and span % stride and (places * stride < size + before):
        # One more place, unless it would begin in the padding after the data.
        places += 1
    return places, before, after


@irdl_op_definition
class WindowSpaceOp(PlanTimeOp):
    """For each spatial dim (after the first two): places, padding before, padding after.

    `window` holds kernel, stride, dilation, pad before, pad after for each spatial dim in turn; `clips` is
    that of `window_dim`.
    """

    name = "loom.window_space"
    window = prop_def(ArrayAttr[IntegerAttr])
    mode = prop_def(StringAttr)
    ceil = prop_def(IntegerAttr)
    clips = opt_prop_def(UnitAttr)
    source = operand_def(AnyAttr())
    results_ = var_result_def(IndexType())
    traits = traits_def(Pure())

    @staticmethod
    def make(
        source: SSAValue, window: Sequence[Sequence[int]], mode: str, ceil: bool, clips: bool
    ) -> WindowSpaceOp:
        """`window` has one (kernel, stride, dilation, before, after) row for each spatial dim."""
        return WindowSpaceOp.create(
            operands=[source],
            result_types=[IndexType()] * (3 * len(window)),
            properties={
                "window": ArrayAttr([IntegerAttr(v, 64) for row in window for v in row]),
                "mode": StringAttr(mode),
                "ceil": IntegerAttr(int(ceil), 64),
                **({"clips": UnitAttr()} if clips else {}),
            },
        )

    def evaluate(self, operands: Sequence[PlanTensor | int]) -> Sequence[int]:
        (source,) = operands
        assert isinstance(source, PlanTensor)
        flat = [v.value.data for v in self.window.data]
        result: list[int] = []
        for i, size in enumerate(source.shape[2:]):
            kernel, stride, dilation, before, after = flat[5 * i : 5 * i + 5]
            mode, ceil = self.mode.data, bool(self.ceil.value.data)
            clips = self.clips is not None
            result += window_dim(size, kernel, stride, dilation, (before, after), mode, ceil, clips)
        return result
