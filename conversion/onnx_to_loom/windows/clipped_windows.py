"""How are windows reduced that are longer than the data? Place by place, over the taps there are.

The data have no border: windows start inside of them and may end behind them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce

from onnxloom.conversion.onnx_to_loom.kernel_body import KernelBody
from onnxloom.dialects.loom.conv_space import Window
from onnxloom.dialects.onnx.semantics.scalars import Scalar


def clips(window: Window, sizes: Sequence[int | None]) -> bool:
    """Whether a window is known to be longer than one of these dims."""
    return any(size is not None and size < extent for size, extent in zip(sizes, window.extents, strict=True))


def may_clip(window: Window, sizes: Sequence[int | None]) -> bool:
    """Whether a window that clips may be longer than one of these dims that is not known."""
    pairs = zip(sizes, window.strides, window.extents, strict=True)
    return window.clips and any(size is None and stride > 1 and extent > 1 for size, stride, extent in pairs)


@dataclass(frozen=True)
class ClippedWindows:
    """The places of one plane; sizes are index arguments of the kernel."""

    k: KernelBody
    window: Window
    sizes: Sequence[Scalar]
    """Dims of the data."""
    places: Sequence[Scalar]
    """Dims of the result."""
    initial: Scalar
    combine: Callable[[Scalar, Scalar], Scalar]
    """(accumulated, element as it is loaded) -> accumulated."""
    store: Callable[[Scalar, Sequence[Scalar], Scalar], None]
    """(accumulated, place along each dim, the same as one number) -> None."""

    def write(self, source: Scalar, otherwise: Callable[[], None]) -> None:
        """Reduces all windows of the plane at offset `source`; `otherwise` does where all of them fit."""
        with self.k.branch(self._all_fit()) as (whole, clipped):
            with self.k.inside(whole):
                otherwise()
            with self.k.inside(clipped):
                self._places([], self.k.index(0), source)

    def _all_fit(self) -> Scalar:
        s = self.k.scalars
        pairs = zip(self.sizes, self.window.extents, strict=True)
        return reduce(s.and_, [s.cmp("ge", size, self.k.index(extent)) for size, extent in pairs])

    def _places(self, index: list[Scalar], point: Scalar, source: Scalar) -> None:
        k, depth = self.k, len(index)
        if depth == self.window.rank:
            self.store(self._taps(0, k.index(0), index, source, [self.initial])[0], index, point)
            return
        with k.loop(self.places[depth]) as place:
            self._places([*index, place], k.at(point, self.places[depth], place), source)

    def _taps(
        self, depth: int, offset: Scalar, index: Sequence[Scalar], source: Scalar, found: Sequence[Scalar]
    ) -> Sequence[Scalar]:
        """Combines the taps from dim `depth` on; `offset` counts elements of the dims before."""
        k, s, window = self.k, self.k.scalars, self.window
        if depth == window.rank:
            return [self.combine(found[0], k.load(k.ins[0], k.add(source, offset)))]
        start, size = k.mul(index[depth], k.index(window.strides[depth])), self.sizes[depth]

        def tap(i: Scalar, acc: Sequence[Scalar]) -> Sequence[Scalar]:
            at = k.add(start, k.mul(i, k.index(window.dilations[depth])))
            below = k.at(offset, size, at)
            return k.when(
                s.cmp("lt", at, size), lambda: self._taps(depth + 1, below, index, source, acc), acc
            )

        return k.reduce(k.index(window.kernel[depth]), found, tap)
