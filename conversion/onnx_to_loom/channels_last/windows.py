"""How does a window slide over a channels-last image? Tile by tile, in vectors of channels.

A tile is some neighbouring places of one line of the result, times one vector of channels: all its sums stay
in registers, and a column that several windows have in common is loaded once. Windows are clipped to the
image instead of copying it into a padded one: along the leading dims by the bounds of the loops over taps,
along the last one by tiles of their own, which read a border value beside the image.

A task is some lines times some vectors of channels, so that lines are still in the L1 cache when the
windows of the next line read them again.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from xdsl.dialects import arith
from xdsl.ir import SSAValue

from onnxloom.conversion.onnx_to_loom.channels_last.tile_shapes import TileShape
from onnxloom.conversion.onnx_to_loom.kernel_body import KernelBody
from onnxloom.dialects.loom.conv_space import Window
from onnxloom.dialects.onnx.semantics.scalars import Scalar

LINES = 8
"""Lines of the result per task."""

VECTORS = 4
"""Vectors of channels per task."""


@dataclass(frozen=True)
class Taps:
    """The taps of a window inside of the image along one dim: `first` to `last` (exclusive)."""

    first: Scalar
    last: Scalar
    start: Scalar
    """Place in the image of tap 0; negative in the border."""


@dataclass(frozen=True)
class Line:
    """One line of the result."""

    index: Sequence[Scalar]
    """Image, then the place along each leading spatial dim."""
    number: Scalar
    """The same, row-major."""
    taps: Sequence[Taps]
    """Per leading spatial dim."""
    source: Scalar
    """Offset in the image of taps 0 of the leading dims, of column 0 and channel 0."""
    target: Scalar
    """Offset in the result of place 0 and channel 0."""


@dataclass(frozen=True)
class Point:
    """One element of the result."""

    line: Line
    place: Scalar
    """Along the last spatial dim."""
    channel: Scalar
    """Differs from lane to lane."""


@dataclass(frozen=True)
class Reduction:
    """What is computed of a window; `Scalar` factors and values are of the type of the sums."""

    initial: Callable[[], Scalar]
    border: Callable[[], Scalar]
    """What lies beside the image."""
    factor: Callable[[Scalar, Scalar], Scalar | None]
    """(number of the tap, channel) -> what belongs to the tap."""
    combine: Callable[[Scalar, Scalar | None, Scalar], Scalar]
    """(accumulated, factor, element) -> accumulated."""
    finish: Callable[[Point, Scalar], Scalar]
    """(place in the result, accumulated) -> element of the result."""


class WindowTiles:
    """Writes the loops; `sizes` are `WindowSizes.arguments` in a kernel whose first input is the image."""

    def __init__(
        self,
        k: KernelBody,
        window: Window,
        sizes: Sequence[Scalar],
        shape: TileShape,
        source: SSAValue | None = None,
        target: SSAValue | None = None,
    ):
        """`source` and `target` are the first input and output of the kernel unless told otherwise."""
        rank = window.rank
        self.k, self.window, self.shape = k, window, shape
        self.source = k.ins[0] if source is None else source
        self.target = k.outs[0] if target is None else target
        self.batch, self.channels = sizes[0], sizes[1 + rank]
        self.spatial, self.places = sizes[1 : 1 + rank], sizes[2 + rank : 2 + 2 * rank]
        self.before = sizes[2 + 2 * rank : 2 + 3 * rank]
        self.after = sizes[2 + 3 * rank : 2 + 4 * rank]
        self.strides: list[Scalar] = [self.channels]
        for size in reversed(self.spatial[1:]):
            self.strides.insert(0, k.mul(self.strides[0], size))
        self.plane = k.mul(self.strides[0], self.spatial[0])

    def write(self, reduction: Reduction) -> None:
        """The whole kernel."""
        k = self.k
        vectors = -(-self.shape.channels // self.shape.lanes)
        chunks = k.index(-(-vectors // VECTORS))
        lines = self.batch
        for places in self.places[:-1]:
            lines = k.mul(lines, places)
        blocks = k.scalars.emit(arith.CeilDivSIOp(lines, k.index(LINES)))
        with k.tasks(k.mul(blocks, chunks)) as task:
            first = k.mul(k.scalars.emit(arith.DivSIOp(task, chunks)), k.index(LINES))
            last = k.scalars.minimum(k.add(first, k.index(LINES)), lines)
            vector = k.mul(k.remainder(task, chunks), k.index(VECTORS))
            end = k.scalars.minimum(k.add(vector, k.index(VECTORS)), k.index(vectors))
            with k.loop(last, start=first) as number:
                self.write_line(reduction, self.line(number), (vector, end))

    def line(self, number: Scalar) -> Line:
        """A line by its number."""
        k = self.k
        index: list[Scalar] = []
        rest = number
        for places in reversed(self.places[:-1]):
            index.insert(0, k.remainder(rest, places))
            rest = k.scalars.emit(arith.DivSIOp(rest, places))
        taps = [self.taps(i, place) for i, place in enumerate(index)]
        source = k.mul(rest, self.plane)
        for axis, stride in zip(taps, self.strides[:-1], strict=True):
            source = k.add(source, k.mul(axis.start, stride))
        target = k.mul(k.mul(number, self.places[-1]), k.index(self.shape.channels))
        return Line([rest, *index], number, taps, source, target)

    def taps(self, axis: int, place: Scalar) -> Taps:
        """The taps of the window at a place along one spatial dim."""
        k, s = self.k, self.k.scalars
        start = k.sub(k.mul(place, k.index(self.window.strides[axis])), self.before[axis])
        zero, kernel = k.index(0), k.index(self.window.kernel[axis])
        first = s.minimum(s.maximum(self._ceil(k.sub(zero, start), axis), zero), kernel)
        last = s.minimum(self._ceil(k.sub(self.spatial[axis], start), axis), kernel)
        return Taps(first, s.maximum(last, first), start)

    def _ceil(self, value: Scalar, axis: int) -> Scalar:
        """`value` / dilation, rounded up; 0 or less where `value` is."""
        k, dilation = self.k, self.window.dilations[axis]
        if dilation == 1:
            return value
        up = k.scalars.maximum(k.add(value, k.index(dilation - 1)), k.index(0))
        return k.scalars.emit(arith.DivSIOp(up, k.index(dilation)))

    def write_line(self, reduction: Reduction, line: Line, vectors: tuple[Scalar, Scalar]) -> None:
        """All tiles of a line and some vectors; those with all windows inside of the image need no checks."""
        k, s = self.k, self.k.scalars
        places, width = self.places[-1], k.index(self.shape.width)
        reach = (self.shape.width - 1) * self.window.strides[-1] + self.window.extents[-1]
        with k.loop(s.emit(arith.CeilDivSIOp(places, width))) as tile:
            place = k.mul(tile, width)
            start = k.sub(k.mul(place, k.index(self.window.strides[-1])), self.before[-1])
            inside = s.and_(
                s.and_(s.cmp("ge", start, k.index(0)), s.cmp("le", k.add(place, width), places)),
                s.cmp("le", k.add(start, k.index(reach)), self.spatial[-1]),
            )
            with k.branch(inside) as blocks:
                for block, checked in zip(blocks, (False, True), strict=True):
                    with k.inside(block), self._vectors(vectors) as channel:
                        _Tile(self, reduction, line, place, start, channel, checked).write()

    @contextmanager
    def _vectors(self, bounds: tuple[Scalar, Scalar]) -> Generator[Scalar]:
        """A loop over the first channels of vectors; the last one overlaps the one before if it must."""
        k, lanes = self.k, self.shape.lanes
        with k.loop(bounds[1], start=bounds[0]) as i:
            start = k.mul(i, k.index(lanes))
            whole = self.shape.channels % lanes == 0
            yield start if whole else k.scalars.minimum(start, k.index(self.shape.channels - lanes))


@dataclass(frozen=True)
class _Tile:
    """Writes one tile; the edges of the image are checked or do not matter."""

    tiles: WindowTiles
    reduction: Reduction
    line: Line
    place: Scalar
    start: Scalar
    """Column of the first tap of the first place."""
    first_channel: Scalar
    checked: bool

    def write(self) -> None:
        t, k, s = self.tiles, self.tiles.k, self.tiles.k.scalars
        columns = self._columns()
        with k.lanes(t.shape.lanes) as lane:
            channel = k.add(self.first_channel, lane)
            source = k.add(self.line.source, self._input_channel(lane))
            sums = self._all(source, channel, [self.reduction.initial()] * t.shape.width, columns)
            places = [k.add(self.place, k.index(i)) for i in range(t.shape.width)]
            points = [Point(self.line, place, channel) for place in places]
            if not self.checked or t.shape.full:
                # All stores behind all loads: what the places have in common is loaded once.
                done = [
                    self.reduction.finish(point, total) for point, total in zip(points, sums, strict=True)
                ]
                for place, value in zip(places, done, strict=True):
                    k.store(value, t.target, self._target(place, channel))
                return
            for point, total in zip(points, sums, strict=True):
                with k.branch(s.cmp("lt", point.place, t.places[-1])) as (there, _), k.inside(there):
                    at = self._target(point.place, channel)
                    k.store(self.reduction.finish(point, total), t.target, at)

    def _target(self, place: Scalar, channel: Scalar) -> Scalar:
        t, k = self.tiles, self.tiles.k
        return k.add(k.add(self.line.target, k.mul(place, k.index(t.shape.channels))), channel)

    def _columns(self) -> dict[int, tuple[Scalar, Scalar | None]]:
        """Per column of the tile that a tap reads: its offset, and whether it exists (None: it does)."""
        t, k, s = self.tiles, self.tiles.k, self.tiles.k.scalars
        window = t.window
        found: dict[int, tuple[Scalar, Scalar | None]] = {}
        pairs = itertools.product(range(t.shape.width), range(window.kernel[-1]))
        for column in sorted({p * window.strides[-1] + i * window.dilations[-1] for p, i in pairs}):
            at, there = k.add(self.start, k.index(column)), None
            if self.checked and (t.shape.beside is None or column in t.shape.beside):
                there = s.and_(s.cmp("ge", at, k.index(0)), s.cmp("lt", at, t.spatial[-1]))
                at = s.select(there, at, k.index(0))
            found[column] = k.mul(at, t.channels), there
        return found

    def _input_channel(self, lane: Scalar) -> Scalar:
        """The channel a lane reads; vectors start at multiples of the lanes and of the multiplier."""
        t, k = self.tiles, self.tiles.k
        if t.shape.multiplier == 1:
            return k.add(self.first_channel, lane)

        def divided(value: Scalar) -> Scalar:
            return k.scalars.emit(arith.DivSIOp(value, k.index(t.shape.multiplier)))

        if t.shape.lanes % t.shape.multiplier == 0:
            return k.add(divided(self.first_channel), divided(lane))
        if t.shape.multiplier % t.shape.lanes == 0:
            return divided(self.first_channel)
        return divided(k.add(self.first_channel, lane))

    def _all(
        self,
        source: Scalar,
        channel: Scalar,
        sums: Sequence[Scalar],
        columns: dict[int, tuple[Scalar, Scalar | None]],
    ) -> Sequence[Scalar]:
        """Combines all taps; none of an image without columns, where column 0 cannot be read instead."""
        t, k = self.tiles, self.tiles.k
        if not self.checked or t.shape.beside is not None:
            return self._sums(0, source, k.index(0), channel, sums, columns)
        once = k.scalars.minimum(t.spatial[-1], k.index(1))
        return k.reduce(once, sums, lambda _, acc: self._sums(0, source, k.index(0), channel, acc, columns))

    def _sums(
        self,
        axis: int,
        source: Scalar,
        tap: Scalar,
        channel: Scalar,
        sums: Sequence[Scalar],
        columns: dict[int, tuple[Scalar, Scalar | None]],
    ) -> Sequence[Scalar]:
        """Combines the taps from dim `axis` on."""
        t, k = self.tiles, self.tiles.k
        tap = k.mul(tap, k.index(t.window.kernel[axis]))
        if axis == t.window.rank - 1:
            return self._row(source, tap, channel, sums, columns)
        step = k.mul(k.index(t.window.dilations[axis]), t.strides[axis])
        return k.reduce(
            self.line.taps[axis].last,
            sums,
            lambda i, acc: self._sums(
                axis + 1, k.add(source, k.mul(i, step)), k.add(tap, i), channel, acc, columns
            ),
            start=self.line.taps[axis].first,
        )

    def _row(
        self,
        source: Scalar,
        tap: Scalar,
        channel: Scalar,
        sums: Sequence[Scalar],
        columns: dict[int, tuple[Scalar, Scalar | None]],
    ) -> Sequence[Scalar]:
        """Combines one row of taps with all places."""
        t, k, s = self.tiles, self.tiles.k, self.tiles.k.scalars
        window = t.window
        loaded: dict[int, Scalar] = {}
        result = list(sums)
        for i in range(window.kernel[-1]):
            factor = self.reduction.factor(k.add(tap, k.index(i)), channel)
            for p in range(t.shape.width):
                column = p * window.strides[-1] + i * window.dilations[-1]
                if column not in loaded:
                    at, there = columns[column]
                    value = s.widen(k.load(t.source, k.add(at, source)))
                    loaded[column] = (
                        value if there is None else s.select(there, value, self.reduction.border())
                    )
                result[p] = self.reduction.combine(result[p], factor, loaded[column])
        return result
