"""How does a kernel keep the best items seen so far? In a heap: the worst of them stands first.

Items are i64 words of some total order, in which the worst is the largest.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xdsl.dialects import arith
from xdsl.dialects.builtin import i1
from xdsl.ir import SSAValue

from onnxloom.conversion.onnx_to_loom.kernel_body import KernelBody
from onnxloom.dialects.onnx.semantics.scalars import Scalar


@dataclass(frozen=True)
class Heap:
    """A heap in `items` from `begin` on."""

    k: KernelBody
    items: SSAValue
    begin: Scalar
    worse: Callable[[Scalar, Scalar], Scalar]
    """Whether the first item is worse than the second, as an i1."""

    def item(self, at: Scalar) -> Scalar:
        return self.k.load(self.items, self.k.add(self.begin, at))

    def put(self, item: Scalar, at: Scalar) -> None:
        self.k.store(item, self.items, self.k.add(self.begin, at))

    def sink(self, item: Scalar, hole: Scalar, count: Scalar) -> None:
        """Puts an item where nothing worse is below: at `hole` or further down in a heap of `count`.

        Where `count` is 0, the item stays at `hole`.
        """
        k, s = self.k, self.k.scalars
        one = k.index(1)
        last = s.maximum(k.sub(count, one), k.index(0))

        def go_down(acc: Sequence[Scalar]) -> Sequence[Scalar]:
            left = k.add(k.add(acc[0], acc[0]), one)
            first, second = s.minimum(left, last), s.minimum(k.add(left, one), last)
            a, b = self.item(first), self.item(second)
            takes_b = self.worse(b, a)
            child, value = s.select(takes_b, second, first), s.select(takes_b, b, a)
            goes_on = s.and_(s.cmp("lt", left, count), self.worse(value, item))
            self.put(s.select(goes_on, value, item), acc[0])
            return [s.select(goes_on, child, acc[0]), goes_on]

        k.repeat([hole, s.const(1, i1)], lambda acc: acc[1], go_down)

    def order(self, count: Scalar) -> None:
        """Makes a heap of any `count` items."""
        k = self.k
        half = k.scalars.emit(arith.ShRUIOp(count, k.index(1)))
        with k.loop(half) as i:
            at = k.sub(k.sub(half, k.index(1)), i)
            self.sink(self.item(at), at, count)

    def sort(self, count: Scalar) -> None:
        """Ends the heap: leaves its items in order, the best first."""
        k = self.k
        with k.loop(count, start=k.index(1)) as i:
            end = k.sub(count, i)
            last = self.item(end)
            self.put(self.item(k.index(0)), end)
            self.sink(last, k.index(0), end)
