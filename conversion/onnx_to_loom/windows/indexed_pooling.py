"""How are the largest elements of windows found together with their places? Place by place, tap by tap.

Of equal elements the first counts; NaN is larger than all numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import i64
from xdsl.ir import Attribute

from onnxloom.conversion.onnx_to_loom.kernel_body import KernelBody
from onnxloom.conversion.onnx_to_loom.windows.pooling_kernels import Pool, WindowDim
from onnxloom.dialects.onnx.semantics.scalars import Scalar, compute_type, is_float, is_unsigned, storage_type


@dataclass
class IndexedPooling:
    """Writes the kernel; sizes: planes, then data dims, places, borders before."""

    k: KernelBody
    pool: Pool
    windows: Sequence[WindowDim]
    element: Attribute
    by_columns: bool
    """Places count down the columns of a plane first (`storage_order = 1`)."""

    def write(self) -> None:
        k, spatial = self.k, len(self.windows)
        groups = [k.sizes[1 + i * spatial : 1 + (i + 1) * spatial] for i in range(3)]
        self.sizes, self.places, self.before = groups
        size = k.index(1)
        for dim in self.sizes:
            size = k.mul(size, dim)
        with k.task_nest(k.sizes[0], self.places[0]) as (plane, first):
            self._places(k.mul(plane, size), k.at(plane, self.places[0], first), [first])

    def _places(self, plane: Scalar, target: Scalar, index: list[Scalar]) -> None:
        k, depth = self.k, len(index)
        if depth < len(self.windows):
            with k.loop(self.places[depth]) as o:
                self._places(plane, k.at(target, self.places[depth], o), [*index, o])
            return
        starts = [
            k.sub(k.mul(o, k.index(w.stride)), before)
            for o, w, before in zip(index, self.windows, self.before, strict=True)
        ]
        storage = storage_type(self.element)
        none = [k.scalars.const(self.pool.initial, compute_type(storage)), k.index(-1)]
        best, place = self._taps(plane, starts, [], none)
        k.store(k.scalars.float_to(best, storage) if is_float(storage) else best, k.outs[0], target)
        k.store(k.from_index(place, i64), k.outs[1], target)

    def _taps(
        self, plane: Scalar, starts: list[Scalar], at: list[Scalar], found: Sequence[Scalar]
    ) -> Sequence[Scalar]:
        k, s, depth = self.k, self.k.scalars, len(at)
        if depth == len(starts):
            return self._larger(plane, at, found)
        window = self.windows[depth]

        def tap(i: Scalar, acc: Sequence[Scalar]) -> Sequence[Scalar]:
            place = k.add(starts[depth], k.mul(i, k.index(window.dilation)))
            inside = s.and_(s.cmp("ge", place, k.index(0)), s.cmp("lt", place, self.sizes[depth]))
            return k.when(inside, lambda: self._taps(plane, starts, [*at, place], acc), acc)

        return k.reduce(k.index(window.kernel), found, tap)

    def _larger(self, plane: Scalar, at: list[Scalar], found: Sequence[Scalar]) -> Sequence[Scalar]:
        k, s = self.k, self.k.scalars
        offset = self._flat(at, self.sizes)
        value = s.widen(k.load(k.ins[0], k.add(plane, offset)))
        larger = s.cmp("gt", value, found[0], is_unsigned(self.element))
        if is_float(value.type):
            larger = s.or_(larger, s.and_(s.isnan(value), s.not_(s.isnan(found[0]))))
        taken = s.or_(larger, s.cmp("lt", found[1], k.index(0)))
        if self.by_columns:
            offset = self._flat(at[::-1], self.sizes[::-1])
        return [s.select(taken, value, found[0]), s.select(taken, k.add(plane, offset), found[1])]

    def _flat(self, at: Sequence[Scalar], sizes: Sequence[Scalar]) -> Scalar:
        offset = at[0]
        for place, size in zip(at[1:], sizes[1:], strict=True):
            offset = self.k.at(offset, size, place)
        return offset
