"""Unique: elements, or slices along an axis, each once. How many there are is read while the program runs.

Places are sorted by what stands there. Equal neighbours are one group, which its first place stands for.
Tables as long as the axis are filled, and cut to the number of groups once that is known.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import DYNAMIC_INDEX, TensorType, i1, i64
from xdsl.ir import Attribute, SSAValue

from onnxloom.conversion.onnx_to_loom.builder import KernelBuilder, number_element, ranked
from onnxloom.conversion.onnx_to_loom.kernel_body import KernelBody
from onnxloom.conversion.onnx_to_loom.moving.copying import word_type
from onnxloom.conversion.onnx_to_loom.registry import Inputs, lowering
from onnxloom.conversion.onnx_to_loom.selection.chosen_places import pick_slices
from onnxloom.conversion.onnx_to_loom.selection.merge_sort import merge_sort
from onnxloom.conversion.onnx_to_loom.selection.ordered_keys import (
    key_width,
    ordered_key,
    packed_item,
    place_of_item,
)
from onnxloom.conversion.onnx_to_loom.selection.radix_sort import RadixSort
from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.access import attr, int_attr
from onnxloom.dialects.onnx.semantics.scalars import Scalar

_LIST = TensorType(i64, [DYNAMIC_INDEX])


@lowering(onnx.UniqueOp)
def lower_unique(op: onnx.UniqueOp, inputs: Inputs, builder: KernelBuilder) -> Sequence[SSAValue]:
    """What is there, where it first is, which one each is, and how often."""
    (data,) = inputs
    assert data is not None
    word_type(data.type)
    number_element(data.type)
    dims, axis = builder.dims(data), 0
    if attr(op, "axis") is None:
        dims = [builder.multiply(dims)]
    else:
        axis = int_attr(op, "axis") % len(dims)
    size = dims[axis]
    sizes = [builder.multiply(dims[:axis]), size, builder.multiply(dims[axis + 1 :])]
    items = builder.empty(_LIST, [builder.multiply([size, builder.index(2)])])
    tables = [builder.empty(_LIST, [size]) for _ in range(3)]
    number = builder.empty(TensorType(i64, [1]), [builder.index(1)])
    is_flat, element = attr(op, "axis") is None, ranked(data.type, "the data").element_type
    keys = [builder.empty(_LIST, [builder.multiply([size, builder.index(2)])])]
    outs = [items, *tables, number, *(keys if is_flat and key_width(element) == 64 else [])]
    k = builder.kernel("unique", [data], [value.type for value in outs], 3)
    _Groups(k, element, is_flat, int_attr(op, "sorted", 1) != 0).write()
    _, first, group, count, number, *_ = builder.launch(k, [data], outs, sizes)
    found = builder.read(number, 0)
    values = pick_slices(builder, data, first, op.Y.type, (dims[:axis], size, dims[axis + 1 :]), found)
    return [values, builder.view(first, [found]), group, builder.view(count, [found])]


class _Groups:
    """The kernel. An item is a key and a place in one word, or a place."""

    def __init__(self, k: KernelBody, element: Attribute, is_flat: bool, is_sorted: bool):
        self.k, self.element, self.is_flat, self.is_sorted = k, element, is_flat, is_sorted
        self.is_packed = is_flat and key_width(element) == 32
        self.data, (self.items, self.first, self.group, self.count, self.number, *keys) = k.ins[0], k.outs
        self.keys = keys[0] if keys else None
        self.outer, self.size, self.inner = k.sizes

    def write(self) -> None:
        k, s = self.k, self.k.scalars
        zero = k.index(0)
        with k.loop(self.size, parallel=True) as i:
            word = k.from_index(i, i64)
            item = packed_item(s, self._key(i, zero), word) if self.is_packed else word
            k.store(item, self.items, i)
            if self.keys is not None:
                k.store(self._key(i, zero), self.keys, i)
        if self.is_flat:
            begin = RadixSort(k, self.items, zero, self.size, self.keys).sort(self.size)
        else:
            begin = merge_sort(k, self.items, zero, self.size, self.size, self._less)

        def visit(i: Scalar, acc: Sequence[Scalar]) -> Sequence[Scalar]:
            place = self._place(k.load(self.items, k.add(begin, i)))
            before = self._place(k.load(self.items, k.add(begin, s.maximum(k.sub(i, k.index(1)), zero))))
            is_new = s.or_(s.cmp("eq", i, zero), self._differ(before, place))
            found = k.add(acc[0], s.select(is_new, k.index(1), zero))
            group = k.sub(found, k.index(1))
            k.store(k.from_index(group, i64), self.group, place)
            with k.branch(is_new) as (fresh, _), k.inside(fresh):
                k.store(k.from_index(place, i64), self.first, group)
                k.store(s.const(0, i64), self.count, group)
            k.store(s.add(k.load(self.count, group), s.const(1, i64)), self.count, group)
            return [found]

        (found,) = k.reduce(self.size, [zero], visit)
        k.store(k.from_index(found, i64), self.number, zero)
        if not self.is_sorted:
            self._by_place(found)

    def _by_place(self, found: Scalar) -> None:
        """Numbers the groups in the order of their first places; the items are not needed any more."""
        k, s = self.k, self.k.scalars
        with k.loop(found, parallel=True) as g:
            k.store(k.load(self.count, g), self.items, k.add(self.size, g))

        def visit(place: Scalar, acc: Sequence[Scalar]) -> Sequence[Scalar]:
            old = k.to_index(k.load(self.group, place))
            is_first = s.cmp("eq", k.to_index(k.load(self.first, old)), place)
            with k.branch(is_first) as (first, _), k.inside(first):
                k.store(k.from_index(acc[0], i64), self.items, old)
                k.store(k.load(self.items, k.add(self.size, old)), self.count, acc[0])
            return [k.add(acc[0], s.select(is_first, k.index(1), k.index(0)))]

        k.reduce(self.size, [k.index(0)], visit)

        def renumber(place: Scalar, acc: Sequence[Scalar]) -> Sequence[Scalar]:
            number = k.load(self.items, k.to_index(k.load(self.group, place)))
            k.store(number, self.group, place)
            is_next = s.cmp("eq", k.to_index(number), acc[0])
            with k.branch(is_next) as (first, _), k.inside(first):
                k.store(k.from_index(place, i64), self.first, acc[0])
            return [k.add(acc[0], s.select(is_next, k.index(1), k.index(0)))]

        k.reduce(self.size, [k.index(0)], renumber)

    def _place(self, item: Scalar) -> Scalar:
        return self.k.to_index(place_of_item(self.k.scalars, item) if self.is_packed else item)

    def _key(self, place: Scalar, element: Scalar) -> Scalar:
        """The key of one element of the slice at a place."""
        k = self.k
        at = place
        if not self.is_flat:
            outer, inner = k.split(element, [self.outer, self.inner])
            at = k.at(k.at(outer, self.size, place), self.inner, inner)
        return ordered_key(k.scalars, k.load(self.data, at), self.element)

    def _less(self, a: Scalar, b: Scalar) -> Scalar:
        return self._compare(self._place(a), self._place(b), "lt")

    def _differ(self, a: Scalar, b: Scalar) -> Scalar:
        return self._compare(a, b, "ne")

    def _compare(self, a: Scalar, b: Scalar, predicate: str) -> Scalar:
        """Compares the first elements in which two slices differ; slices that do not differ are neither."""
        k, s, zero = self.k, self.k.scalars, self.k.index(0)
        if self.is_flat:
            return s.cmp(predicate, self._key(a, zero), self._key(b, zero))
        length = k.mul(self.outer, self.inner)

        def are_equal(acc: Sequence[Scalar]) -> Scalar:
            def look() -> Sequence[Scalar]:
                return [s.cmp("eq", self._key(a, acc[0]), self._key(b, acc[0]))]

            return k.when(s.cmp("lt", acc[0], length), look, [s.const(0, i1)])[0]

        (at,) = k.repeat([zero], are_equal, lambda acc: [k.add(acc[0], k.index(1))])

        def decide() -> Sequence[Scalar]:
            return [s.cmp(predicate, self._key(a, at), self._key(b, at))]

        return k.when(s.cmp("lt", at, length), decide, [s.const(0, i1)])[0]
