"""Ops that read at computed places: Gather, GatherElements, GatherND. Indices count from the end if negative.

An index outside of its dim is an error, found when the stretch has run; until then it reads the nearest
element inside, so that kernels never read foreign memory.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from onnxloom.conversion.onnx_to_loom.builder import KernelBuilder, buffer_element, rank_of, ranked
from onnxloom.conversion.onnx_to_loom.moving.copying import word_type
from onnxloom.conversion.onnx_to_loom.ops.movement import exact_dims
from onnxloom.conversion.onnx_to_loom.registry import Inputs, lowering
from onnxloom.conversion.onnx_to_loom.value_checks import IndexGuard, refuse_where
from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.access import int_attr
from onnxloom.dialects.onnx.semantics.scalars import Scalar


def lower_gather(op: onnx.GatherOp, inputs: Inputs, builder: KernelBuilder) -> Sequence[SSAValue]:
    """Whole slices of the dims after the axis."""
    data, indices = inputs
    assert data is not None and indices is not None
    word, index = word_type(data.type), buffer_element(indices.type)
    type_ = ranked(op.results[0].type, "the result")
    axis = int_attr(op, "axis", 0) % rank_of(data)
    dims = builder.dims(data)
    picks = builder.dims(indices)
    guard = IndexGuard(builder, indices, [dims[axis]])
    k = guard.kernel("gather", [word, index], word, 4)
    outer, size, count, inner = k.sizes

    def pick(o: Scalar, i: Scalar, flag: Scalar) -> Scalar:
        at, outside = guard.place(k, k.load(k.ins[1], i), size)
        source, target = k.mul(k.at(o, size, at), inner), k.mul(k.at(o, count, i), inner)
        with k.loop(inner, parallel=True) as j:
            k.store(k.load(k.ins[0], k.add(source, j)), k.outs[0], k.add(target, j))
        return guard.join(k, flag, outside)

    (flag,) = k.reduce(
        outer, [k.index(0)], lambda o, acc: k.reduce(count, acc, lambda i, flags: [pick(o, i, flags[0])])
    )
    guard.report(k, flag, k.ins[1], count, [size])
    out = builder.empty(type_, exact_dims(builder, type_, [*dims[:axis], *picks, *dims[axis + 1 :]]))
    sizes = [
        builder.multiply(dims[:axis]), dims[axis], builder.multiply(picks), builder.multiply(dims[axis + 1 :])
    ]  # fmt: skip
    return guard.launch(k, [data, indices], out, sizes)


def lower_gather_elements(
    op: onnx.GatherElementsOp, inputs: Inputs, builder: KernelBuilder
) -> Sequence[SSAValue]:
    """One element for each index."""
    data, indices = inputs
    assert data is not None and indices is not None
    word, index = word_type(data.type), buffer_element(indices.type)
    type_ = ranked(op.results[0].type, "the result")
    rank = rank_of(data)
    axis = int_attr(op, "axis", 0) % rank
    guard = IndexGuard(builder, indices, [builder.dim(data, axis)])
    for d in set(range(rank)) - {axis}:
        message = f"dim {d} of the indices is larger than that of the data"
        refuse_where(builder, builder.dim(indices, d), "sgt", builder.dim(data, d), message)
    k = guard.kernel("gather_elements", [word, index], word, 2 * rank)
    shape, picks = k.sizes[:rank], k.sizes[rank:]

    def nest(write: Scalar, places: list[Scalar], flag: Scalar) -> Scalar:
        depth = len(places)
        if depth < rank:

            def step(i: Scalar, acc: Sequence[Scalar]) -> Sequence[Scalar]:
                return [nest(k.at(write, picks[depth], i), [*places, i], acc[0])]

            return k.reduce(picks[depth], [flag], step, parallel=depth == rank - 1)[0]
        chosen, outside = guard.place(k, k.load(k.ins[1], write), shape[axis])
        offset = k.index(0)
        for d in range(rank):
            offset = k.at(offset, shape[d], chosen if d == axis else places[d])
        k.store(k.load(k.ins[0], offset), k.outs[0], write)
        return guard.join(k, flag, outside)

    flag = nest(k.index(0), [], k.index(0))
    count = k.index(1)
    for size in picks:
        count = k.mul(count, size)
    guard.report(k, flag, k.ins[1], count, [shape[axis]])
    dims = builder.dims(indices)
    out = builder.empty(type_, exact_dims(builder, type_, dims))
    return guard.launch(k, [data, indices], out, [*builder.dims(data), *dims])


def lower_gather_nd(op: onnx.GatherNDOp, inputs: Inputs, builder: KernelBuilder) -> Sequence[SSAValue]:
    """Slices at index tuples (the last dim of the indices)."""
    data, indices = inputs
    assert data is not None and indices is not None
    word, index = word_type(data.type), buffer_element(indices.type)
    type_ = ranked(op.results[0].type, "the result")
    batch = int_attr(op, "batch_dims", 0)
    dims, picks = builder.dims(data), builder.dims(indices)
    depth = builder.static_size(picks[-1], "the length of index tuples")
    for d in range(batch):
        message = f"batch dim {d} of the indices is not that of the data"
        refuse_where(builder, picks[d], "ne", dims[d], message)
    guard = IndexGuard(builder, indices, dims[batch : batch + depth])
    k = guard.kernel("gather_nd", [word, index], word, 3 + depth)
    batches, count, inner = k.sizes[:3]
    shape = k.sizes[3:]

    def pick(b: Scalar, i: Scalar, flag: Scalar) -> Scalar:
        row, source = k.at(b, count, i), b
        for d in range(depth):
            index_at = k.at(row, k.index(depth), k.index(d))
            at, outside = guard.place(k, k.load(k.ins[1], index_at), shape[d])
            source, flag = k.at(source, shape[d], at), guard.join(k, flag, outside)
        read, write = k.mul(source, inner), k.mul(row, inner)
        with k.loop(inner, parallel=True) as j:
            k.store(k.load(k.ins[0], k.add(read, j)), k.outs[0], k.add(write, j))
        return flag

    (flag,) = k.reduce(
        batches, [k.index(0)], lambda b, acc: k.reduce(count, acc, lambda i, flags: [pick(b, i, flags[0])])
    )
    guard.report(k, flag, k.ins[1], k.mul(batches, count), shape)
    out = builder.empty(type_, exact_dims(builder, type_, [*picks[:-1], *dims[batch + depth :]]))
    sizes = [
        builder.multiply(dims[:batch]), builder.multiply(picks[batch:-1]),
        builder.multiply(dims[batch + depth :]), *dims[batch : batch + depth],
    ]  # fmt: skip
    return guard.launch(k, [data, indices], out, sizes)


gather = lowering(onnx.GatherOp)(lower_gather)
gather_elements = lowering(onnx.GatherElementsOp)(lower_gather_elements)
gather_nd = lowering(onnx.GatherNDOp)(lower_gather_nd)
