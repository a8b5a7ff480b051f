"""Which loops does a recurrent op run? All time steps of one direction, in one kernel.

The products of X and W are there already. Per step the old states are multiplied with R, register tile
by register tile, into a scratch row of gates per batch entry; then the cell computes elementwise.
Final states live in their output buffers from the first step on.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import contextmanager
from typing import cast

from xdsl.dialects import arith
from xdsl.dialects.builtin import MemRefType, f32
from xdsl.ir import Attribute, SSAValue

from onnxloom.conversion.onnx_to_loom.kernel_body import KernelBody
from onnxloom.conversion.onnx_to_loom.products.product_loops import gemm_tile_op
from onnxloom.conversion.onnx_to_loom.recurrent.recurrent_buffers import (
    Buffers,
    Layout,
    Quantized,
    WordCorrection,
)
from onnxloom.conversion.onnx_to_loom.recurrent.recurrent_quantization import (
    Row,
    quantize_row,
    quantize_words,
)
from onnxloom.dialects.onnx.semantics.scalars import Scalar


class RecurrentLoops:
    """Writes the kernel of one direction. Sizes: time, batch, direction, 1 if backwards else 0."""

    def __init__(self, k: KernelBody, layout: Layout, buffers: Buffers, batch: int | None):
        """`batch` is the batch size where it is known."""
        self.k, self.layout, self.buffers, self.known_batch = k, layout, buffers, batch
        self.time, self.batch, self.direction, self.backwards = k.sizes
        self.hidden = k.index(layout.hidden)
        self.row_of_gates = k.index(layout.gates * layout.hidden)

    @contextmanager
    def steps(self) -> Generator[TimeStep]:
        """Sets the states to their initial values, then loops over time."""
        k = self.k
        self._start()
        with k.loop(self.time) as number:
            yield TimeStep(self, number)

    def state_at(self, b: Scalar) -> Scalar:
        """Offset of the state of a batch entry."""
        k = self.k
        if self.layout.batch_first:
            return k.mul(k.at(b, k.index(self.layout.directions), self.direction), self.hidden)
        return k.mul(k.at(self.direction, self.batch, b), self.hidden)

    def _start(self) -> None:
        k = self.k
        with k.loop(self.batch) as b:
            at = self.state_at(b)
            for initial, state in zip(self.buffers.initial, self.buffers.states, strict=True):
                with k.loop(self.hidden, parallel=True) as j:
                    place = k.add(at, j)
                    zero = k.scalars.const(0.0, _element(state))
                    value = zero if initial is None else self._unless_empty(b, k.load(initial, place), zero)
                    k.store(value, state, place)

    def _unless_empty(self, b: Scalar, value: Scalar, zero: Scalar) -> Scalar:
        """What batch entry `b` begins with: 0 where it has no steps, as onnxruntime has it."""
        lengths, s = self.buffers.lengths, self.k.scalars
        if lengths is None:
            return value
        length = self.k.to_index(self.k.load(lengths, b))
        return s.select(s.cmp("gt", length, self.k.index(0)), value, zero)


class TimeStep:
    """One time step of all batch entries."""

    def __init__(self, loops: RecurrentLoops, number: Scalar):
        self.loops, self.k, self.layout, self.number = loops, loops.k, loops.layout, number

    def product(self, first: int, count: int, of_gate: int | None = None) -> None:
        """Scratch of gates `first` .. = state @ R; with `of_gate`, that gate's scratch instead of state."""
        k, loops = self.k, self.loops
        if loops.buffers.quantized is not None:
            self._quantize(loops.buffers.quantized)
        if loops.known_batch is not None:
            self._panels(first, count, of_gate, single=loops.known_batch == 1)
            return
        alone = k.scalars.cmp("eq", loops.batch, k.index(1))
        with k.branch(alone) as (one, several):
            for block, single in ((one, True), (several, False)):
                with k.inside(block):
                    self._panels(first, count, of_gate, single)

    def _quantize(self, into: Quantized) -> None:
        """Quantizes the old state, each batch entry over its own range."""
        k, loops = self.k, self.loops
        with k.loop(loops.batch) as b:
            source = Row(loops.buffers.states[0], loops.state_at(b))
            target = Row(into.levels, k.mul(b, k.index(self._depth)))
            if into.words is None:
                scale = quantize_row(k, source, target, loops.hidden)
            else:
                scale, zero = quantize_words(k, source, target, self.layout.hidden)
                k.store(zero, into.words.zeros, b)
            k.store(scale, into.scales, b)

    @property
    def _parts(self) -> int:
        """Levels per element of what is multiplied with R."""
        quantized = self.loops.buffers.quantized
        return 1 if quantized is None or quantized.words is None else 4

    @property
    def _depth(self) -> int:
        """Elements of a row of what is multiplied with R."""
        return -(-self.layout.hidden // self._parts)

    def _panels(self, first: int, count: int, of_gate: int | None, single: bool) -> None:
        k, layout = self.k, self.layout
        base = k.at(self.loops.direction, k.index(layout.gates), k.index(first))
        with k.loop(k.index(count)) as g, k.loop(k.index(layout.panels)) as p:
            place = k.at(k.add(base, g), k.index(layout.panels), p)
            panel = k.mul(place, k.index(self._depth * layout.columns))
            column = k.mul(p, k.index(layout.columns))
            target = k.at(k.add(k.index(first), g), self.loops.hidden, column)
            left = k.sub(self.loops.hidden, column)
            for width in self._widths(single):
                if width:
                    self._beyond_first(of_gate, panel, target, left, width)
                else:
                    self._tile(of_gate, panel, target, left, single)

    def _widths(self, single: bool) -> Iterator[int]:
        """First columns, within a panel, of the tiles that cover it."""
        step = self.layout.columns if single else self.layout.tile.columns
        yield from range(0, self.layout.columns, step)

    def _beyond_first(
        self, of_gate: int | None, panel: Scalar, target: Scalar, left: Scalar, width: int
    ) -> None:
        k, begin = self.k, self.k.index(width)
        with k.branch(k.scalars.cmp("gt", left, begin)) as (then, _), k.inside(then):
            self._tile(of_gate, k.add(panel, begin), k.add(target, begin), k.sub(left, begin), False)

    def _tile(self, of_gate: int | None, panel: Scalar, target: Scalar, left: Scalar, single: bool) -> None:
        """The tiles of one panel for all batch entries."""
        k, loops, layout, tile = self.k, self.loops, self.layout, self.layout.tile
        if single:
            tile = layout.row_tile
        count = k.scalars.minimum(left, k.index(tile.columns))
        gates = loops.buffers.gates
        height = k.index(tile.rows)
        groups = k.scalars.emit(arith.CeilDivSIOp(loops.batch, height))
        with k.loop(k.index(1) if single else groups) as group:
            b = k.mul(group, height)
            rows = k.scalars.minimum(height, k.sub(loops.batch, b))
            row = k.mul(b, loops.row_of_gates)
            source, source_at, source_row = self._source(of_gate, b)
            offsets = [source_at, source_row, k.index(1), panel, k.index(layout.columns)]
            offsets += [k.add(row, target), loops.row_of_gates, k.index(self._depth), rows, count]
            args = [source, loops.buffers.weights, gates, *offsets]
            k.builder.insert(gemm_tile_op(tile, _element(gates), args, self._parts))

    def _source(self, of_gate: int | None, b: Scalar) -> tuple[SSAValue, Scalar, Scalar]:
        """What is multiplied with R: buffer, offset of a batch entry, distance of the entries."""
        k, loops, layout = self.k, self.loops, self.layout
        buffers = loops.buffers
        if buffers.quantized is not None:
            return buffers.quantized.levels, k.mul(b, k.index(self._depth)), k.index(self._depth)
        if of_gate is not None:
            at = k.at(b, loops.row_of_gates, k.index(of_gate * layout.hidden))
            return buffers.gates, at, loops.row_of_gates
        distance = layout.hidden * (layout.directions if layout.batch_first else 1)
        return buffers.states[0], loops.state_at(b), k.index(distance)

    @contextmanager
    def rows(self, pad: bool = True) -> Generator[BatchRow]:
        """Loops over the batch entries that are not over yet; `pad` zeroes Y of the others."""
        k, loops = self.k, self.loops
        s, lengths = k.scalars, loops.buffers.lengths
        with k.loop(loops.batch) as b:
            if lengths is None:
                yield BatchRow(self, b, self._moment(loops.time))
            else:
                # A length that reaches beyond the buffers is an error, found after this has run.
                length = s.minimum(k.to_index(k.load(lengths, b)), loops.time)
                with k.branch(s.cmp("lt", self.number, length)) as (then, over):
                    with k.inside(then):
                        yield BatchRow(self, b, self._moment(length))
                    if pad:
                        with k.inside(over):
                            BatchRow(self, b, self.number).pad()

    def _moment(self, length: Scalar) -> Scalar:
        """The index along time, counted from the end where the direction is backwards."""
        k = self.k
        from_end = k.sub(k.sub(length, k.index(1)), self.number)
        backwards = k.scalars.cmp("eq", self.loops.backwards, k.index(1))
        return k.scalars.select(backwards, from_end, self.number)


class BatchRow:
    """One batch entry at one time step."""

    def __init__(self, step: TimeStep, b: Scalar, moment: Scalar):
        self.step, self.b = step, b
        k, loops, layout = step.k, step.loops, step.layout
        self.k, self.loops = k, loops
        directions = k.index(layout.directions)
        if layout.batch_first:
            entry = k.at(b, loops.time, moment)
            self._y_at = k.mul(k.at(entry, directions, loops.direction), loops.hidden)
        else:
            entry = k.at(moment, loops.batch, b)
            line = k.at(moment, directions, loops.direction)
            self._y_at = k.mul(k.at(line, loops.batch, b), loops.hidden)
        self._projected_at = k.mul(k.at(entry, directions, loops.direction), loops.row_of_gates)
        self._scratch_at = k.mul(b, loops.row_of_gates)
        self._state_at = loops.state_at(b)
        self._bias_at = k.mul(loops.direction, k.index(2 * layout.gates * layout.hidden))

    @contextmanager
    def columns(self) -> Generator[Scalar]:
        """Loops over the hidden units, which do not depend on each other."""
        with self.k.loop(self.loops.hidden, parallel=True) as j:
            yield j

    def _of_gate(self, number: int, j: Scalar) -> Scalar:
        return self.k.add(self.k.index(number * self.step.layout.hidden), j)

    def projected(self, number: int, j: Scalar) -> Scalar:
        """The part of a gate that comes from X: X W + Wb."""
        return self._with_bias(self._from_x(number, j), number, j)

    def recurrent(self, number: int, j: Scalar) -> Scalar:
        """The part of a gate that comes from the state: h R + Rb."""
        return self._with_bias(self._from_state(number, j), self.step.layout.gates + number, j)

    def gate(self, number: int, j: Scalar) -> Scalar:
        """X W + h R + (Wb + Rb)."""
        value = self.k.scalars.add(self._from_x(number, j), self._from_state(number, j))
        bias = self._bias(number, j)
        if bias is None:
            return value
        other = self._bias(self.step.layout.gates + number, j)
        assert other is not None
        return self.k.scalars.add(value, self.k.scalars.add(bias, other))

    def _from_x(self, number: int, j: Scalar) -> Scalar:
        k, buffers = self.k, self.loops.buffers
        value = k.load(buffers.projected, k.add(self._projected_at, self._of_gate(number, j)))
        if buffers.quantized is None:
            return value
        scale = k.load(buffers.quantized.x_scale, k.index(0))
        return self._scaled(value, scale, buffers.quantized.w_scale, number, j)

    def _from_state(self, number: int, j: Scalar) -> Scalar:
        value, quantized = self.scratch(number, j), self.loops.buffers.quantized
        if quantized is None:
            return value
        if quantized.words is not None:
            value = self._corrected(value, quantized.words, number, j)
        return self._scaled(value, self.k.load(quantized.scales, self.b), quantized.r_scale, number, j)

    def _corrected(self, total: Scalar, words: WordCorrection, number: int, j: Scalar) -> Scalar:
        """The sum of products of levels minus their zero point, exact in f32."""
        k = self.k
        place = k.add(k.mul(self.loops.direction, self.loops.row_of_gates), self._of_gate(number, j))
        surplus = k.scalars.mul(k.load(words.zeros, self.b), k.load(words.sums, place))
        return k.scalars.sub(k.scalars.int_to_float(total, f32, unsigned=False), surplus)

    def _scaled(self, value: Scalar, scale: Scalar, weights: SSAValue, number: int, j: Scalar) -> Scalar:
        k, quantized = self.k, self.loops.buffers.quantized
        assert quantized is not None
        place = self.loops.direction
        if quantized.by_column:
            place = k.add(k.mul(place, self.loops.row_of_gates), self._of_gate(number, j))
        return k.scalars.mul(value, k.scalars.mul(scale, k.load(weights, place)))

    def _with_bias(self, value: Scalar, number: int, j: Scalar) -> Scalar:
        bias = self._bias(number, j)
        return value if bias is None else self.k.scalars.add(value, bias)

    def _bias(self, number: int, j: Scalar) -> Scalar | None:
        k, bias = self.k, self.loops.buffers.bias
        return None if bias is None else k.load(bias, k.add(self._bias_at, self._of_gate(number, j)))

    def scratch(self, number: int, j: Scalar) -> Scalar:
        """What the scratch memory of a gate holds."""
        return self.k.load(self.loops.buffers.gates, self.k.add(self._scratch_at, self._of_gate(number, j)))

    def set_scratch(self, number: int, j: Scalar, value: Scalar) -> None:
        """Writes the scratch memory of a gate."""
        place = self.k.add(self._scratch_at, self._of_gate(number, j))
        self.k.store(value, self.loops.buffers.gates, place)

    def peephole(self, number: int, j: Scalar) -> Scalar | None:
        """One of the three peephole weights, None without peepholes."""
        k, layout, weights = self.k, self.step.layout, self.loops.buffers.peepholes
        if weights is None:
            return None
        base = k.mul(self.loops.direction, k.index(3 * layout.hidden))
        return k.load(weights, k.add(base, self._of_gate(number, j)))

    def state(self, number: int, j: Scalar) -> Scalar:
        """A state before this step, or after it once it is set."""
        return self.k.load(self.loops.buffers.states[number], self.k.add(self._state_at, j))

    def set_state(self, number: int, j: Scalar, value: Scalar) -> None:
        """Sets a state."""
        self.k.store(value, self.loops.buffers.states[number], self.k.add(self._state_at, j))

    def output(self, j: Scalar, value: Scalar) -> None:
        """Sets an element of Y, if the op has that output."""
        if self.loops.buffers.y is not None:
            self.k.store(value, self.loops.buffers.y, self.k.add(self._y_at, j))

    def pad(self) -> None:
        """Zeroes this row of Y."""
        y = self.loops.buffers.y
        if y is not None:
            with self.columns() as j:
                self.output(j, self.k.scalars.const(0.0, _element(y)))


def _element(buffer: SSAValue) -> Attribute:
    return cast("MemRefType[Attribute]", buffer.type).element_type
