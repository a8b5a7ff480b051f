"""Ops that rearrange elements by strides: Transpose, Expand, Tile, Slice, DepthToSpace, SpaceToDepth."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import TensorType
from xdsl.ir import SSAValue

from onnxloom.conversion.onnx_to_loom.builder import (
    KernelBuilder,
    rank_of,
    ranked,
)
from onnxloom.conversion.onnx_to_loom.decline import Declined
from onnxloom.conversion.onnx_to_loom.moving.copying import gather_copy
from onnxloom.conversion.onnx_to_loom.moving.transposing import transposed
from onnxloom.conversion.onnx_to_loom.registry import Inputs, lowering
from onnxloom.conversion.onnx_to_loom.value_checks import refuse_where
from onnxloom.dialects import loom, onnx
from onnxloom.dialects.onnx.access import int_attr, ints_attr, str_attr


def lower_transpose(op: onnx.TransposeOp, inputs: Inputs, builder: KernelBuilder) -> Sequence[SSAValue]:
    (data,) = inputs
    assert data is not None
    rank = rank_of(data)
    perm = ints_attr(op, "perm") or tuple(reversed(range(rank)))
    return [transposed(builder, data, [p + rank if p < 0 else p for p in perm])]


def exact_dims(builder: KernelBuilder, type_: TensorType, dims: Sequence[SSAValue]) -> list[SSAValue]:
    """Dims as the type knows them, else as computed."""
    sizes = zip(dims, type_.get_shape(), strict=True)
    return [builder.agreed(size, d, axis) for axis, (size, d) in enumerate(sizes)]


def lower_expand(op: onnx.ExpandOp, inputs: Inputs, builder: KernelBuilder) -> Sequence[SSAValue]:
    data, shape = inputs
    assert data is not None and shape is not None
    type_ = ranked(op.results[0].type, "the result")
    rank = type_.get_num_dims()
    if rank == 0:
        return [data]
    space = builder.insert(loom.ExpandSpaceOp.make(data, shape, rank)).results
    dims = exact_dims(builder, type_, space[:rank])
    return [gather_copy(builder, data, type_, dims, space[rank : 2 * rank], space[2 * rank :])]


def lower_tile(op: onnx.TileOp, inputs: Inputs, builder: KernelBuilder) -> Sequence[SSAValue]:
    data, repeats = inputs
    assert data is not None and repeats is not None
    type_ = ranked(op.results[0].type, "the result")
    rank = type_.get_num_dims()
    if not 0 < rank <= 5:
        raise Declined(f"Tile of rank {rank} has no kernel")
    space = builder.insert(loom.TileSpaceOp.make(data, repeats, rank)).results
    dims = exact_dims(builder, type_, space[:rank])
    return [gather_copy(builder, data, type_, dims, space[rank : 3 * rank], space[3 * rank :])]


def lower_slice(op: onnx.SliceOp, inputs: Inputs, builder: KernelBuilder) -> Sequence[SSAValue]:
    data, *bounds = inputs
    assert data is not None
    type_ = ranked(op.results[0].type, "the result")
    rank = rank_of(data)
    padded = [*bounds, None, None][:4]
    space = builder.insert(loom.SliceSpaceOp.make(data, padded, rank)).results
    dims = exact_dims(builder, type_, space[:rank])
    sizes, strides = space[rank + 1 : 2 * rank + 1], space[2 * rank + 1 :]
    return [gather_copy(builder, data, type_, dims, sizes, strides, space[rank])]


def lower_depth_to_space(
    op: onnx.DepthToSpaceOp, inputs: Inputs, builder: KernelBuilder
) -> Sequence[SSAValue]:
    (data,) = inputs
    assert data is not None
    n, c, h, w = builder.dims(data)
    b = int_attr(op, "blocksize")
    block, depth = builder.index(b), _divided(builder, c, b * b, "number of channels")
    if str_attr(op, "mode", "DCR") == "DCR":
        split, perm = [n, block, block, depth, h, w], [0, 3, 4, 1, 5, 2]
    else:
        split, perm = [n, depth, block, block, h, w], [0, 1, 4, 2, 5, 3]
    moved = transposed(builder, builder.view(data, split), perm)
    return [builder.view(moved, [n, depth, builder.multiply([h, block]), builder.multiply([w, block])])]


def lower_space_to_depth(
    op: onnx.SpaceToDepthOp, inputs: Inputs, builder: KernelBuilder
) -> Sequence[SSAValue]:
    (data,) = inputs
    assert data is not None
    if str_attr(op, "mode", "DCR") != "DCR":
        raise Declined(f"SpaceToDepth of mode {str_attr(op, 'mode')} has no kernel")
    n, c, h, w = builder.dims(data)
    b = int_attr(op, "blocksize")
    block = builder.index(b)
    rows, cols = _divided(builder, h, b, "height"), _divided(builder, w, b, "width")
    moved = transposed(builder, builder.view(data, [n, c, rows, block, cols, block]), [0, 3, 5, 1, 2, 4])
    return [builder.view(moved, [n, builder.multiply([c, builder.index(b * b)]), rows, cols])]


def _divided(builder: KernelBuilder, size: SSAValue, by: int, what: str) -> SSAValue:
    """`size / by`; refuses sizes with a rest."""
    quotient = builder.divide(size, by)
    whole = builder.multiply([quotient, builder.index(by)])
    refuse_where(builder, whole, "ne", size, f"the {what} is no multiple of {by}")
    return quotient


transpose = lowering(onnx.TransposeOp)(lower_transpose)
expand = lowering(onnx.ExpandOp)(lower_expand)
tile = lowering(onnx.TileOp)(lower_tile)
slice_ = lowering(onnx.SliceOp)(lower_slice)
depth_to_space = lowering(onnx.DepthToSpaceOp)(lower_depth_to_space)
space_to_depth = lowering(onnx.SpaceToDepthOp)(lower_space_to_depth)
