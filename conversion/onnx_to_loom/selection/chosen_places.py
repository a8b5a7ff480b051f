"""Where are the elements that are not zero? Counted by one kernel, written by a second one, in order."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import DYNAMIC_INDEX, TensorType, i32, i64
from xdsl.ir import Attribute, SSAValue

from onnxloom.conversion.onnx_to_loom.builder import KernelBuilder, number_element, ranked
from onnxloom.conversion.onnx_to_loom.kernel_body import KernelBody
from onnxloom.conversion.onnx_to_loom.moving.copying import word_type
from onnxloom.dialects.onnx.semantics.scalars import Scalar

_BLOCK = 4096
"""Elements that are counted in 32 bits."""


def count_chosen(builder: KernelBuilder, data: SSAValue, size: SSAValue) -> SSAValue:
    """How many of the first `size` elements are not zero: a size that is read while the program runs."""
    k = KernelBody("count_chosen", [number_element(data.type)], [i64], 1)
    s, block = k.scalars, k.index(_BLOCK)

    def count(begin: Scalar, length: Scalar) -> Scalar:
        def step(i: Scalar, acc: Sequence[Scalar]) -> Sequence[Scalar]:
            return [s.add(acc[0], s.int_to_int(s.to_bool(k.load(k.ins[0], k.add(begin, i))), i32, True))]

        (found,) = k.reduce(length, [s.const(0, i32)], step)
        return s.int_to_int(found, i64, False)

    whole = k.split(k.sizes[0], [k.index(1), block])
    (total,) = k.reduce(
        whole[0], [s.const(0, i64)], lambda b, acc: [s.add(acc[0], count(k.mul(b, block), block))]
    )
    k.store(s.add(total, count(k.mul(whole[0], block), whole[1])), k.outs[0], k.index(0))
    number = builder.empty(TensorType(i64, [1]), [builder.index(1)])
    (number,) = builder.launch(k, [data], [number], [size])
    return builder.read(number, 0)


def chosen_places(
    builder: KernelBuilder, data: SSAValue, dims: Sequence[SSAValue], count: SSAValue, type_: Attribute
) -> SSAValue:
    """Where the `count` elements are that are not zero: `[len(dims), count]` or `[count]`, as `type_` says.

    An element is written before it is known to be one of them, and overwritten if it is not: that is cheaper
    than a branch. The walk ends behind the last one, so nothing is written past the end.
    """
    rank = len(dims)
    k = KernelBody("chosen_places", [number_element(data.type)], [i64], rank + 1)
    s, (*sizes, total) = k.scalars, k.sizes
    one, row_size = k.index(1), sizes[-1]
    rows = k.index(1)
    for size in sizes[:-1]:
        rows = k.mul(rows, size)

    def one_row(row: Scalar, acc: Sequence[Scalar]) -> Sequence[Scalar]:
        begin, base = acc[0], k.mul(row, row_size)
        last = k.mul(k.index(rank - 1), total)

        def goes_on(state: Sequence[Scalar]) -> Scalar:
            return s.and_(s.cmp("lt", state[0], row_size), s.cmp("lt", state[1], total))

        def look(state: Sequence[Scalar]) -> Sequence[Scalar]:
            i, at = state
            k.store(k.from_index(i, i64), k.outs[0], k.add(last, at))
            chosen = s.to_bool(k.load(k.ins[0], k.add(base, i)))
            return [k.add(i, one), k.add(at, s.select(chosen, one, k.index(0)))]

        _, end = k.repeat([k.index(0), begin], goes_on, look)
        for d, place in enumerate(k.split(row, sizes[:-1])):
            with k.loop(end, start=begin, parallel=True) as at:
                k.store(k.from_index(place, i64), k.outs[0], k.add(k.mul(k.index(d), total), at))
        return [end]

    k.reduce(rows, [k.index(0)], one_row)
    rank_of_result = ranked(type_, "the places").get_num_dims()
    shape = [builder.index(rank), count][-rank_of_result:]
    return builder.launch(k, [data], [builder.empty(type_, shape)], [*dims, count])[0]


def pick_slices(
    builder: KernelBuilder,
    data: SSAValue,
    places: SSAValue,
    type_: Attribute,
    dims: tuple[Sequence[SSAValue], SSAValue, Sequence[SSAValue]],
    count: SSAValue,
) -> SSAValue:
    """The slices at the first `count` places of an axis, all of which exist.

    `dims` are those of the data before the axis, along it, and after it.
    """
    word = word_type(data.type)
    before, size, after = dims
    k = KernelBody("pick_slices", [word, i64], [word], 4)
    outer, length, picks, inner = k.sizes
    with k.task_nest(outer, picks) as (o, i):
        source = k.mul(k.at(o, length, k.to_index(k.load(k.ins[1], i))), inner)
        target = k.mul(k.at(o, picks, i), inner)
        with k.loop(inner, parallel=True) as j:
            k.store(k.load(k.ins[0], k.add(source, j)), k.outs[0], k.add(target, j))
    out = builder.empty(type_, [*before, count, *after])
    sizes = [builder.multiply(before), size, count, builder.multiply(after)]
    return builder.launch(k, [data, places], [out], sizes)[0]


PLACES = TensorType(i64, [DYNAMIC_INDEX])
"""The type of places along one dim."""
