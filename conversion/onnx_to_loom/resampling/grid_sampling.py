"""How are images sampled at the points of a grid? A block of points at a time, for all channels.

Which elements a point mixes, and with which weights, is the same for all channels: both are written to
small tables, one row per spatial dim and tap. A negative entry says that there is no element.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects import arith
from xdsl.dialects import math as xmath
from xdsl.dialects.builtin import f32, i32, i64
from xdsl.ir import Attribute

from onnxloom.conversion.onnx_to_loom.kernel_body import KernelBody
from onnxloom.conversion.onnx_to_loom.resampling.elements import Elements
from onnxloom.conversion.onnx_to_loom.resampling.taps import cubic_pieces
from onnxloom.dialects.onnx.semantics.scalars import Scalar

POINTS = 256
"""Points of a block."""

FAR = 1e9
"""Coordinates are kept within this: what is further outside is as far outside, and this fits an i32."""

NOWHERE = -(1 << 29)
"""The offset of no element; a sum of three of them, or one with real offsets, is negative."""

LARGEST = 1 << 29
"""Elements of an image at most."""

CUBIC = -0.75


@dataclass(frozen=True)
class Sampling:
    """How images are sampled."""

    dims: int
    mode: str
    """`nearest`, `linear` or `cubic`."""
    padding: str
    aligned: bool
    coordinate: Attribute
    """The float type of coordinates."""
    elements: Elements | None
    """How elements are mixed; None if they are moved."""

    @property
    def taps(self) -> int:
        """Elements mixed along each dim."""
        return {"nearest": 1, "linear": 2, "cubic": 4}[self.mode]

    @property
    def weight(self) -> Attribute:
        """The type of weights and sums."""
        return f32 if self.elements is None else self.elements.compute


def sampling_kernel(k: KernelBody, rule: Sampling) -> None:
    """Inputs: images, grid. Sizes: images, channels, points of one image's grid, then the spatial dims."""
    writer = _Block(k, rule)
    images, channels, points = k.sizes[:3]
    blocks = k.scalars.emit(arith.CeilDivSIOp(points, k.index(POINTS)))
    with k.task_nest(images, blocks) as (n, b):
        begin = k.mul(b, k.index(POINTS))
        count = k.scalars.minimum(k.sub(points, begin), k.index(POINTS))
        with k.loop(count, parallel=rule.padding != "reflection") as p:
            writer.tables(k.add(k.at(n, points, begin), p), p)
        with k.loop(channels) as c:
            plane = k.at(n, channels, c)
            source, target = k.mul(plane, writer.area), k.add(k.mul(plane, points), begin)
            with k.loop(count, parallel=True) as p:
                writer.sample(source, k.add(target, p), p)


