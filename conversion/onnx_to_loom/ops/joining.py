"""Ops that put tensors together or take them apart: Concat, Split, Pad."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, SSAValue

from onnxloom.conversion.onnx_to_loom.builder import KernelBuilder, rank_of, ranked
from onnxloom.conversion.onnx_to_loom.decline import Declined
from onnxloom.conversion.onnx_to_loom.kernel_body import KernelBody
from onnxloom.conversion.onnx_to_loom.moving.copying import copy_rows, fill, scatter_copy, word_type
from onnxloom.conversion.onnx_to_loom.ops.movement import exact_dims
from onnxloom.conversion.onnx_to_loom.registry import Inputs, lowering
from onnxloom.conversion.onnx_to_loom.value_checks import refuse_empty
from onnxloom.dialects import loom, onnx
from onnxloom.dialects.onnx.access import int_attr, str_attr
from onnxloom.dialects.onnx.semantics.scalars import Scalar


def lower_concat(op: onnx.ConcatOp, inputs: Inputs, builder: KernelBuilder) -> Sequence[SSAValue]:
    """One destination that each input is copied into."""
    sources = [v for v in inputs if v is not None]
    if len(sources) == 1:
        return sources
    type_ = ranked(op.results[0].type, "the result")
    rank = rank_of(sources[0])
    axis = int_attr(op, "axis")
    return [concatenated(builder, sources, axis + rank if axis < 0 else axis, type_)]


def concatenated(
    builder: KernelBuilder, sources: Sequence[SSAValue], axis: int, type_: TensorType[Attribute]
) -> SSAValue:
    """Two or more tensors joined along `axis`, as a tensor of type `type_`."""
    word_type(type_)
    space = builder.insert(loom.ConcatSpaceOp.make(sources, axis)).results
    dims = builder.dims(sources[0])
    target = builder.empty(type_, exact_dims(builder, type_, [*dims[:axis], space[0], *dims[axis + 1 :]]))
    zero, outer, row = builder.index(0), space[1], space[2]
    for i, source in enumerate(sources):
        length, begin = space[3 + 2 * i], space[4 + 2 * i]
        target = copy_rows(builder, source, target, outer, length, (length, zero), (row, begin))
    return target


def lower_split(op: onnx.SplitOp, inputs: Inputs, builder: KernelBuilder) -> Sequence[SSAValue]:
    """One copy for each part that is used."""
    source, lengths = inputs[0], inputs[1] if len(inputs) > 1 else None
    assert source is not None
    word_type(source.type)
    rank, count = rank_of(source), len(op.results)
    axis = int_attr(op, "axis", 0)
    axis = axis + rank if axis < 0 else axis
    space = builder.insert(loom.SplitSpaceOp.make(source, lengths, axis, count)).results
    dims, zero = builder.dims(source), builder.index(0)
    outer, row = space[count], space[count + 1]
    parts: list[SSAValue] = []
    for i, result in enumerate(op.results):
        type_ = ranked(result.type, "a result")
        part_dims = exact_dims(builder, type_, [*dims[:axis], space[i], *dims[axis + 1 :]])
        target = builder.empty(type_, part_dims)
        length, begin = space[count + 2 + 2 * i], space[count + 3 + 2 * i]
        if result.uses:
            target = copy_rows(builder, source, target, outer, length, (row, begin), (length, zero))
        parts.append(target)
    return parts


def lower_pad(op: onnx.PadOp, inputs: Inputs, builder: KernelBuilder) -> Sequence[SSAValue]:
    """Constant mode fills and copies; the other modes read the source at a mapped index."""
    data, pads, value, axes = [*inputs, None, None][:4]
    assert data is not None and pads is not None
    type_ = ranked(op.results[0].type, "the result")
    rank = rank_of(data)
    mode = str_attr(op, "mode", "constant")
    if rank == 0:
        return [data]
    space = builder.insert(loom.PadSpaceOp.make(data, pads, axes, rank)).results
    dims = exact_dims(builder, type_, space[:rank])
    target = builder.empty(type_, dims)
    if mode != "constant":
        if mode not in _INDEX_MAPS:
            raise Declined(f"Pad of mode {mode} has no kernel")
        return [_mapped_pad(builder, data, target, dims, space[rank : 2 * rank], mode)]
    filled = fill(builder, target, dims, value)
    rest = space[2 * rank :]
    rows = [rest[2 + i * rank : 2 + (i + 1) * rank] for i in range(3)]
    return [scatter_copy(builder, data, filled, rows[0], rows[1], rows[2], rest[0], rest[1])]


def _edge(k: KernelBody, i: Scalar, size: Scalar) -> Scalar:
    last = k.sub(size, k.index(1))
    low = k.scalars.maximum(i, k.index(0))
    return k.scalars.minimum(low, last)


def _wrap(k: KernelBody, i: Scalar, size: Scalar) -> Scalar:
    rest = k.remainder(i, size)
    negative = k.scalars.cmp("lt", rest, k.index(0))
    return k.scalars.select(negative, k.add(rest, size), rest)


def _reflect(k: KernelBody, i: Scalar, size: Scalar) -> Scalar:
    last = k.sub(size, k.index(1))
    period = k.scalars.maximum(k.mul(last, k.index(2)), k.index(1))
    place = _wrap(k, i, period)
    return k.scalars.minimum(place, k.sub(period, place))


_INDEX_MAPS = {"edge": _edge, "wrap": _wrap, "reflect": _reflect}


def _mapped_pad(
    builder: KernelBuilder,
    data: SSAValue,
    target: SSAValue,
    dims: Sequence[SSAValue],
    before: Sequence[SSAValue],
    mode: str,
) -> SSAValue:
    rank, word = len(dims), word_type(data.type)
    for d, size in enumerate(dims):
        message = f"mode {mode!r} has nothing to repeat along dim {d}, which is 0"
        refuse_empty(builder, builder.dim(data, d), message, unless=size)
    k = KernelBody(f"pad_{mode}", [word], [word], 3 * rank)
    out, source, pads = k.sizes[:rank], k.sizes[rank : 2 * rank], k.sizes[2 * rank :]

    def step(depth: int, i: Scalar, read: Scalar, write: Scalar) -> tuple[Scalar, Scalar]:
        mapped = _INDEX_MAPS[mode](k, k.sub(i, pads[depth]), source[depth])
        return k.at(read, source[depth], mapped), k.at(write, out[depth], i)

    def nest(depth: int, read: Scalar, write: Scalar) -> None:
        last = depth == rank - 1
        with k.loop(out[depth], parallel=last) as i:
            source_at, target_at = step(depth, i, read, write)
            if last:
                k.store(k.load(k.ins[0], source_at), k.outs[0], target_at)
            else:
                nest(depth + 1, source_at, target_at)

    shared = min(rank - 1, 2)
    with k.task_nest(*out[:shared]) as position:
        read, write = k.index(0), k.index(0)
        for d, i in enumerate(position[:shared]):
            read, write = step(d, i, read, write)
        nest(shared, read, write)
    return builder.launch(k, [data], [target], [*dims, *builder.dims(data), *before])[0]


concat = lowering(onnx.ConcatOp)(lower_concat)
split = lowering(onnx.SplitOp)(lower_split)
pad = lowering(onnx.PadOp)(lower_pad)
