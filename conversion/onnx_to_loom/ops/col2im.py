"""Col2Im: columns of blocks laid over an image, summed where blocks overlap."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith
from xdsl.dialects.builtin import i1
from xdsl.ir import SSAValue

from onnxloom.conversion.onnx_to_loom.builder import KernelBuilder, number_element, rank_of, ranked
from onnxloom.conversion.onnx_to_loom.decline import Declined
from onnxloom.conversion.onnx_to_loom.registry import Inputs, lowering
from onnxloom.conversion.onnx_to_loom.value_checks import read_sizes, refuse_where
from onnxloom.conversion.onnx_to_loom.windows.pooling_kernels import ceil_div
from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.access import ints_attr
from onnxloom.dialects.onnx.semantics.scalars import Scalar, compute_type, is_float


@lowering(onnx.Col2ImOp)
def lower_col2im(op: onnx.Col2ImOp, inputs: Inputs, builder: KernelBuilder) -> Sequence[SSAValue]:
    """`[batch, channels * block, blocks]` -> `[batch, channels, ...image]`."""
    columns, image_shape, block_shape = inputs
    assert columns is not None and image_shape is not None and block_shape is not None
    type_ = ranked(op.output.type, "the result")
    storage, spatial = number_element(columns.type), type_.get_num_dims() - 2
    if storage == i1 or rank_of(columns) != 3 or spatial < 1:
        raise Declined("Col2Im of booleans or of this rank has no kernel")
    wide = compute_type(storage)
    ones = (1,) * spatial
    strides, dilations = ints_attr(op, "strides") or ones, ints_attr(op, "dilations") or ones
    pads = ints_attr(op, "pads") or (0,) * (2 * spatial)
    if not len(strides) == len(dilations) == len(pads) // 2 == spatial:
        raise Declined("the attributes do not have as many dims as the image")
    image = [builder.read(image_shape, i) for i in range(spatial)]
    block = read_sizes(builder, block_shape, spatial, "block_shape")
    blocks = [
        _places(builder, image[i], block[i], (strides[i], dilations[i], pads[i] + pads[i + spatial]))
        for i in range(spatial)
    ]
    batch, rows, length = builder.dims(columns)
    taps = builder.multiply(block)
    for size in block:
        refuse_where(builder, size, "slt", builder.index(1), "a dim of the block is less than 1")
    channels = builder.insert(arith.DivUIOp(rows, taps)).results[0]
    refuse_where(
        builder, builder.multiply([channels, taps]), "ne", rows, "the channels are no multiple of the block"
    )
    refuse_where(
        builder, builder.multiply(blocks), "ne", length, "the blocks of the image are not those of the data"
    )
    size = builder.multiply(image)
    sums = builder.private(wide, size)
    k = builder.kernel("col2im", [columns], [type_, sums.type], 1 + 3 * spatial)
    groups = [k.sizes[1 + i * spatial : 1 + (i + 1) * spatial] for i in range(3)]
    pixels = k.index(1)
    for dim in groups[0]:
        pixels = k.mul(pixels, dim)
    s = k.scalars
    with k.tasks(k.sizes[0]) as plane:
        begin = k.private(pixels)
        with k.loop(pixels, parallel=True) as i:
            k.store(s.const(0, wide), k.outs[1], k.add(begin, i))

        def lay(depth: int, tap: Scalar, column: Scalar, pixel: Scalar, offsets: list[Scalar]) -> None:
            """Loops over the taps of the block, then over blocks, both dim by dim."""
            d = depth % spatial
            if depth == 2 * spatial:
                value = s.widen(k.load(k.ins[0], column))
                k.store(s.add(k.load(k.outs[1], pixel), value), k.outs[1], pixel)
                return
            if depth < spatial:
                with k.loop(groups[1][d]) as t:
                    shift = k.sub(k.mul(t, k.index(dilations[d])), k.index(pads[d]))
                    lay(depth + 1, k.at(tap, groups[1][d], t), column, pixel, [*offsets, shift])
                return
            if d == 0:
                column, pixel = tap, k.index(0)
            stride, shift, dim = k.index(strides[d]), offsets[d], groups[0][d]
            low = s.minimum(
                s.maximum(ceil_div(k, k.sub(k.index(0), shift), stride), k.index(0)), groups[2][d]
            )
            high = s.minimum(ceil_div(k, k.sub(dim, shift), stride), groups[2][d])
            is_last = d == spatial - 1
            with k.loop(high, start=low, parallel=is_last) as b:
                at = k.at(pixel, dim, k.add(k.mul(b, stride), shift))
                lay(
                    depth + 1,
                    tap,
                    k.at(column, groups[2][d], b),
                    k.add(begin, at) if is_last else at,
                    offsets,
                )

        lay(0, plane, k.index(0), k.index(0), [])
        target = k.mul(plane, pixels)
        with k.loop(pixels, parallel=True) as i:
            total = k.load(k.outs[1], k.add(begin, i))
            k.store(s.float_to(total, storage) if is_float(storage) else total, k.outs[0], k.add(target, i))
    out = builder.empty(type_, [batch, channels, *image])
    planes = builder.multiply([batch, channels])
    return builder.launch(k, [columns], [out, sums], [planes, *image, *block, *blocks])[:1]


def _places(
    builder: KernelBuilder, size: SSAValue, block: SSAValue, window: tuple[int, int, int]
) -> SSAValue:
    """Blocks along a dim of the image."""
    stride, dilation, pads = window
    extent = builder.multiply([block, builder.index(dilation)])
    room = builder.insert(arith.SubiOp(size, extent)).results[0]
    room = builder.insert(arith.AddiOp(room, builder.index(pads + dilation - 1))).results[0]
    steps = builder.insert(arith.FloorDivSIOp(room, builder.index(stride))).results[0]
    count = builder.insert(arith.AddiOp(steps, builder.index(1))).results[0]
    return builder.insert(arith.MaxSIOp(count, builder.index(0))).results[0]
