"""How are elements mixed at points between them? A block of points at a time, one channel after the other.

Which elements a point mixes, and with which weights, is the same for all channels: both are written to
small tables, one row per spatial dim and tap. A negative offset says that there is no element.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects import arith
from xdsl.dialects import math as xmath
from xdsl.dialects.builtin import f32, i32
from xdsl.ir import Attribute

from onnxloom.conversion.onnx_to_loom.kernel_body import KernelBody
from onnxloom.conversion.onnx_to_loom.resampling.elements import Elements
from onnxloom.conversion.onnx_to_loom.resampling.taps import cubic_pieces
from onnxloom.dialects.onnx.semantics.scalars import Scalar

POINTS = 256
"""Points of a block."""

FAR = 1e9
"""Places are kept within this: what is further outside is as far outside, and this fits an i32."""

NOWHERE = -(1 << 29)
"""The offset of no element; a sum of three of them, or one with real offsets, is negative."""

LARGEST = 1 << 29
"""Elements of an image at most."""

CUBIC = -0.75


@dataclass(frozen=True)
class Sampling:
    """How points are sampled."""

    dims: int
    mode: str
    """`nearest`, `linear` or `cubic`."""
    padding: str
    """What lies beyond the border: `zeros`, `border` or `reflection`."""
    aligned: bool
    """Whether rows are reflected around elements, not around their edges."""
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


class Points:
    """A block of points: their tables, and what they read."""

    def __init__(self, k: KernelBody, rule: Sampling, dims: Sequence[Scalar]):
        """`dims` are the spatial dims of an image, which is input 0 of the kernel."""
        self._k, self._rule, self._dims = k, rule, dims
        self._strides = [k.index(1)]
        for dim in reversed(dims[1:]):
            self._strides.insert(0, k.mul(self._strides[0], dim))
        self.area = k.mul(self._strides[0], dims[0])
        """Elements of an image."""
        size = rule.dims * rule.taps * POINTS
        self._offsets = k.scratch(i32, size)
        self._weights = k.scratch(rule.weight, size) if rule.taps > 1 else None

    def _entry(self, dim: int, tap: int, p: Scalar) -> Scalar:
        return self._k.add(self._k.index((dim * self._rule.taps + tap) * POINTS), p)

    def put(self, dim: int, place: Scalar, p: Scalar, scale: Scalar | None = None) -> None:
        """Point `p` of the block lies at `place`, a float, of a dim; `scale` multiplies its weights."""
        k, s, rule = self._k, self._k.scalars, self._rule
        low, high = s.const(-FAR, place.type), s.const(FAR, place.type)
        # NaN compares with nothing, and is as far outside as can be.
        place = s.select(s.cmp("gt", place, low), place, low)
        place = s.select(s.cmp("lt", place, high), place, high)
        floor = s.unary(xmath.RoundEvenOp if rule.mode == "nearest" else xmath.FloorOp, place)
        first = s.emit(arith.FPToSIOp(floor, i32))
        for tap in range(rule.taps):
            index = s.add(first, s.const(tap - max(rule.taps // 2 - 1, 0), i32))
            k.store(self._offset(index, dim), self._offsets, self._entry(dim, tap, p))
        if self._weights is None:
            return
        for tap, weight in enumerate(self._tap_weights(s.sub(place, floor))):
            weight = s.float_to(weight, rule.weight)
            weight = weight if scale is None else s.mul(weight, scale)
            k.store(weight, self._weights, self._entry(dim, tap, p))

    def _tap_weights(self, rest: Scalar) -> Sequence[Scalar]:
        k, s = self._k, self._k.scalars
        other = s.sub(s.const(1.0, rest.type), rest)
        if self._rule.mode == "linear":
            return [other, rest]
        near, far = cubic_pieces(k, CUBIC)
        return [far(s.add_const(rest, 1.0)), near(rest), near(other), far(s.add_const(other, 1.0))]

    def _offset(self, index: Scalar, dim: int) -> Scalar:
        """What an index along a dim adds to the offset."""
        k, s = self._k, self._k.scalars
        size, step = (k.from_index(value, i32) for value in (self._dims[dim], self._strides[dim]))
        zero, last = s.const(0, i32), s.sub(size, s.const(1, i32))
        if self._rule.padding == "reflection":
            index = self._reflected(index, size)
        inside = s.maximum(s.minimum(index, last), zero)
        offset = s.mul(inside, step)
        if self._rule.padding != "zeros":
            return offset
        return s.select(s.cmp("eq", inside, index), offset, s.const(NOWHERE, i32))

    def _reflected(self, index: Scalar, size: Scalar) -> Scalar:
        """The index where a row goes on as its mirror image, at elements if aligned, else at their edges."""
        s = self._k.scalars
        one = s.const(1, i32)
        turns = s.sub(size, one) if self._rule.aligned else size
        period = s.maximum(s.add(turns, turns), one)
        rest = s.emit(arith.RemSIOp(index, period))
        rest = s.select(s.cmp("lt", rest, s.const(0, i32)), s.add(rest, period), rest)
        last = period if self._rule.aligned else s.sub(period, one)
        return s.minimum(rest, s.sub(last, rest))

    def sample(self, source: Scalar, p: Scalar) -> Scalar:
        """What point `p` of the block is in the image at offset `source`, in the type of sums."""
        return self._mixed(source, p, 0, None)

    def products(self, source: Scalar, p: Scalar) -> list[Scalar]:
        """The elements that `sample` adds up, each with its weight."""
        k, s, rule = self._k, self._k.scalars, self._rule
        assert self._weights is not None
        made: list[tuple[Scalar, Scalar]] = []
        for dim in range(rule.dims):
            entries = [
                (k.load(self._offsets, entry), k.load(self._weights, entry))
                for entry in (self._entry(dim, tap, p) for tap in range(rule.taps))
            ]
            if made:
                entries = [(s.add(a, b), s.mul(v, w)) for a, v in made for b, w in entries]
            made = entries
        return [s.mul(self._element(source, offset), weight) for offset, weight in made]

    def _mixed(self, source: Scalar, p: Scalar, dim: int, offset: Scalar | None) -> Scalar:
        """The sum over the taps of the dims from `dim` on."""
        k, s, rule = self._k, self._k.scalars, self._rule
        if dim == rule.dims:
            assert offset is not None
            return self._element(source, offset)
        total: Scalar | None = None
        for tap in range(rule.taps):
            step = k.load(self._offsets, self._entry(dim, tap, p))
            value = self._mixed(source, p, dim + 1, step if offset is None else s.add(offset, step))
            if self._weights is not None:
                value = s.mul(value, k.load(self._weights, self._entry(dim, tap, p)))
            total = value if total is None else s.add(total, value)
        assert total is not None
        return total

    def _element(self, source: Scalar, offset: Scalar) -> Scalar:
        k, s, rule = self._k, self._k.scalars, self._rule
        zero = s.const(0, i32)
        inside = s.maximum(offset, zero) if rule.padding == "zeros" else offset
        value = k.load(k.ins[0], k.add(source, k.to_index(inside)))
        if rule.padding == "zeros":
            # Not a weight of 0: an infinite element next to the border must not become NaN.
            value = s.select(s.cmp("lt", offset, zero), s.const(0, value.type), value)
        return value if rule.elements is None else rule.elements.widened(s, value)
