"""Ops that read at computed places: Gather, GatherElements, GatherND. Indices count from the end if negative.

An index outside of its dim reads the nearest element inside: kernels never read foreign memory.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from onnxloom.conversion.onnx_to_loom.builder import KernelBuilder, buffer_element, rank_of, ranked
from onnxloom.conversion.onnx_to_loom.copying import word_type
from onnxloom.conversion.onnx_to_loom.kernel_body import KernelBody
from onnxloom.conversion.onnx_to_loom.ops.movement import exact_dims
from onnxloom.conversion.onnx_to_loom.registry import Inputs, lowering
from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.access import int_attr
from onnxloom.dialects.onnx.semantics.scalars import Scalar


def place(k: KernelBody, index: Scalar, size: Scalar) -> Scalar:
    """An index operand's element as a place inside of a dim of `size`."""
    at = k.to_index(index)
    zero = k.index(0)
    at = k.scalars.select(k.scalars.cmp("lt", at, zero), k.add(at, size), at)
    return k.scalars.maximum(k.scalars.minimum(at, k.sub(size, k.index(1))), zero)


def lower_gather(op: onnx.GatherOp, inputs: Inputs, builder: KernelBuilder) -> Sequence[SSAValue]:
    """Whole slices of the dims after the axis."""
    data, indices = inputs
    assert data is not None and indices is not None
    word, index = word_type(data.type), buffer_element(indices.type)
    type_ = ranked(op.results[0].type, "the result")
    axis = int_attr(op, "axis", 0) % rank_of(data)
    dims = builder.dims(data)
    picks = builder.dims(indices)
    k = KernelBody("gather", [word, index], [word], 4)
    outer, size, count, inner = k.sizes
    with k.loop(outer) as o, k.loop(count) as i:
        source = k.mul(k.at(o, size, place(k, k.load(k.ins[1], i), size)), inner)
        target = k.mul(k.at(o, count, i), inner)
        with k.loop(inner, parallel=True) as j:
            k.store(k.load(k.ins[0], k.add(source, j)), k.outs[0], k.add(target, j))
    out = builder.empty(type_, exact_dims(builder, type_, [*dims[:axis], *picks, *dims[axis + 1 :]]))
    sizes = [
        builder.multiply(dims[:axis]), dims[axis], builder.multiply(picks), builder.multiply(dims[axis + 1 :])
    ]  # fmt: skip
    return builder.launch(k, [data, indices], [out], sizes)


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
    k = KernelBody("gather_elements", [word, index], [word], 2 * rank)
    shape, picks = k.sizes[:rank], k.sizes[rank:]

    def nest(depth: int, read: Scalar, write: Scalar, places: list[Scalar]) -> None:
        if depth < rank:
            with k.loop(picks[depth], parallel=depth == rank - 1) as i:
                nest(depth + 1, read, k.at(write, picks[depth], i), [*places, i])
            return
        chosen = place(k, k.load(k.ins[1], write), shape[axis])
        offset = k.index(0)
        for d in range(rank):
            offset = k.at(offset, shape[d], chosen if d == axis else places[d])
        k.store(k.load(k.ins[0], offset), k.outs[0], write)

    nest(0, k.index(0), k.index(0), [])
    dims = builder.dims(indices)
    out = builder.empty(type_, exact_dims(builder, type_, dims))
    return builder.launch(k, [data, indices], [out], [*builder.dims(data), *dims])


def lower_gather_nd(op: onnx.GatherNDOp, inputs: Inputs, builder: KernelBuilder) -> Sequence[SSAValue]:
    """Slices at index tuples (the last dim of the indices)."""
    data, indices = inputs
    assert data is not None and indices is not None
    word, index = word_type(data.type), buffer_element(indices.type)
    type_ = ranked(op.results[0].type, "the result")
    batch = int_attr(op, "batch_dims", 0)
    dims, picks = builder.dims(data), builder.dims(indices)
    depth = builder.static_size(picks[-1], "the length of index tuples")
    k = KernelBody("gather_nd", [word, index], [word], 3 + depth)
    batches, count, inner = k.sizes[:3]
    shape = k.sizes[3:]
    with k.loop(batches) as b, k.loop(count) as i:
        row = k.at(b, count, i)
        source = b
        for d in range(depth):
            at = place(k, k.load(k.ins[1], k.add(k.mul(row, k.index(depth)), k.index(d))), shape[d])
            source = k.at(source, shape[d], at)
        read, write = k.mul(source, inner), k.mul(row, inner)
        with k.loop(inner, parallel=True) as j:
            k.store(k.load(k.ins[0], k.add(read, j)), k.outs[0], k.add(write, j))
    out = builder.empty(type_, exact_dims(builder, type_, [*picks[:-1], *dims[batch + depth :]]))
    sizes = [
        builder.multiply(dims[:batch]), builder.multiply(picks[batch:-1]),
        builder.multiply(dims[batch + depth :]), *dims[batch : batch + depth],
    ]  # fmt: skip
    return builder.launch(k, [data, indices], [out], sizes)


gather = lowering(onnx.GatherOp)(lower_gather)
gather_elements = lowering(onnx.GatherElementsOp)(lower_gather_elements)
gather_nd = lowering(onnx.GatherNDOp)(lower_gather_nd)
