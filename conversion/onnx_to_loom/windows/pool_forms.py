"""What does a pooling op compute, of which windows? Shared by the kernels of both layouts."""

from __future__ import annotations

import math
from collections.abc import Sequence

from xdsl.dialects import math as xmath
from xdsl.ir import Attribute, Operation

from onnxloom.conversion.onnx_to_loom.decline import Declined
from onnxloom.conversion.onnx_to_loom.reductions.reductions import count_as
from onnxloom.conversion.onnx_to_loom.windows.pooling_kernels import Pool, WindowDim
from onnxloom.dialects import onnx
from onnxloom.dialects.loom.conv_space import Window
from onnxloom.dialects.onnx.access import int_attr, ints_attr, str_attr
from onnxloom.dialects.onnx.semantics.scalars import Scalar, Scalars, bit_width, is_float, is_unsigned


def windows(op: Operation, spatial: int) -> list[WindowDim]:
    """The window attributes of a pooling op."""
    kernel = ints_attr(op, "kernel_shape") or ()
    ones = (1,) * spatial
    strides, dilations = ints_attr(op, "strides") or ones, ints_attr(op, "dilations") or ones
    pads = ints_attr(op, "pads") or (0,) * (2 * spatial)
    if not len(kernel) == len(strides) == len(dilations) == len(pads) // 2 == spatial:
        raise Declined("the window does not have as many dims as the data")
    return [
        WindowDim(kernel[i], strides[i], dilations[i], pads[i], pads[i + spatial]) for i in range(spatial)
    ]


def pool_of(op: Operation, element: Attribute, storage: Attribute) -> Pool:
    """What a pooling op computes of a window, given its tensor element type and how that is stored."""
    if isinstance(op, onnx.MaxPoolOp):
        low = -math.inf if is_float(storage) else -(2 ** (bit_width(storage) - 1))
        unsigned = is_unsigned(element)
        return Pool(
            "max_pool",
            0 if unsigned else low,
            lambda s, a, x: s.maximum(a, x, unsigned),
            lambda s, acc, count: acc,
        )
    if isinstance(op, onnx.AveragePoolOp):
        return Pool(
            "average_pool",
            0,
            Scalars.add,
            lambda s, acc, count: s.divf(acc, count_as(s, count, acc.type)),
            bool(int_attr(op, "count_include_pad", 0)),
        )
    p = int_attr(op, "p", 2)
    if p == 1:
        return Pool("l1_pool", 0, lambda s, a, x: s.add(a, s.abs(x)), lambda s, acc, count: acc)
    if p == 2:
        return Pool(
            "l2_pool",
            0,
            lambda s, a, x: s.add(a, s.mul(x, x)),
            lambda s, acc, count: s.unary(xmath.SqrtOp, acc),
        )

    def power(s: Scalars, x: Scalar, exponent: float) -> Scalar:
        return s.emit(xmath.PowFOp(s.abs(x), s.const(exponent, x.type)))

    return Pool(
        f"l{p}_pool",
        0,
        lambda s, a, x: s.add(a, power(s, x, p)),
        lambda s, acc, count: power(s, acc, 1 / p),
    )


def pool_window(op: Operation, shape: Sequence[WindowDim]) -> Window:
    """The window of a pooling op as plan-time ops take it."""
    return Window(
        tuple(w.kernel for w in shape),
        tuple(w.stride for w in shape),
        tuple(w.dilation for w in shape),
        (*(w.before for w in shape), *(w.after for w in shape)),
        str_attr(op, "auto_pad", "NOTSET"),
        bool(int_attr(op, "ceil_mode", 0)),
        clips=True,
    )