class _Block:
    """The two halves of the work on a block: its tables, and one channel."""

    def __init__(self, k: KernelBody, rule: Sampling):
        self.k, self.rule = k, rule
        self.dims = k.sizes[3:]
        self.area = k.index(1)
        for dim in self.dims:
            self.area = k.mul(self.area, dim)
        size = rule.dims * rule.taps * POINTS
        self.offsets = k.scratch(i32, size)
        self.weights = k.scratch(rule.weight, size) if rule.taps > 1 else None

    def _entry(self, dim: int, tap: int, p: Scalar) -> Scalar:
        return self.k.add(self.k.index((dim * self.rule.taps + tap) * POINTS), p)

    def tables(self, point: Scalar, p: Scalar) -> None:
        """Writes the entries of point `p` of the block, which is number `point` of all grids."""
        k, s, rule = self.k, self.k.scalars, self.rule
        stride = k.index(1)
        for dim in reversed(range(rule.dims)):
            # A grid names the last spatial dim first.
            at = k.at(point, k.index(rule.dims), k.index(rule.dims - 1 - dim))
            place = self._place(k.load(k.ins[1], at), self.dims[dim])
            floor = s.unary(xmath.RoundEvenOp if rule.mode == "nearest" else xmath.FloorOp, place)
            first = s.emit(arith.FPToSIOp(floor, i32))
            for tap in range(rule.taps):
                index = s.add(first, s.const(tap - max(rule.taps // 2 - 1, 0), i32))
                offset = self._offset(index, self.dims[dim], stride)
                k.store(offset, self.offsets, self._entry(dim, tap, p))
            if self.weights is not None:
                for tap, weight in enumerate(self._tap_weights(s.sub(place, floor))):
                    k.store(s.float_to(weight, rule.weight), self.weights, self._entry(dim, tap, p))
            stride = k.mul(stride, self.dims[dim])

    def _place(self, value: Scalar, dim: Scalar) -> Scalar:
        """A coordinate in [-1, 1] as a place among the elements of a dim."""
        k, s, type_ = self.k, self.k.scalars, self.rule.coordinate
        value = s.float_to(s.widen(value), type_)
        size = s.int_to_float(k.from_index(dim, i64), type_, unsigned=False)
        shifted = s.add_const(value, 1.0)
        if self.rule.aligned:
            place = s.mul(s.mul_const(shifted, 0.5), s.add_const(size, -1.0))
        else:
            place = s.mul_const(s.add_const(s.mul(shifted, size), -1.0), 0.5)
        low, high = s.const(-FAR, type_), s.const(FAR, type_)
        # NaN compares with nothing, and is as far outside as can be.
        place = s.select(s.cmp("gt", place, low), place, low)
        return s.select(s.cmp("lt", place, high), place, high)

    def _tap_weights(self, rest: Scalar) -> Sequence[Scalar]:
        k, s = self.k, self.k.scalars
        other = s.sub(s.const(1.0, rest.type), rest)
        if self.rule.mode == "linear":
            return [other, rest]
        near, far = cubic_pieces(k, CUBIC)
        return [far(s.add_const(rest, 1.0)), near(rest), near(other), far(s.add_const(other, 1.0))]

    def _offset(self, index: Scalar, dim: Scalar, stride: Scalar) -> Scalar:
        """What an index along a dim adds to the offset."""
        k, s = self.k, self.k.scalars
        size, step = (k.from_index(value, i32) for value in (dim, stride))
        zero, last = s.const(0, i32), s.sub(size, s.const(1, i32))
        if self.rule.padding == "reflection":
            index = self._reflected(index, size)
        inside = s.maximum(s.minimum(index, last), zero)
        offset = s.mul(inside, step)
        if self.rule.padding != "zeros":
            return offset
        return s.select(s.cmp("eq", inside, index), offset, s.const(NOWHERE, i32))

    def _reflected(self, index: Scalar, size: Scalar) -> Scalar:
        """The index where a row goes on as its mirror image, at elements if aligned, else at their edges."""
        s = self.k.scalars
        one = s.const(1, i32)
        turns = s.sub(size, one) if self.rule.aligned else size
        period = s.maximum(s.add(turns, turns), one)
        rest = s.emit(arith.RemSIOp(index, period))
        rest = s.select(s.cmp("lt", rest, s.const(0, i32)), s.add(rest, period), rest)
        last = period if self.rule.aligned else s.sub(period, one)
        return s.minimum(rest, s.sub(last, rest))

    def sample(self, source: Scalar, target: Scalar, p: Scalar) -> None:
        """Mixes the elements of one channel for point `p` of the block."""
        rule = self.rule
        value = self._mixed(source, p, 0, None)
        if rule.elements is not None:
            value = rule.elements.stored(self.k.scalars, value)
        self.k.store(value, self.k.outs[0], target)

    def _mixed(self, source: Scalar, p: Scalar, dim: int, offset: Scalar | None) -> Scalar:
        """The sum over the taps of the dims from `dim` on."""
        k, s, rule = self.k, self.k.scalars, self.rule
        if dim == rule.dims:
            assert offset is not None
            return self._element(source, offset)
        total: Scalar | None = None
        for tap in range(rule.taps):
            step = k.load(self.offsets, self._entry(dim, tap, p))
            value = self._mixed(source, p, dim + 1, step if offset is None else s.add(offset, step))
            if self.weights is not None:
                value = s.mul(value, k.load(self.weights, self._entry(dim, tap, p)))
            total = value if total is None else s.add(total, value)
        assert total is not None
        return total

    def _element(self, source: Scalar, offset: Scalar) -> Scalar:
        k, s, rule = self.k, self.k.scalars, self.rule
        zero = s.const(0, i32)
        inside = s.maximum(offset, zero) if rule.padding == "zeros" else offset
        value = k.load(k.ins[0], k.add(source, k.to_index(inside)))
        if rule.padding == "zeros":
            # Not a weight of 0: an infinite element next to the border must not become NaN.
            value = s.select(s.cmp("lt", offset, zero), s.const(0, value.type), value)
        return value if rule.elements is None else rule.elements.widened(s, value)
