"""How is a sliding window reduced? `BlockPooling` for any window, `SweptPooling` for one of few taps.

Blocks accumulate one row of places at a time in scratch memory, one window column after the other, so that
the inner loop runs along memory and needs no bounds check. A sweep combines all taps of whole vectors of
neighbouring places, read from a padded image, or from the data where windows never leave them. Whether
they do may be known only at run time (`may_clip`): then a kernel has a second loop, place by place.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xdsl.dialects import arith
from xdsl.ir import Attribute

from onnxloom.conversion.onnx_to_loom.kernel_body import KernelBody
from onnxloom.conversion.onnx_to_loom.windows.clipped_windows import ClippedWindows
from onnxloom.conversion.onnx_to_loom.windows.window_sweep import Lane, WindowSweep, plane_tasks
from onnxloom.dialects.loom.conv_space import Window
from onnxloom.dialects.onnx.semantics.scalars import Scalar, Scalars, compute_type, is_float

BLOCK = 256
"""Places of one row that accumulate at once in scratch memory."""


@dataclass(frozen=True)
class Pool:
    """What is computed of a window."""

    name: str
    initial: float
    combine: Callable[[Scalars, Scalar, Scalar], Scalar]
    finish: Callable[[Scalars, Scalar, Scalar], Scalar]
    """(scalars, accumulated, number of elements as index) -> result before rounding."""
    count_padding: bool = False


@dataclass(frozen=True)
class WindowDim:
    """The window along one spatial dim."""

    kernel: int
    stride: int
    dilation: int
    before: int
    after: int


@dataclass(frozen=True)
class WindowCounts:
    """How many elements of a window count; sizes are index arguments of the kernel."""

    k: KernelBody
    windows: Sequence[WindowDim]
    sizes: Sequence[Scalar]
    before: Sequence[Scalar]
    after: Sequence[Scalar]
    count_padding: bool

    def start(self, d: int, place: Scalar) -> Scalar:
        """Where the window at a place along dim `d` starts; negative in the border."""
        return self.k.sub(self.k.mul(place, self.k.index(self.windows[d].stride)), self.before[d])

    def of_starts(self, starts: list[Scalar]) -> Scalar:
        k = self.k
        count = k.index(1)
        for d, start in enumerate(starts):
            count = k.mul(count, self.count(d, start))
        return count

    def count(self, d: int, start: Scalar) -> Scalar:
        """Elements of the window at `start` along dim `d` that count."""
        k, s, window = self.k, self.k.scalars, self.windows[d]
        kernel, dilation, zero = k.index(window.kernel), k.index(window.dilation), k.index(0)
        limit = k.add(self.sizes[d], self.after[d]) if self.count_padding else self.sizes[d]
        high = s.minimum(ceil_div(k, k.sub(limit, start), dilation), kernel)
        if self.count_padding:
            return high
        low = ceil_div(k, k.sub(zero, start), dilation)
        return s.maximum(k.sub(high, low), zero)


def ceil_div(k: KernelBody, a: Scalar, b: Scalar) -> Scalar:
    """ceil(a / b) for b > 0, and 0 or less where a is: enough for a bound that is clamped at 0."""
    up = k.add(a, k.sub(b, k.index(1)))
    return k.scalars.emit(arith.DivSIOp(k.scalars.maximum(up, k.index(0)), b))


@dataclass
class BlockPooling:
    """Writes the kernel; sizes: planes, then data dims, places, borders before, borders after."""

    k: KernelBody
    pool: Pool
    windows: Sequence[WindowDim]
    storage: Attribute

    def write(self) -> None:
        k, spatial = self.k, len(self.windows)
        self.wide = compute_type(self.storage)
        groups = [k.sizes[1 + i * spatial : 1 + (i + 1) * spatial] for i in range(4)]
        self.sizes, self.places, self.before, self.after = groups
        self.counts = WindowCounts(
            k, self.windows, self.sizes, self.before, self.after, self.pool.count_padding
        )
        self.scratch = k.scratch(self.wide, BLOCK)
        with k.task_nest(k.sizes[0], *self.places[: min(1, spatial - 1)]) as (plane, *place):
            if place:
                self._place(0, place[0], plane, plane, [])
            else:
                self._row(plane, plane, [])

    def _outer(self, d: int, source: Scalar, target: Scalar, starts: list[Scalar]) -> None:
        """Loops over the places along all spatial dims but the last."""
        k = self.k
        if d == len(self.windows) - 1:
            self._row(source, target, starts)
            return
        with k.loop(self.places[d]) as o:
            self._place(d, o, source, target, starts)

    def _place(self, d: int, o: Scalar, source: Scalar, target: Scalar, starts: list[Scalar]) -> None:
        k = self.k
        start = k.sub(k.mul(o, k.index(self.windows[d].stride)), self.before[d])
        self._outer(d + 1, source, k.at(target, self.places[d], o), [*starts, start])

    def _row(self, plane: Scalar, target: Scalar, starts: list[Scalar]) -> None:
        k, last = self.k, len(self.windows) - 1
        window, places = self.windows[last], self.places[last]
        block, stride = k.index(BLOCK), k.index(window.stride)
        blocks = k.scalars.emit(arith.DivUIOp(k.add(places, k.index(BLOCK - 1)), block))
        with k.loop(blocks) as b:
            begin = k.mul(b, block)
            width = k.scalars.minimum(k.sub(places, begin), block)
            with k.loop(width, parallel=True) as j:
                k.store(k.scalars.const(self.pool.initial, self.wide), self.scratch, j)
            first = k.sub(k.mul(begin, stride), self.before[last])
            self._accumulate(0, plane, starts, first, width)
            outer_count = self.counts.of_starts(starts)
            row = k.add(k.mul(target, places), begin)
            with k.loop(width, parallel=True) as j:
                start = k.add(first, k.mul(j, stride))
                count = k.mul(outer_count, self.counts.count(last, start))
                value = self.pool.finish(k.scalars, k.load(self.scratch, j), count)
                if is_float(self.storage):
                    value = k.scalars.float_to(value, self.storage)
                k.store(value, k.outs[0], k.add(row, j))

    def _accumulate(self, d: int, source: Scalar, starts: list[Scalar], first: Scalar, width: Scalar) -> None:
        k, window = self.k, self.windows[d]
        with k.loop(k.index(window.kernel)) as tap:
            step = k.mul(tap, k.index(window.dilation))
            if d == len(self.windows) - 1:
                self._columns(source, k.add(first, step), width)
                return
            at = k.add(starts[d], step)
            s = k.scalars
            inside = s.and_(s.cmp("ge", at, k.index(0)), s.cmp("lt", at, self.sizes[d]))
            with k.branch(inside) as (then, _), k.inside(then):
                self._accumulate(d + 1, k.at(source, self.sizes[d], at), starts, first, width)

    def _columns(self, row: Scalar, offset: Scalar, width: Scalar) -> None:
        """One tap for all places of the block that it hits inside of the data."""
        k, s = self.k, self.k.scalars
        size, stride = self.sizes[-1], k.index(self.windows[-1].stride)
        zero = k.index(0)
        low = s.minimum(s.maximum(ceil_div(k, k.sub(zero, offset), stride), zero), width)
        high = s.maximum(s.minimum(ceil_div(k, k.sub(size, offset), stride), width), low)
        base = k.add(k.mul(row, size), offset)
        with k.loop(high, start=low, parallel=True) as j:
            x = s.widen(k.load(k.ins[0], k.add(base, k.mul(j, stride))))
            k.store(self.pool.combine(s, k.load(self.scratch, j), x), self.scratch, j)


@dataclass
class SweptPooling:
    """Writes the kernel; sizes as for `BlockPooling`, then elements of a plane and of its leading dims."""

    k: KernelBody
    pool: Pool
    windows: Sequence[WindowDim]
    storage: Attribute
    lanes: int
    may_clip: bool = False
    """Whether a window may be longer than the data, which have no border then."""

    def write(self) -> None:
        k, spatial = self.k, len(self.windows)
        groups = [k.sizes[1 + i * spatial : 1 + (i + 1) * spatial] for i in range(4)]
        sizes, places, before, after = groups
        plane, *strides = k.sizes[1 + 4 * spatial :]
        counts = WindowCounts(k, self.windows, sizes, before, after, self.pool.count_padding)
        window = Window(
            tuple(w.kernel for w in self.windows),
            tuple(w.stride for w in self.windows),
            tuple(w.dilation for w in self.windows),
            (),
        )
        sweep = WindowSweep(k, window, places, strides, self.lanes)
        points = k.index(1)
        for place in places:
            points = k.mul(points, place)
        with plane_tasks(k, k.sizes[0]) as (i, last):
            target = k.mul(i, points)
            room = k.sub(k.mul(last, points), target)

            def swept() -> None:
                sweep.write(k.mul(i, plane), room, lambda lane: self._output(lane, target, counts))

            if self.may_clip:
                self._clipped(window, sizes, places, counts, target).write(k.mul(i, plane), swept)
            else:
                swept()

    def _clipped(
        self,
        window: Window,
        sizes: Sequence[Scalar],
        places: Sequence[Scalar],
        counts: WindowCounts,
        target: Scalar,
    ) -> ClippedWindows:
        k, s = self.k, self.k.scalars
        return ClippedWindows(
            k,
            window,
            sizes,
            places,
            initial=s.const(self.pool.initial, compute_type(self.storage)),
            combine=lambda value, element: self.pool.combine(s, value, s.widen(element)),
            store=lambda value, index, point: self._store(value, index, k.add(target, point), counts),
        )

    def _output(self, lane: Lane, target: Scalar, counts: WindowCounts) -> None:
        k, s = self.k, self.k.scalars
        value = s.const(self.pool.initial, compute_type(self.storage))
        for tap in lane.taps:
            value = self.pool.combine(s, value, s.widen(k.load(k.ins[0], tap)))
        self._store(value, lane.index, k.add(target, lane.point), counts)

    def _store(self, value: Scalar, index: Sequence[Scalar], target: Scalar, counts: WindowCounts) -> None:
        k, s = self.k, self.k.scalars
        count = k.index(1)
        for d, place in enumerate(index):
            count = k.mul(count, counts.count(d, counts.start(d, place)))
        value = self.pool.finish(s, value, count)
        if is_float(self.storage):
            value = s.float_to(value, self.storage)
        k.store(value, k.outs[0], target)
