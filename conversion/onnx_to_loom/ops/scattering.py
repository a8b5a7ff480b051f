"""Ops that write at computed places: Scatter, ScatterElements, ScatterND. The last of several writes holds.

The result starts as a copy of the data. An index outside of its dim is an error, found when the stretch has
run; until then its update goes to the nearest element inside, so that kernels never write foreign memory.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects.builtin import i1
from xdsl.ir import Attribute, Operation, SSAValue

from onnxloom.conversion.onnx_to_loom.builder import (
    KernelBuilder,
    buffer_element,
    number_element,
    rank_of,
    ranked,
)
from onnxloom.conversion.onnx_to_loom.decline import Declined
from onnxloom.conversion.onnx_to_loom.kernel_body import KernelBody
from onnxloom.conversion.onnx_to_loom.moving.copying import duplicate, word_type
from onnxloom.conversion.onnx_to_loom.registry import Inputs, lowering
from onnxloom.conversion.onnx_to_loom.value_checks import IndexGuard, refuse_where
from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.access import int_attr, str_attr
from onnxloom.dialects.onnx.semantics.scalars import Scalar, Scalars, is_unsigned

Combine = Callable[[Scalars, Scalar, Scalar], Scalar]
"""The new element, from the old one and the update."""


def _combination(op: Operation, data: SSAValue) -> tuple[Attribute, Combine | None]:
    """What kernels hold an element as, and how an update joins it; None where it replaces it."""
    reduction = str_attr(op, "reduction", "none")
    if reduction == "none":
        return word_type(data.type), None
    element = ranked(data.type, "the data").element_type
    storage = number_element(data.type)
    unsigned = is_unsigned(element)
    combine: dict[str, Combine] = {
        "add": lambda s, a, b: s.or_(a, b) if storage == i1 else s.add(a, b),
        "mul": lambda s, a, b: s.and_(a, b) if storage == i1 else s.mul(a, b),
        "max": lambda s, a, b: s.maximum(a, b, unsigned),
        "min": lambda s, a, b: s.minimum(a, b, unsigned),
    }
    if reduction not in combine:
        raise Declined(f"a reduction {reduction!r} has no kernel")
    return storage, combine[reduction]


def _update(k: KernelBody, combine: Combine | None, read: Scalar, write: Scalar) -> None:
    """Joins the update at `read` to the element at `write`."""
    value = k.load(k.ins[0], read)
    if combine is not None:
        s = k.scalars
        joined = combine(s, s.widen(k.load(k.outs[0], write)), s.widen(value))
        value = joined if joined.type == value.type else s.float_to(joined, value.type)
    k.store(value, k.outs[0], write)


def lower_scatter_elements(
    op: onnx.ScatterElementsOp | onnx.ScatterOp, inputs: Inputs, builder: KernelBuilder
) -> Sequence[SSAValue]:
    """One element for each index."""
    data, indices, updates = inputs
    assert data is not None and indices is not None and updates is not None
    element, combine = _combination(op, data)
    rank = rank_of(data)
    if rank == 0 or rank_of(indices) != rank or rank_of(updates) != rank:
        raise Declined("data, indices and updates of different ranks have no kernel")
    axis = int_attr(op, "axis", 0) % rank
    dims, picks = builder.dims(data), builder.dims(indices)
    for d, size in enumerate(builder.dims(updates)):
        refuse_where(builder, size, "ne", picks[d], f"dim {d} of the updates is not that of the indices")
    for d in set(range(rank)) - {axis}:
        message = f"dim {d} of the indices is larger than that of the data"
        refuse_where(builder, picks[d], "sgt", dims[d], message)
    guard = IndexGuard(builder, indices, [dims[axis]])
    k = guard.kernel("scatter_elements", [element, buffer_element(indices.type)], element, 2 * rank)
    shape, counts = k.sizes[:rank], k.sizes[rank:]

    def nest(read: Scalar, places: list[Scalar], flag: Scalar) -> Scalar:
        depth = len(places)
        if depth < rank:

            def step(i: Scalar, acc: Sequence[Scalar]) -> Sequence[Scalar]:
                return [nest(k.at(read, counts[depth], i), [*places, i], acc[0])]

            return k.reduce(counts[depth], [flag], step)[0]
        chosen, outside = guard.place(k, k.load(k.ins[1], read), shape[axis])
        write = k.index(0)
        for d in range(rank):
            write = k.at(write, shape[d], chosen if d == axis else places[d])
        _update(k, combine, read, write)
        return guard.join(k, flag, outside)

    flag = nest(k.index(0), [], k.index(0))
    count = k.index(1)
    for size in counts:
        count = k.mul(count, size)
    guard.report(k, flag, k.ins[1], count, [shape[axis]])
    return guard.launch(k, [updates, indices], duplicate(builder, data), [*dims, *picks])


def lower_scatter_nd(op: onnx.ScatterNDOp, inputs: Inputs, builder: KernelBuilder) -> Sequence[SSAValue]:
    """Slices at index tuples (the last dim of the indices)."""
    data, indices, updates = inputs
    assert data is not None and indices is not None and updates is not None
    element, combine = _combination(op, data)
    dims, picks = builder.dims(data), builder.dims(indices)
    depth = len(picks) - 1 + len(dims) - rank_of(updates)
    if not picks or not 0 < depth <= len(dims):
        raise Declined("updates of a rank that does not fit data and indices have no kernel")
    message = f"index tuples have to have a length of {depth}"
    refuse_where(builder, picks[-1], "ne", builder.index(depth), message)
    wanted = [*picks[:-1], *dims[depth:]]
    for d, given in enumerate(builder.dims(updates)):
        refuse_where(builder, given, "ne", wanted[d], f"dim {d} of the updates does not fit indices and data")
    guard = IndexGuard(builder, indices, dims[:depth])
    k = guard.kernel("scatter_nd", [element, buffer_element(indices.type)], element, 2 + depth)
    (count, inner), shape = k.sizes[:2], k.sizes[2:]

    def put(i: Scalar, flag: Scalar) -> Scalar:
        write = k.index(0)
        for d in range(depth):
            index = k.load(k.ins[1], k.at(i, k.index(depth), k.index(d)))
            at, outside = guard.place(k, index, shape[d])
            write, flag = k.at(write, shape[d], at), guard.join(k, flag, outside)
        read, write = k.mul(i, inner), k.mul(write, inner)
        with k.loop(inner, parallel=True) as j:
            _update(k, combine, k.add(read, j), k.add(write, j))
        return flag

    (flag,) = k.reduce(count, [k.index(0)], lambda i, acc: [put(i, acc[0])])
    guard.report(k, flag, k.ins[1], count, shape)
    sizes = [builder.multiply(picks[:-1]), builder.multiply(dims[depth:]), *dims[:depth]]
    return guard.launch(k, [updates, indices], duplicate(builder, data), sizes)


scatter_elements = lowering(onnx.ScatterElementsOp, onnx.ScatterOp)(lower_scatter_elements)
scatter_nd = lowering(onnx.ScatterNDOp)(lower_scatter_nd)
