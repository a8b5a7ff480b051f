"""Ops that reduce a sliding window: MaxPool, AveragePool, LpPool."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Operation, SSAValue

from onnxloom.conversion.onnx_to_loom.builder import (
    KernelBuilder,
    buffer_element,
    index_value,
    rank_of,
    ranked,
)
from onnxloom.conversion.onnx_to_loom.convolutions.padded_image import build_padded_image, window_sizes
from onnxloom.conversion.onnx_to_loom.decline import Declined
from onnxloom.conversion.onnx_to_loom.ops.movement import exact_dims
from onnxloom.conversion.onnx_to_loom.registry import Inputs, lowering
from onnxloom.conversion.onnx_to_loom.windows.clipped_windows import clips, may_clip
from onnxloom.conversion.onnx_to_loom.windows.indexed_pooling import IndexedPooling
from onnxloom.conversion.onnx_to_loom.windows.pool_forms import pool_of, pool_window, windows
from onnxloom.conversion.onnx_to_loom.windows.pooling_kernels import (
    BlockPooling,
    Pool,
    SweptPooling,
    WindowDim,
)
from onnxloom.conversion.onnx_to_loom.windows.window_sweep import has_few_taps
from onnxloom.dialects import loom, onnx
from onnxloom.dialects.loom.conv_space import Window
from onnxloom.dialects.onnx.access import int_attr
from onnxloom.dialects.onnx.semantics.scalars import (
    bit_width,
    compute_type,
)


def lower_pool(op: Operation, inputs: Inputs, builder: KernelBuilder) -> Sequence[SSAValue]:
    (data,) = inputs
    assert data is not None
    type_ = ranked(op.results[0].type, "the result")
    storage = buffer_element(data.type)
    spatial = rank_of(data) - 2
    if not 1 <= spatial <= 3:
        raise Declined(f"windows over {spatial} dims have no kernel")
    shape = windows(op, spatial)
    pool = pool_of(op, ranked(data.type, "the operand").element_type, storage)
    window = pool_window(op, shape)
    rows = [(w.kernel, w.stride, w.dilation, w.before, w.after) for w in shape]
    space = builder.insert(
        loom.WindowSpaceOp.make(data, rows, window.auto_pad, window.ceil, window.clips)
    ).results
    n, c, *sizes = builder.dims(data)
    dims = exact_dims(builder, type_, [n, c, *(space[3 * i] for i in range(spatial))])
    arguments = [builder.multiply([n, c]), *sizes, *dims[2:], *(space[3 * i + 1] for i in range(spatial))]
    if len(op.results) > 1 and isinstance(op.results[1].type, TensorType) and op.results[1].uses:
        return _with_places(op, data, builder, (pool, shape), (dims, arguments))
    arguments += [space[3 * i + 2] for i in range(spatial)]
    if has_few_taps(window):
        image, strides = _image(builder, data, window, pool)
        clipped = image is data and may_clip(window, [index_value(size) for size in sizes])
        arguments += strides
        k = builder.kernel(pool.name, [image], [type_], len(arguments))
        lanes = builder.kernels.target.lanes(max(1, bit_width(compute_type(storage)) // 8))
        SweptPooling(k, pool, shape, storage, lanes, clipped).write()
        data = image
    else:
        k = builder.kernel(pool.name, [data], [type_], len(arguments))
        BlockPooling(k, pool, shape, storage).write()
    filled = builder.launch(k, [data], [builder.empty(type_, dims)], arguments)
    # Results that nothing reads stand for themselves.
    return [filled[0]] * len(op.results)


def _with_places(
    op: Operation,
    data: SSAValue,
    builder: KernelBuilder,
    what: tuple[Pool, Sequence[WindowDim]],
    sizes: tuple[Sequence[SSAValue], Sequence[SSAValue]],
) -> Sequence[SSAValue]:
    """MaxPool with indices."""
    (pool, shape), (dims, arguments) = what, sizes
    types = [result.type for result in op.results]
    k = builder.kernel(f"{pool.name}_places", [data], types, len(arguments))
    element = ranked(data.type, "the operand").element_type
    IndexedPooling(k, pool, shape, element, int_attr(op, "storage_order", 0) == 1).write()
    return builder.launch(k, [data], [builder.empty(type_, dims) for type_ in types], arguments)


def _image(
    builder: KernelBuilder, data: SSAValue, window: Window, pool: Pool
) -> tuple[SSAValue, list[SSAValue]]:
    """What the window slides over: the data as they are where there is no border, else a padded image.

    Also the elements of one of its planes, and the element strides of its leading dims.
    """
    bordered = any(window.pads) or window.auto_pad not in ("NOTSET", "VALID") or window.ceil
    bordered = bordered or clips(window, [index_value(size) for size in builder.dims(data)[2:]])
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
