"""`loom.transposed_space`: sizes of a transposed convolution."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import ArrayAttr, IndexType, IntegerAttr, StringAttr, i64
from xdsl.ir import SSAValue
from xdsl.irdl import AnyAttr, irdl_op_definition, operand_def, prop_def, traits_def, var_result_def
from xdsl.traits import Pure

from onnxloom.dialects.loom.conv_space import Window
from onnxloom.dialects.loom.plan_time import PlanTensor, PlanTimeOp


def transposed_places(
    sizes: Sequence[int], window: Window, output_padding: Sequence[int], output_shape: Sequence[int]
) -> list[tuple[int, int]]:
    """Per spatial dim the result dim and the border cut off before it.

    `output_shape`, if not empty, sets the result dims; borders then follow from them.

    Raises:
        ValueError: a result dim would be negative.
    """
    rows: list[tuple[int, int]] = []
    for i, size in enumerate(sizes):
        full = (size - 1) * window.strides[i] + window.extents[i] + output_padding[i]
        if output_shape or window.auto_pad in ("SAME_UPPER", "SAME_LOWER"):
            out = output_shape[i] if output_shape else size * window.strides[i]
            cut = full - out
            before = cut // 2 if window.auto_pad == "SAME_UPPER" else cut - cut // 2
        else:
            valid = window.auto_pad == "VALID"
            before = 0 if valid else window.pads[i]
            out = full - before - (0 if valid else window.pads[i + len(sizes)])
        if out < 0:
            raise ValueError(f"a transposed convolution of {size} elements would have {out} results")
        rows.append((out, before))
    return rows


@irdl_op_definition
class TransposedSpaceOp(PlanTimeOp):
    """D result dims of a transposed convolution of `source` (`[N, C, *spatial]`), then D borders cut off."""

    name = "loom.transposed_space"
    kernel = prop_def(ArrayAttr[IntegerAttr])
    strides = prop_def(ArrayAttr[IntegerAttr])
    dilations = prop_def(ArrayAttr[IntegerAttr])
    pads = prop_def(ArrayAttr[IntegerAttr])
    auto_pad = prop_def(StringAttr)
    output_padding = prop_def(ArrayAttr[IntegerAttr])
    output_shape = prop_def(ArrayAttr[IntegerAttr])
    source = operand_def(AnyAttr())
    results_ = var_result_def(IndexType())
    traits = traits_def(Pure())

    def __init__(
        self, source: SSAValue, window: Window, output_padding: Sequence[int], output_shape: Sequence[int]
    ):
        rows = {
            "kernel": window.kernel,
            "strides": window.strides,
            "dilations": window.dilations,
            "pads": window.pads,
            "output_padding": output_padding,
            "output_shape": output_shape,
        }
        super().__init__(
            operands=[source],
            properties={
                **{name: ArrayAttr([IntegerAttr(v, i64) for v in row]) for name, row in rows.items()},
                "auto_pad": StringAttr(window.auto_pad),
            },
            result_types=[[IndexType()] * (2 * window.rank)],
        )

    def evaluate(self, operands: Sequence[PlanTensor | int]) -> Sequence[int]:
        (source,) = operands
        assert isinstance(source, PlanTensor)
        kernel, strides, dilations, pads, padding, shape = (
            tuple(i.value.data for i in attr.data)
            for attr in (
                self.kernel,
                self.strides,
                self.dilations,
                self.pads,
                self.output_padding,
                self.output_shape,
            )
        )
        window = Window(kernel, strides, dilations, pads, self.auto_pad.data)
        rows = transposed_places(source.shape[2:], window, padding, shape)
        return [*(out for out, _ in rows), *(before for _, before in rows)]
