"""How is a Fourier transform computed? Stockham's passes over several transforms at once, one per lane.

A pass of radix r takes sums over r elements apart into those of the r parts of a smaller transform; the
results end up in order without being moved. Lengths are split into factors 4, 2, 3, 5 and then any others:
a transform of prime length is the plain sum.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from xdsl.dialects import arith
from xdsl.dialects import math as xmath
from xdsl.dialects.builtin import DYNAMIC_INDEX, Float64Type, TensorType, f64, i64
from xdsl.ir import Attribute, SSAValue

from onnxloom.conversion.onnx_to_loom.builder import KernelBuilder, index_value
from onnxloom.conversion.onnx_to_loom.kernel_body import KernelBody
from onnxloom.dialects.onnx.semantics.scalars import Scalar

LARGEST_CONSTANT = 1 << 14
"""The longest table of roots that is a constant; longer ones are computed when they are needed."""

Complex = tuple[Scalar, Scalar]


def roots_table(builder: KernelBuilder, length: SSAValue, type_: Attribute) -> SSAValue:
    """`exp(-2 pi i k / length)` for each k: all real parts, then all imaginary ones."""
    known = index_value(length)
    if known is not None and known <= LARGEST_CONSTANT:
        angles = np.arange(known) * (-2 * math.pi / max(known, 1))
        table = np.concatenate([np.cos(angles), np.sin(angles)])
        return builder.constant(table.astype(np.float64 if isinstance(type_, Float64Type) else np.float32))
    k = KernelBody("fourier_roots", [], [type_], 1)
    s, (count,) = k.scalars, k.sizes
    with k.loop(count, parallel=True) as i:
        part = s.divf(*(s.int_to_float(k.from_index(v, i64), f64, unsigned=False) for v in (i, count)))
        angle = s.mul_const(part, -2 * math.pi)
        for place, op in ((i, xmath.CosOp), (k.add(count, i), xmath.SinOp)):
            k.store(s.float_to(s.unary(op, angle), type_), k.outs[0], place)
    size = builder.multiply([length, builder.index(2)])
    return builder.launch(k, [], [builder.empty(TensorType(type_, [DYNAMIC_INDEX]), [size])], [length])[0]


@dataclass(frozen=True)
class Lanes:
    """Transforms of one length side by side: element i of all of them, then element i + 1.

    The buffer holds real and imaginary parts of what is read and of what is written: four arrays.
    """

    buffer: SSAValue
    begin: Scalar
    """Where the four arrays begin."""
    width: int
    """Transforms side by side."""
    length: Scalar

    def row(self, k: KernelBody, array: Scalar, element: Scalar) -> Scalar:
        """The offset of an element of the first transform in array 0 to 3."""
        return k.add(self.begin, k.mul(k.at(array, self.length, element), k.index(self.width)))


class Transform:
    """Writes the passes of a transform."""

    def __init__(self, k: KernelBody, lanes: Lanes, roots: SSAValue, type_: Attribute, inverse: bool):
        self._k, self._lanes, self._roots, self._type, self._inverse = k, lanes, roots, type_, inverse

    def run(self) -> Scalar:
        """From arrays 0 and 1; gives the number of the array with the real parts of the result (0 or 2)."""
        k = self._k
        state: Sequence[Scalar] = [self._lanes.length, k.index(1), k.index(0)]
        for radix in (4, 2, 3, 5):
            state = self._while_divisible(state, radix)
        last = k.repeat(
            [*state, k.index(7)], lambda a: k.scalars.cmp("gt", a[0], k.index(1)), self._any_radix
        )
        return last[2]

    def _while_divisible(self, state: Sequence[Scalar], radix: int) -> Sequence[Scalar]:
        k, by = self._k, self._k.index(radix)
        parts = _fourth if radix == 4 else _second if radix == 2 else _odd

        def step(state: Sequence[Scalar]) -> Sequence[Scalar]:
            size, stride, array = state
            count = k.scalars.emit(arith.DivUIOp(size, by))
            with k.loop(count) as p:
                turns = [self._root(k.mul(k.mul(p, k.index(t)), stride)) for t in range(1, radix)]
                with k.loop(stride) as q, k.lanes(self._lanes.width) as lane:
                    rows = [k.at(k.add(p, k.mul(count, k.index(j))), stride, q) for j in range(radix)]
                    mixed = parts(self, [self._load(array, row, lane) for row in rows])
                    turned = [mixed[0], *(self._product(v, w) for v, w in zip(mixed[1:], turns, strict=True))]
                    for t, value in enumerate(turned):
                        row = k.at(k.at(p, by, k.index(t)), stride, q)
                        self._store(value, k.sub(k.index(2), array), row, lane)
            return [count, k.mul(stride, by), k.sub(k.index(2), array)]

        return k.repeat(state, lambda a: k.scalars.cmp("eq", k.remainder(a[0], by), k.index(0)), step)

    def _any_radix(self, state: Sequence[Scalar]) -> Sequence[Scalar]:
        """A pass over the least factor that is left, which is odd."""
        k, s = self._k, self._k.scalars
        size, stride, array, candidate = state
        zero = s.const(0.0, self._type)

        def following(a: Sequence[Scalar]) -> Sequence[Scalar]:
            another = k.add(a[0], k.index(2))
            return [s.select(s.cmp("gt", k.mul(another, another), size), size, another)]

        (radix,) = k.repeat(
            [candidate], lambda a: s.cmp("ne", k.remainder(size, a[0]), k.index(0)), following
        )
        count, part = (s.emit(arith.DivUIOp(whole, radix)) for whole in (size, self._lanes.length))
        with k.loop(count) as p, k.loop(radix) as t:
            turn = self._root(k.mul(k.mul(p, t), stride))
            with k.loop(stride) as q, k.lanes(self._lanes.width) as lane:

                def add(j: Scalar, acc: Sequence[Scalar]) -> Sequence[Scalar]:
                    value = self._load(array, k.at(k.add(p, k.mul(count, j)), stride, q), lane)
                    root = self._root(k.mul(k.remainder(k.mul(j, t), radix), part))
                    term = self._product(value, root)
                    return [s.add(a, b) for a, b in zip(acc, term, strict=True)]

                re, im = k.reduce(radix, [zero, zero], add)
                row = k.at(k.at(p, radix, t), stride, q)
                self._store(self._product((re, im), turn), k.sub(k.index(2), array), row, lane)
        return [count, k.mul(stride, radix), k.sub(k.index(2), array), radix]

    # Elements

    def _load(self, array: Scalar, row: Scalar, lane: Scalar) -> Complex:
        k, lanes = self._k, self._lanes
        re, im = (k.add(lanes.row(k, k.add(array, k.index(part)), row), lane) for part in (0, 1))
        return k.load(lanes.buffer, re), k.load(lanes.buffer, im)

    def _store(self, value: Complex, array: Scalar, row: Scalar, lane: Scalar) -> None:
        k, lanes = self._k, self._lanes
        for part in (0, 1):
            at = k.add(lanes.row(k, k.add(array, k.index(part)), row), lane)
            k.store(value[part], lanes.buffer, at)

    def _root(self, number: Scalar) -> Complex:
        """A root of unity from the table; its conjugate for the inverse."""
        k = self._k
        re = k.load(self._roots, number)
        im = k.load(self._roots, k.add(self._lanes.length, number))
        return re, k.scalars.neg(im) if self._inverse else im

    def _product(self, a: Complex, b: Complex) -> Complex:
        s = self._k.scalars
        re = s.sub(s.mul(a[0], b[0]), s.mul(a[1], b[1]))
        return re, s.add(s.mul(a[0], b[1]), s.mul(a[1], b[0]))

    def plus(self, a: Complex, b: Complex) -> Complex:
        """a + b."""
        s = self._k.scalars
        return s.add(a[0], b[0]), s.add(a[1], b[1])

    def minus(self, a: Complex, b: Complex) -> Complex:
        """a - b."""
        s = self._k.scalars
        return s.sub(a[0], b[0]), s.sub(a[1], b[1])

    def scaled(self, a: Complex, by: float) -> Complex:
        """A multiple."""
        s = self._k.scalars
        return s.mul_const(a[0], by), s.mul_const(a[1], by)

    def quarter(self, a: Complex) -> Complex:
        """A quarter turn in the direction of the transform."""
        s = self._k.scalars
        return (s.neg(a[1]), a[0]) if self._inverse else (a[1], s.neg(a[0]))


def _second(to: Transform, x: Sequence[Complex]) -> list[Complex]:
    return [to.plus(x[0], x[1]), to.minus(x[0], x[1])]


def _fourth(to: Transform, x: Sequence[Complex]) -> list[Complex]:
    even, odd = _second(to, [x[0], x[2]]), _second(to, [x[1], x[3]])
    turned = to.quarter(odd[1])
    return [
        to.plus(even[0], odd[0]),
        to.plus(even[1], turned),
        to.minus(even[0], odd[0]),
        to.minus(even[1], turned),
    ]


def _odd(to: Transform, x: Sequence[Complex]) -> list[Complex]:
    """A sum of few elements: what is j after the first together with what is j before it."""
    radix = len(x)
    pairs = [(to.plus(x[j], x[-j]), to.minus(x[j], x[-j])) for j in range(1, radix // 2 + 1)]
    total = x[0]
    for both, _ in pairs:
        total = to.plus(total, both)
    result = [total] * radix
    for t in range(1, radix // 2 + 1):
        common: Complex = x[0]
        apart: Complex | None = None
        for j, (both, differ) in enumerate(pairs, 1):
            angle = 2 * math.pi * (j * t % radix) / radix
            common = to.plus(common, to.scaled(both, math.cos(angle)))
            turned = to.scaled(differ, math.sin(angle))
            apart = turned if apart is None else to.plus(apart, turned)
        assert apart is not None
        side = to.quarter(apart)
        result[t], result[-t] = to.plus(common, side), to.minus(common, side)
    return result
