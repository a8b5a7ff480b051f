"""TensorScatter: the update of each batch entry at its place along an axis of a cache."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith
from xdsl.dialects.builtin import i64
from xdsl.ir import SSAValue

from onnxloom.conversion.onnx_to_loom.builder import KernelBuilder, rank_of
from onnxloom.conversion.onnx_to_loom.decline import Declined
from onnxloom.conversion.onnx_to_loom.kernel_body import KernelBody
from onnxloom.conversion.onnx_to_loom.moving.copying import duplicate, fill, word_type
from onnxloom.conversion.onnx_to_loom.registry import Inputs, lowering
from onnxloom.conversion.onnx_to_loom.selection.chosen_places import PLACES
from onnxloom.conversion.onnx_to_loom.value_checks import check_range, refuse_where
from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.access import int_attr, str_attr

_MODES = ("linear", "circular")


@lowering(onnx.TensorScatterOp)
def lower_tensor_scatter(
    op: onnx.TensorScatterOp, inputs: Inputs, builder: KernelBuilder
) -> Sequence[SSAValue]:
    """Linear updates end inside of the cache; circular ones go on at its beginning."""
    cache, update, *rest = inputs
    assert cache is not None and update is not None
    begins = rest[0] if rest else None
    word, rank, mode = word_type(cache.type), rank_of(cache), str_attr(op, "mode", "linear")
    axis = int_attr(op, "axis", -2) % max(rank, 1)
    is_list = begins is None or rank_of(begins) == 1
    if mode not in _MODES or rank < 2 or axis == 0 or rank_of(update) != rank or not is_list:
        raise Declined("TensorScatter of this form has no kernel")
    dims, given = builder.dims(cache), builder.dims(update)
    for d in set(range(rank)) - {axis}:
        refuse_where(builder, given[d], "ne", dims[d], f"dim {d} of the update is not that of the cache")
    room = builder.insert(arith.SubiOp(dims[axis], given[axis])).results[0]
    refuse_where(builder, room, "slt", builder.index(0), "the update is longer than the cache")
    if begins is None:
        begins = fill(builder, builder.empty(PLACES, [dims[0]]), [dims[0]], None)
    else:
        refuse_where(
            builder, builder.dim(begins, 0), "ne", dims[0], "there is not one index for each batch entry"
        )
        high = room if mode == "linear" else builder.index((1 << 62) - 1)
        check_range(builder, begins, high, "a write index")
    k = KernelBody("tensor_scatter", [word, i64], [word], 5)
    s, (batches, middle, size, count, inner) = k.scalars, k.sizes
    with k.task_nest(batches, middle, count) as (b, m, i):
        begin = s.maximum(k.to_index(k.load(k.ins[1], b)), k.index(0))
        place = k.add(begin, i)
        place = k.remainder(place, size) if mode == "circular" else s.minimum(place, k.sub(size, k.index(1)))
        row = k.at(b, middle, m)
        read, write = k.mul(k.at(row, count, i), inner), k.mul(k.at(row, size, place), inner)
        with k.loop(inner, parallel=True) as e:
            k.store(k.load(k.ins[0], k.add(read, e)), k.outs[0], k.add(write, e))
    sizes = [
        dims[0],
        builder.multiply(dims[1:axis]),
        dims[axis],
        given[axis],
        builder.multiply(dims[axis + 1 :]),
    ]
    return builder.launch(k, [update, begins], [duplicate(builder, cache)], sizes)
