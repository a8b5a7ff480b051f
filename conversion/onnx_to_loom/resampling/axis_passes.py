"""How are all rows of a tensor resampled along one axis? By the tables of `taps.py`."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects import arith
from xdsl.dialects.builtin import TensorType, i32
from xdsl.ir import Attribute, SSAValue

from onnxloom.conversion.onnx_to_loom.builder import KernelBuilder, index_value
from onnxloom.conversion.onnx_to_loom.kernel_body import KernelBody
from onnxloom.conversion.onnx_to_loom.resampling.elements import Elements
from onnxloom.conversion.onnx_to_loom.resampling.taps import Tables
from onnxloom.dialects.onnx.semantics.scalars import Scalar

ROWS = 64
"""Rows along the last axis that are a task."""

BLOCK = 1024
"""Places along the last axis, or along a row that is mixed whole, that are a task."""


@dataclass(frozen=True)
class Pass:
    """One axis of a tensor becomes another: the same elements moved, or sums of them."""

    source: Attribute
    """Storage type of the source, and of the result."""
    result: Attribute
    taps: int | None
    """Static number of taps, None if it is a size of the kernel."""
    elements: Elements | None = None
    """How elements are mixed; None if they are moved. Source or result may be of its compute type."""
    outside: float | int | None = None
    """What is written where the first place is -1; None if it never is."""

    def read(self, k: KernelBody, offset: Scalar) -> Scalar:
        """An element of the source, in the type of sums."""
        value = k.load(k.ins[0], offset)
        return value if self.elements is None else self.elements.widened(k.scalars, value)

    def write(self, k: KernelBody, value: Scalar, offset: Scalar) -> None:
        """A sum, or an element that is moved, into the result."""
        if self.elements is not None and value.type != self.result:
            value = self.elements.stored(k.scalars, value)
        k.store(value, k.outs[0], offset)


def run_pass(
    builder: KernelBuilder,
    data: SSAValue,
    axis: int,
    tables: Tables,
    rule: Pass,
    type_: TensorType[Attribute],
) -> SSAValue:
    """`data` with `axis` resampled to the length of the tables."""
    taps, size = builder.dims(tables.places)
    dims = builder.dims(data)
    last = all(index_value(d) == 1 for d in dims[axis + 1 :])
    ins = [(data, rule.source), (tables.places, i32)]
    if tables.weights is not None:
        assert rule.elements is not None
        ins.append((tables.weights, rule.elements.compute))
    name = "resample" if tables.weights is not None else "resample_nearest"
    k = KernelBody(name + ("_last" if last else ""), [t for _, t in ins], [rule.result], 5)
    (_LastAxis if last else _InnerAxis)(k, rule).write()
    out = builder.empty(type_, [*dims[:axis], size, *dims[axis + 1 :]])
    counts = [builder.multiply(dims[:axis]), dims[axis], size, builder.multiply(dims[axis + 1 :]), taps]
    return builder.launch(k, [v for v, _ in ins], [out], counts)[0]


class _Kernel:
    """What the two loop nests share."""

    def __init__(self, k: KernelBody, rule: Pass):
        self.k, self.rule = k, rule
        self.outer, self.size, self.out, self.inner, taps = k.sizes
        self.taps = taps if rule.taps is None else k.index(rule.taps)
        self.weighted = len(k.ins) > 2

    def place(self, tap: Scalar, j: Scalar) -> Scalar:
        """Place of a tap, 0 where there is none."""
        k = self.k
        place = k.load(k.ins[1], k.at(tap, self.out, j))
        if self.rule.outside is not None:
            place = k.scalars.maximum(place, k.scalars.const(0, i32))
        return k.to_index(place)

    def weight(self, tap: Scalar, j: Scalar) -> Scalar:
        """Weight of a tap."""
        return self.k.load(self.k.ins[2], self.k.at(tap, self.out, j))

    def put(self, value: Scalar, j: Scalar, offset: Scalar) -> None:
        """Writes a value of place `j`, or what stands for values outside."""
        k, s, outside = self.k, self.k.scalars, self.rule.outside
        if outside is not None:
            missing = s.cmp("lt", k.load(k.ins[1], j), s.const(0, i32))
            value = s.select(missing, s.const(outside, value.type), value)
        self.rule.write(k, value, offset)


class _InnerAxis(_Kernel):
    """Rows of the dims after the axis are copied or mixed whole."""

    def write(self) -> None:
        k = self.k
        blocks = k.scalars.emit(arith.CeilDivSIOp(self.inner, k.index(BLOCK)))
        with k.task_nest(self.outer, self.out, blocks) as (o, j, b):
            begin = k.mul(b, k.index(BLOCK))
            width = k.scalars.minimum(k.sub(self.inner, begin), k.index(BLOCK))
            target = k.add(k.mul(k.at(o, self.out, j), self.inner), begin)
            if self.rule.taps is None:
                self._many(o, j, begin, width, target)
            else:
                self._few(o, j, begin, width, target)

    def _row(self, o: Scalar, tap: Scalar, j: Scalar, begin: Scalar) -> Scalar:
        k = self.k
        return k.add(k.mul(k.at(o, self.size, self.place(tap, j)), self.inner), begin)

    def _few(self, o: Scalar, j: Scalar, begin: Scalar, width: Scalar, target: Scalar) -> None:
        k = self.k
        assert self.rule.taps is not None
        taps = [k.index(t) for t in range(self.rule.taps)]
        rows = [self._row(o, t, j, begin) for t in taps]
        weights = [self.weight(t, j) for t in taps] if self.weighted else []
        with k.loop(width, parallel=True) as i:
            total = self.rule.read(k, k.add(rows[0], i))
            if weights:
                total = k.scalars.mul(total, weights[0])
            for row, weight in zip(rows[1:], weights[1:], strict=True):
                total = k.scalars.add(total, k.scalars.mul(self.rule.read(k, k.add(row, i)), weight))
            self.put(total, j, k.add(target, i))

    def _many(self, o: Scalar, j: Scalar, begin: Scalar, width: Scalar, target: Scalar) -> None:
        k, s, rule = self.k, self.k.scalars, self.rule
        assert rule.elements is not None
        sums = k.scratch(rule.elements.compute, BLOCK)
        with k.loop(width, parallel=True) as i:
            k.store(s.const(0.0, rule.elements.compute), sums, i)
        with k.loop(self.taps) as t:
            row, weight = self._row(o, t, j, begin), self.weight(t, j)
            with k.loop(width, parallel=True) as i:
                k.store(s.add(k.load(sums, i), s.mul(rule.read(k, k.add(row, i)), weight)), sums, i)
        with k.loop(width, parallel=True) as i:
            self.put(k.load(sums, i), j, k.add(target, i))


class _LastAxis(_Kernel):
    """The places of a block are read again for each of its rows."""

    def write(self) -> None:
        k, s = self.k, self.k.scalars
        groups = s.emit(arith.CeilDivSIOp(self.outer, k.index(ROWS)))
        blocks = s.emit(arith.CeilDivSIOp(self.out, k.index(BLOCK)))
        with k.task_nest(groups, blocks) as (g, b):
            begin, first = k.mul(b, k.index(BLOCK)), k.mul(g, k.index(ROWS))
            end = s.minimum(self.out, k.add(begin, k.index(BLOCK)))
            with k.loop(s.minimum(self.outer, k.add(first, k.index(ROWS))), start=first) as o:
                row, target = k.mul(o, self.size), k.mul(o, self.out)
                with k.loop(end, start=begin, parallel=True) as j:
                    self.put(self._value(row, j), j, k.add(target, j))

    def _value(self, row: Scalar, j: Scalar) -> Scalar:
        k, s, rule = self.k, self.k.scalars, self.rule

        def tap(t: Scalar) -> Scalar:
            value = rule.read(k, k.add(row, self.place(t, j)))
            return s.mul(value, self.weight(t, j)) if self.weighted else value

        if rule.taps is None:
            assert rule.elements is not None
            zero = s.const(0.0, rule.elements.compute)
            return k.reduce(self.taps, [zero], lambda t, acc: [s.add(acc[0], tap(t))])[0]
        total = tap(k.index(0))
        for t in range(1, rule.taps):
            total = s.add(total, tap(k.index(t)))
        return total
