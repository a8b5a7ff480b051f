"""Which elements of its source does an element of a resized axis mix, with which weights?

A kernel writes them as two tables, `places` (i32) and `weights`, with one row per tap. All rows of the
data are then mixed by the same tables (`axis_passes.py`). A place of -1 in the first row says that the
element lies outside of the region that is sampled.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xdsl.dialects import math as xmath
from xdsl.dialects.builtin import DYNAMIC_INDEX, TensorType, f64, i32
from xdsl.ir import Attribute, SSAValue

from onnxloom.conversion.onnx_to_loom.builder import KernelBuilder, buffer_element
from onnxloom.conversion.onnx_to_loom.kernel_body import KernelBody
from onnxloom.conversion.onnx_to_loom.resampling.coordinates import (
    CROP,
    NEAREST,
    TRANSFORMS,
    Axis,
    as_float,
    as_index,
    bits_as_float,
    clamped,
)
from onnxloom.conversion.onnx_to_loom.value_checks import refuse_where
from onnxloom.dialects.onnx.semantics.scalars import Scalar

LARGEST = (1 << 31) - 1
"""The longest axis: places are i32."""


@dataclass(frozen=True)
class Filter:
    """How an element is made of its neighbours."""

    mode: str
    """`nearest`, `linear` or `cubic`."""
    transform: str
    nearest: str = "round_prefer_floor"
    cubic_a: float = -0.75
    antialias: bool = False
    exclude_outside: bool = False

    @property
    def reach(self) -> int:
        """How far it reaches to either side where nothing is made smaller."""
        return 2 if self.mode == "cubic" else 1

    @property
    def taps(self) -> int | None:
        """How many elements are mixed; None where that depends on the factor."""
        return None if self.antialias else {"nearest": 1, "linear": 2, "cubic": 4}[self.mode]


@dataclass(frozen=True)
class Resized:
    """The sizes of one axis, at program level."""

    size: SSAValue
    out_size: SSAValue
    factor: SSAValue
    """The bits of an f64."""
    taps: SSAValue
    roi: SSAValue | None = None
    """The begins of all axes, then the ends."""
    roi_places: tuple[int, int] = (0, 0)


@dataclass(frozen=True)
class Tables:
    """What `tap_tables` gives."""

    places: SSAValue
    weights: SSAValue | None


def tap_tables(builder: KernelBuilder, axis: Resized, rule: Filter, weight: Attribute) -> Tables:
    """The tables of an axis; `weight` is the float type of the weights."""
    refuse_where(
        builder, axis.size, "sgt", builder.index(LARGEST), f"an axis of more than {LARGEST} elements"
    )
    weighted = rule.mode != "nearest"
    crops = rule.transform == CROP
    ins = [axis.roi] if crops and axis.roi is not None else []
    k = KernelBody(
        f"resize_taps_{rule.mode}", [buffer_element(v.type) for v in ins], [i32, weight][: 1 + weighted], 4
    )
    count = k.sizes[2] if rule.taps is None else k.index(rule.taps)
    begin_end: Sequence[Scalar | None] = (None, None)
    if ins:
        begin_end = [
            k.scalars.float_to(k.scalars.widen(k.load(k.ins[0], k.index(place))), f64)
            for place in axis.roi_places
        ]
    elif crops:
        begin_end = [k.scalars.const(value, f64) for value in (0.0, 1.0)]
    size, out_size = (as_float(k, v) for v in k.sizes[:2])
    table = _Table(k, rule, Axis(size, out_size, bits_as_float(k, k.sizes[3]), *begin_end), count, weight)
    with k.loop(k.sizes[1], parallel=rule.taps is not None) as j:
        table.column(j)
    shape = [DYNAMIC_INDEX, DYNAMIC_INDEX]
    sizes = [axis.taps if rule.taps is None else builder.index(rule.taps), axis.out_size]
    outs = [builder.empty(TensorType(t, shape), sizes) for t in (i32, weight)[: 1 + weighted]]
    filled = builder.launch(k, ins, outs, [axis.size, axis.out_size, sizes[0], axis.factor])
    return Tables(filled[0], filled[1] if weighted else None)


class _Table:
    """Writes the columns of both tables."""

    def __init__(self, k: KernelBody, rule: Filter, axis: Axis, count: Scalar, weight: Attribute):
        self.k, self.rule, self.axis, self.count, self.weight = k, rule, axis, count, weight
        self.last = k.scalars.add_const(axis.size, -1.0)
        self.inside: Scalar | None = None

    def column(self, j: Scalar) -> None:
        """Places and weights of element `j` of the result."""
        k, s, rule = self.k, self.k.scalars, self.rule
        at = TRANSFORMS[rule.transform](k, self.axis, as_float(k, j))
        if rule.transform == CROP:
            self.inside = s.and_(s.cmp("ge", at, s.const(0.0, f64)), s.cmp("le", at, self.last))
        if rule.mode == "nearest":
            self._place(k.index(0), j, NEAREST[rule.nearest](k, at))
            return
        floor = s.unary(xmath.FloorOp, at)
        if rule.antialias:
            self._stretched(j, at, floor)
        else:
            self._fixed(j, s.sub(at, floor), floor)

    def _place(self, tap: Scalar, j: Scalar, whole: Scalar) -> None:
        k, s = self.k, self.k.scalars
        place = k.from_index(as_index(k, clamped(k, whole, self.last)), i32)
        if self.inside is not None:
            place = s.select(self.inside, place, s.const(-1, i32))
        k.store(place, k.outs[0], k.at(tap, k.sizes[1], j))

    def _weight(self, tap: Scalar, j: Scalar, weight: Scalar) -> None:
        k = self.k
        k.store(k.scalars.float_to(weight, self.weight), k.outs[1], k.at(tap, k.sizes[1], j))

    def _fixed(self, j: Scalar, ratio: Scalar, floor: Scalar) -> None:
        """The taps around an element `ratio` behind `floor`."""
        k, s, rule = self.k, self.k.scalars, self.rule
        one = s.const(1.0, f64)
        rest = s.sub(one, ratio)
        if rule.mode == "linear":
            weights = [rest, ratio]
        else:
            near, far = cubic_pieces(k, rule.cubic_a)
            weights = [far(s.add(ratio, one)), near(ratio), near(rest), far(s.add(rest, one))]
        first = 1 - len(weights) // 2
        places = [s.add_const(floor, float(first + t)) for t in range(len(weights))]
        if rule.exclude_outside:
            weights = [self._if_inside(place, w) for place, w in zip(places, weights, strict=True)]
            total = weights[0]
            for w in weights[1:]:
                total = s.add(total, w)
            total = self._divisor(total)
            weights = [s.divf(w, total) for w in weights]
        for t, (place, w) in enumerate(zip(places, weights, strict=True)):
            self._place(k.index(t), j, place)
            self._weight(k.index(t), j, w)

    def _stretched(self, j: Scalar, at: Scalar, floor: Scalar) -> None:
        """The taps of a filter that is stretched where the result is smaller than the source."""
        k, s = self.k, self.k.scalars
        zero, one = s.const(0.0, f64), s.const(1.0, f64)
        stretch = s.select(s.cmp("lt", self.axis.factor, one), self.axis.factor, one)
        half = s.mul_const(as_float(k, self.count), 0.5)
        first = s.add_const(s.sub(floor, half), 1.0)

        def tap(t: Scalar) -> tuple[Scalar, Scalar]:
            place = s.add(first, as_float(k, t))
            weight = self._profile(s.abs(s.mul(s.sub(place, at), stretch)))
            return place, self._if_inside(place, weight) if self.rule.exclude_outside else weight

        (total,) = k.reduce(self.count, [zero], lambda t, acc: [s.add(acc[0], tap(t)[1])])
        total = self._divisor(total)
        with k.loop(self.count) as t:
            place, weight = tap(t)
            self._place(t, j, place)
            self._weight(t, j, s.divf(weight, total))

    def _profile(self, distance: Scalar) -> Scalar:
        """The weight of what is `distance` away, before weights are made to sum to 1."""
        k, s = self.k, self.k.scalars
        zero, one = s.const(0.0, f64), s.const(1.0, f64)
        if self.rule.mode == "linear":
            return s.maximum(s.sub(one, distance), zero)
        near, far = cubic_pieces(k, self.rule.cubic_a)
        outer = s.select(s.cmp("lt", distance, s.const(2.0, f64)), far(distance), zero)
        return s.select(s.cmp("le", distance, one), near(distance), outer)

    def _if_inside(self, place: Scalar, weight: Scalar) -> Scalar:
        s = self.k.scalars
        zero = s.const(0.0, f64)
        inside = s.and_(s.cmp("ge", place, zero), s.cmp("le", place, self.last))
        return s.select(inside, weight, zero)

    def _divisor(self, total: Scalar) -> Scalar:
        """A sum of weights, 1 where all of them are 0."""
        s = self.k.scalars
        return s.select(s.cmp("eq", total, s.const(0.0, f64)), s.const(1.0, f64), total)


def cubic_pieces(k: KernelBody, a: float) -> tuple[Callable[[Scalar], Scalar], Callable[[Scalar], Scalar]]:
    """Keys' cubic convolution: the pieces for distances of at most 1, and from 1 to 2."""
    s = k.scalars

    def near(x: Scalar) -> Scalar:
        return s.add_const(s.mul(s.mul(s.add_const(s.mul_const(x, a + 2), -(a + 3)), x), x), 1.0)

    def far(x: Scalar) -> Scalar:
        inner = s.add_const(s.mul(s.add_const(s.mul_const(x, a), -5 * a), x), 8 * a)
        return s.add_const(s.mul(inner, x), -4 * a)

    return near, far
