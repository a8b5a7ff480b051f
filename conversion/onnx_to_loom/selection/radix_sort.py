"""How are many items sorted inside a kernel? By the bytes of their keys, the lowest first.

The sort is stable. A byte that is the same in all keys costs no pass, so that small numbers cost few.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from xdsl.dialects import arith
from xdsl.dialects.builtin import i32, i64
from xdsl.ir import SSAValue

from onnxloom.conversion.onnx_to_loom.kernel_body import KernelBody
from onnxloom.dialects.onnx.semantics.scalars import Scalar

_VALUES: Final = 256


@dataclass(frozen=True)
class RadixSort:
    """A sort of items that are i64 words. Each buffer has room for two times `capacity` of them.

    The key is the upper half of the item, or, where there are `keys`, the word there at the same place.
    """

    k: KernelBody
    items: SSAValue
    begin: Scalar
    capacity: Scalar
    keys: SSAValue | None = None

    @property
    def _passes(self) -> int:
        return 4 if self.keys is None else 8

    def sort(self, count: Scalar) -> Scalar:
        """Sorts the `count` items at `begin`; gives where they then stand, there or `capacity` on."""
        k, s = self.k, self.k.scalars
        size = k.index(_VALUES * self._passes)
        table = k.scratch(i32, _VALUES * self._passes)
        with k.loop(size, parallel=True) as i:
            k.store(s.const(0, i32), table, i)
        with k.loop(count) as i:
            word = self._key_word(k.add(self.begin, i))
            for number in range(self._passes):
                at = self._slot(word, number)
                k.store(s.add(k.load(table, at), s.const(1, i32)), table, at)
        halves = self.begin, k.add(self.begin, self.capacity)
        for number in range(self._passes):
            halves = self._pass(table, halves, count, number)
        return halves[0]

    def _key_word(self, at: Scalar) -> Scalar:
        return self.k.load(self.items if self.keys is None else self.keys, at)

    def _slot(self, word: Scalar, number: int) -> Scalar:
        """Where the table of a pass counts the keys that have the same byte as this one."""
        k, s = self.k, self.k.scalars
        first_bit = 8 * number + (32 if self.keys is None else 0)
        byte = k.to_index(
            s.and_(s.emit(arith.ShRUIOp(word, s.const(first_bit, i64))), s.const(_VALUES - 1, i64))
        )
        if number == self._passes - 1:  # keys have a sign
            byte = s.emit(arith.XOrIOp(byte, k.index(_VALUES // 2)))
        return k.add(byte, k.index(_VALUES * number))

    def _pass(
        self, table: SSAValue, halves: tuple[Scalar, Scalar], count: Scalar, number: int
    ) -> tuple[Scalar, Scalar]:
        """Sorts by one byte; gives the half where the items are, then the other one."""
        k, s, (source, target) = self.k, self.k.scalars, halves
        zero, total = s.const(0, i32), k.from_index(count, i32)

        def place(i: Scalar, acc: Sequence[Scalar]) -> Sequence[Scalar]:
            at = k.add(k.index(_VALUES * number), i)
            here = k.load(table, at)
            k.store(acc[0], table, at)
            is_all = s.int_to_int(s.cmp("eq", here, total), i32, True)
            return [s.add(acc[0], here), s.or_(acc[1], is_all)]

        _, same = k.reduce(k.index(_VALUES), [zero, zero], place)
        differ = s.cmp("eq", same, zero)
        with k.loop(s.select(differ, count, k.index(0))) as i:
            read = k.add(source, i)
            item, word = k.load(self.items, read), self._key_word(read)
            slot = self._slot(word, number)
            at = k.load(table, slot)
            k.store(s.add(at, s.const(1, i32)), table, slot)
            write = k.add(target, k.to_index(at))
            k.store(item, self.items, write)
            if self.keys is not None:
                k.store(word, self.keys, write)
        return s.select(differ, target, source), s.select(differ, source, target)
