"""Ops that reduce a sliding window: MaxPool, AveragePool, LpPool."""

from __future__ import annotations

import math
from collections.abc import Sequence

from xdsl.dialects import math as xmath
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, Operation, SSAValue

from onnxloom.conversion.onnx_to_loom.builder import KernelBuilder, buffer_element, rank_of, ranked
from onnxloom.conversion.onnx_to_loom.decline import Declined
from onnxloom.conversion.onnx_to_loom.ops.movement import exact_dims
from onnxloom.conversion.onnx_to_loom.padded_image import build_padded_image, window_sizes
from onnxloom.conversion.onnx_to_loom.pooling_kernels import BlockPooling, Pool, SweptPooling, WindowDim
from onnxloom.conversion.onnx_to_loom.reductions import count_as
from onnxloom.conversion.onnx_to_loom.registry import Inputs, lowering
from onnxloom.conversion.onnx_to_loom.window_sweep import has_few_taps
from onnxloom.dialects import loom, onnx
from onnxloom.dialects.loom.conv_space import Window
from onnxloom.dialects.onnx.access import int_attr, ints_attr, str_attr
from onnxloom.dialects.onnx.semantics.scalars import (
    Scalar,
    Scalars,
    bit_width,
    compute_type,
    is_float,
    is_unsigned,
)


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


def _pool(op: Operation, element: Attribute, storage: Attribute) -> Pool:
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


def lower_pool(op: Operation, inputs: Inputs, builder: KernelBuilder) -> Sequence[SSAValue]:
    """A pooling op without indices."""
    (data,) = inputs
    assert data is not None
    if len(op.results) > 1 and isinstance(op.results[1].type, TensorType) and op.results[1].uses:
        raise Declined("MaxPool with indices has no kernel")
    type_ = ranked(op.results[0].type, "the result")
    storage = buffer_element(data.type)
    spatial = rank_of(data) - 2
    if not 1 <= spatial <= 3:
        raise Declined(f"windows over {spatial} dims have no kernel")
    shape = windows(op, spatial)
    pool = _pool(op, ranked(data.type, "the operand").element_type, storage)
    window = _window(op, shape)
    rows = [(w.kernel, w.stride, w.dilation, w.before, w.after) for w in shape]
    space = builder.insert(loom.WindowSpaceOp.make(data, rows, window.auto_pad, window.ceil)).results
    n, c, *sizes = builder.dims(data)
    dims = exact_dims(builder, type_, [n, c, *(space[3 * i] for i in range(spatial))])
    arguments = [builder.multiply([n, c]), *sizes, *dims[2:]]
    arguments += [space[3 * i + 1] for i in range(spatial)] + [space[3 * i + 2] for i in range(spatial)]
    if has_few_taps(window):
        image, strides = _image(builder, data, window, pool)
        arguments += strides
        k = builder.kernel(pool.name, [image], [type_], len(arguments))
        lanes = builder.kernels.target.lanes(max(1, bit_width(compute_type(storage)) // 8))
        SweptPooling(k, pool, shape, storage, lanes).write()
        data = image
    else:
        k = builder.kernel(pool.name, [data], [type_], len(arguments))
        BlockPooling(k, pool, shape, storage).write()
    filled = builder.launch(k, [data], [builder.empty(type_, dims)], arguments)
    # Results that nothing reads stand for themselves.
    return [filled[0]] * len(op.results)


def _window(op: Operation, shape: Sequence[WindowDim]) -> Window:
    return Window(
        tuple(w.kernel for w in shape),
        tuple(w.stride for w in shape),
        tuple(w.dilation for w in shape),
        (*(w.before for w in shape), *(w.after for w in shape)),
        str_attr(op, "auto_pad", "NOTSET"),
        bool(int_attr(op, "ceil_mode", 0)),
    )


def _image(
    builder: KernelBuilder, data: SSAValue, window: Window, pool: Pool
) -> tuple[SSAValue, list[SSAValue]]:
    """What the window slides over: the data as they are where there is no border, else a padded image.

    Also the elements of one of its planes, and the element strides of its leading dims.
    """
    bordered = any(window.pads) or window.auto_pad not in ("NOTSET", "VALID") or window.ceil
    # Past a row's end a vector reads on where the next windows are, if windows leave nothing out.
    if not bordered and window.extents[-1] >= window.strides[-1]:
        rows = builder.dims(data)[2:]
        return data, [builder.multiply(rows[i:]) for i in range(window.rank)]
    sizes = window_sizes(builder, data, window)
    image = build_padded_image(builder, data, window, sizes, pool.initial, split=False)
    row = builder.multiply([builder.index(window.strides[-1]), sizes.columns])
    rows = [*sizes.rows, row]
    return image, [builder.multiply(rows[i:]) for i in range(window.rank)]


pool = lowering(onnx.MaxPoolOp, onnx.AveragePoolOp, onnx.LpPoolOp)(lower_pool)
