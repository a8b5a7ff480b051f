"""How are the best elements of a row found? With a heap, or, if they are many, with lists that are sorted."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from xdsl.dialects import arith
from xdsl.dialects.builtin import i1, i32, i64
from xdsl.ir import Attribute

from onnxloom.conversion.onnx_to_loom.kernel_body import KernelBody
from onnxloom.conversion.onnx_to_loom.selection.heap import Heap
from onnxloom.conversion.onnx_to_loom.selection.ordered_keys import (
    key_width,
    ordered_key,
    packed_item,
    place_of_item,
)
from onnxloom.conversion.onnx_to_loom.selection.radix_sort import RadixSort
from onnxloom.dialects.onnx.semantics.scalars import Scalar, is_float, is_unsigned, storage_type

BLOCK = 32
"""Elements that are compared with the worst of the best together."""


class BestOfRows(ABC):
    """A kernel. An item is a key and a place in one word, or, where keys take a whole word, a place.

    Sizes: rows before the axis, its dim, elements behind it, how many are wanted.
    """

    def __init__(self, k: KernelBody, element: Attribute, largest: bool, is_last: bool):
        self.k, self.element, self.largest = k, element, largest
        self.is_packed = key_width(element) == 32
        self.data, (self.values, self.places, self.items, *keys) = k.ins[0], k.outs
        self.keys = keys[0] if keys else None
        self.outer, self.size, inner, self.wanted = k.sizes[:4]
        self.inner = k.index(1) if is_last else inner

    def write(self) -> None:
        k = self.k
        with k.task_nest(self.outer, self.inner) as (o, i):
            self.first = k.add(k.mul(k.mul(o, self.size), self.inner), i)
            begin = self._find()
            write = k.add(k.mul(k.mul(o, self.wanted), self.inner), i)
            with k.loop(self.wanted) as j:
                place = self._place(k.load(self.items, k.add(begin, j)))
                target = k.add(write, k.mul(j, self.inner))
                k.store(self._value(k.to_index(place)), self.values, target)
                k.store(place, self.places, target)

    @abstractmethod
    def _find(self) -> Scalar:
        """Where the items of the best elements of a row stand, in order."""

    def _value(self, place: Scalar) -> Scalar:
        k = self.k
        return k.load(self.data, k.add(self.first, k.mul(place, self.inner)))

    def _is_dull(self, at: Scalar, worst: Scalar) -> Scalar:
        """Whether nothing in the whole block of elements at `at` is better than `worst`."""
        k, s = self.k, self.k.scalars
        block = k.index(BLOCK)

        def compare(i: Scalar, acc: Sequence[Scalar]) -> Sequence[Scalar]:
            hit = self._may_be_better(self._value(k.add(at, i)), worst)
            return [s.or_(acc[0], s.int_to_int(hit, i32, True))]

        def whole_block() -> Sequence[Scalar]:
            (hits,) = k.reduce(block, [s.const(0, i32)], compare)
            return [s.cmp("eq", hits, s.const(0, i32))]

        return k.when(s.cmp("le", k.add(at, block), self.size), whole_block, [s.const(0, i1)])[0]

    def _may_be_better(self, value: Scalar, worst: Scalar) -> Scalar:
        """Holds for all elements better than `worst`, and for hardly any other but NaN."""
        s = self.k.scalars
        value, worst = s.widen(value), s.widen(worst)
        if is_float(value.type):
            return s.emit(arith.CmpfOp(value, worst, "ugt" if self.largest else "ult"))
        return s.cmp("gt" if self.largest else "lt", value, worst, is_unsigned(self.element))

    def _key(self, place: Scalar) -> Scalar:
        """Smaller is better."""
        key = ordered_key(self.k.scalars, self._value(place), self.element)
        return self.k.scalars.not_(key) if self.largest else key

    def _item(self, place: Scalar) -> Scalar:
        word = self.k.from_index(place, i64)
        return packed_item(self.k.scalars, self._key(place), word) if self.is_packed else word

    def _place(self, item: Scalar) -> Scalar:
        return place_of_item(self.k.scalars, item) if self.is_packed else item


class CollectedRows(BestOfRows):
    """What is better than the worst of the best goes to a list, of which the best remain once it is full.

    The last size is the length of the list, in which all elements of a short row find room.
    """

    def _find(self) -> Scalar:
        k, s, capacity = self.k, self.k.scalars, self.k.sizes[-1]
        begin = k.private(k.mul(capacity, k.index(2)))
        room = k.sub(capacity, k.index(BLOCK))

        def is_left(acc: Sequence[Scalar]) -> Scalar:
            return s.cmp("lt", acc[0], self.size)

        def fill_and_cut(acc: Sequence[Scalar]) -> Sequence[Scalar]:
            at, held, worst = acc
            takes_all = s.cmp("lt", held, self.wanted)

            def has_room(state: Sequence[Scalar]) -> Scalar:
                return s.and_(is_left(state), s.cmp("le", state[1], room))

            def take(state: Sequence[Scalar]) -> Sequence[Scalar]:
                return self._take(begin, (state[0], state[1]), worst, takes_all)

            at, count = k.repeat([at, held], has_room, take)
            self._make_items(begin, held, count)
            found = RadixSort(k, self.items, begin, capacity, self.keys).sort(count)
            kept = s.minimum(count, self.wanted)
            for buffer in (self.items, self.keys):
                if buffer is not None:
                    with k.loop(kept) as j:
                        k.store(k.load(buffer, k.add(found, j)), buffer, k.add(begin, j))
            last = self._place(k.load(self.items, k.sub(k.add(begin, kept), k.index(1))))
            return [at, kept, self._value(k.to_index(last))]

        none = s.const(0, storage_type(self.element))
        k.repeat([k.index(0), k.index(0), none], is_left, fill_and_cut)
        return begin

    def _make_items(self, begin: Scalar, first: Scalar, end: Scalar) -> None:
        """Items from the places that were listed last."""
        k = self.k
        with k.loop(end, start=first, parallel=True) as j:
            at = k.add(begin, j)
            place = k.to_index(k.load(self.items, at))
            k.store(self._item(place), self.items, at)
            if self.keys is not None:
                k.store(self._key(place), self.keys, at)

    def _take(
        self, begin: Scalar, state: tuple[Scalar, Scalar], worst: Scalar, takes_all: Scalar
    ) -> Sequence[Scalar]:
        """Goes on to the next block that may have something for the list, and behind it. Lists places."""
        k, s, (at, count) = self.k, self.k.scalars, state

        def is_dull(acc: Sequence[Scalar]) -> Scalar:
            return k.when(s.not_(takes_all), lambda: [self._is_dull(acc[0], worst)], [s.const(0, i1)])[0]

        (at,) = k.repeat([at], is_dull, lambda acc: [k.add(acc[0], k.index(BLOCK))])
        end = s.minimum(k.add(at, k.index(BLOCK)), self.size)

        def append(place: Scalar, acc: Sequence[Scalar]) -> Sequence[Scalar]:
            k.store(k.from_index(place, i64), self.items, k.add(begin, acc[0]))
            taken = s.or_(self._may_be_better(self._value(place), worst), takes_all)
            return [k.add(acc[0], s.select(taken, k.index(1), k.index(0)))]

        return [s.maximum(end, at), *k.reduce(end, [count], append, start=at)]


class HeapRows(BestOfRows):
    """A row is read once. The best so far are kept in a heap, whose first item is the worst of them; where
    nothing in a block of elements is better than that, the block costs one comparison per vector.
    """

    def _find(self) -> Scalar:
        k, s = self.k, self.k.scalars
        # Where none is wanted, no element is looked at: the heap has no first item.
        size = s.select(s.cmp("gt", self.wanted, k.index(0)), self.size, k.index(0))
        heap = Heap(k, self.items, k.private(self.wanted), lambda a, b: self._less(b, a))
        with k.loop(self.wanted) as j:
            heap.put(self._item(j), j)
        heap.order(self.wanted)
        self._scan(heap, size)
        heap.sort(self.wanted)
        return heap.begin

    def _scan(self, heap: Heap, size: Scalar) -> None:
        """Looks at the elements behind those that the heap began with."""
        k, s = self.k, self.k.scalars
        block = k.index(BLOCK)

        def pass_block(acc: Sequence[Scalar]) -> Sequence[Scalar]:
            return [k.add(acc[0], block)]

        def is_dull(acc: Sequence[Scalar]) -> Scalar:
            return self._is_dull(acc[0], self._worst(heap))

        def is_left(acc: Sequence[Scalar]) -> Scalar:
            return s.cmp("lt", acc[0], size)

        def next_blocks(acc: Sequence[Scalar]) -> Sequence[Scalar]:
            (at,) = k.repeat([acc[0]], is_dull, pass_block)
            end = s.minimum(k.add(at, block), size)
            k.reduce(end, [self._worst(heap)], lambda i, worst: self._offer(heap, i, worst[0]), start=at)
            return [end]

        begin = s.select(s.cmp("gt", self.wanted, k.index(0)), self.wanted, size)
        k.repeat([begin], is_left, next_blocks)

    def _offer(self, heap: Heap, place: Scalar, worst: Scalar) -> Sequence[Scalar]:
        """Gives an element to the heap; the worst value in it afterwards."""
        k = self.k

        def replace() -> Sequence[Scalar]:
            heap.sink(self._item(place), k.index(0), self.wanted)
            return [self._worst(heap)]

        def try_it() -> Sequence[Scalar]:
            better = self._less(self._item(place), heap.item(k.index(0)))
            return k.when(better, replace, [worst])

        return k.when(self._may_be_better(self._value(place), worst), try_it, [worst])

    def _worst(self, heap: Heap) -> Scalar:
        return self._value(self.k.to_index(self._place(heap.item(self.k.index(0)))))

    def _less(self, a: Scalar, b: Scalar) -> Scalar:
        k, s = self.k, self.k.scalars
        in_order = s.cmp("lt", a, b)
        if self.is_packed:
            return in_order
        first, second = (self._key(k.to_index(item)) for item in (a, b))
        return s.select(s.cmp("eq", first, second), in_order, s.cmp("lt", first, second))
