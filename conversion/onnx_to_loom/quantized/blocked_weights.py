"""How is a matrix multiplied with weights of few bits, in blocks along K with a scale and zero point each?

A task is a vector of columns. Its weights become floats once per block of rows, in registers, and never lie
in memory as floats: one row is bound by reading the weights.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects import arith
from xdsl.dialects import math as xmath
from xdsl.dialects.builtin import f32, i32
from xdsl.ir import Attribute, SSAValue

from onnxloom.conversion.onnx_to_loom.builder import KernelBuilder
from onnxloom.conversion.onnx_to_loom.kernel_body import KernelBody
from onnxloom.dialects.onnx.semantics.scalars import Scalar


@dataclass(frozen=True)
class BlockedWeights:
    """Program-level tensors, by panels of columns: `[panels, .., lanes]`."""

    words: SSAValue
    """The bytes of the columns' blocks."""
    scales: SSAValue
    zeros: SSAValue
    """Zero points as f32."""
    bias: SSAValue | None
    """`[columns]`"""


@dataclass(frozen=True)
class BlockedForm:
    """What the weights are."""

    bits: int
    block: int
    depth: int
    columns: int
    lanes: int

    @property
    def per_byte(self) -> int:
        """Weights in a byte."""
        return 8 // self.bits


def build_blocked_product(
    builder: KernelBuilder, a: SSAValue, weights: BlockedWeights, form: BlockedForm, result_type: Attribute
) -> SSAValue:
    """`a @ weights + bias` in f32, rounded to the result's type."""
    *leading, _ = builder.dims(a)
    ins = [a, weights.words, weights.scales, weights.zeros]
    if weights.bias is not None:
        ins.append(weights.bias)
    whole, rest = divmod(form.depth, form.block)
    numbers = [-(-form.columns // form.lanes), form.columns, form.depth, whole, form.block // form.per_byte]
    numbers += [rest // form.per_byte]
    k = builder.kernel("blocked_product", ins, [result_type], 1 + len(numbers))
    height = 8 if builder.kernels.target.vector_registers >= 32 else 4
    _Writer(k, form, height).write()
    out = builder.empty(result_type, [*leading, builder.index(form.columns)])
    sizes = [builder.multiply(leading), *(builder.index(number) for number in numbers)]
    return builder.launch(k, ins, [out], sizes)[0]


class _Writer:
    """Writes the kernel."""

    def __init__(self, k: KernelBody, form: BlockedForm, height: int):
        self.k, self.form, self.height = k, form, height
        self.a, self.words, self.scales, self.zeros, *self.bias = k.ins
        self.rows, self.panels, self.columns, self.depth, self.whole, self.bytes, self.rest = k.sizes
        self.tile = k.scratch(f32, height * form.lanes)
        self.has_rest = form.depth % form.block != 0
        self.single = form.depth % form.block % form.per_byte
        """Weights of the last byte of a column, if it is not full."""

    def write(self) -> None:
        k = self.k
        blocks = k.add(self.whole, k.index(int(self.has_rest)))
        height = k.index(self.height)
        tall = k.scalars.emit(arith.DivSIOp(self.rows, height))
        with k.tasks(self.panels) as panel:
            first = k.mul(panel, blocks)
            with k.loop(tall) as i:
                self._rows(panel, first, k.mul(i, height), self.height)
            with k.loop(self.rows, start=k.mul(tall, height)) as row:
                self._rows(panel, first, row, 1)

    def _rows(self, panel: Scalar, first: Scalar, row: Scalar, count: int) -> None:
        """A tile of `count` rows; `first` is the number of the panel's first block."""
        k, s, lanes = self.k, self.k.scalars, self.k.index(self.form.lanes)
        rows = [k.mul(k.add(row, k.index(p)), self.depth) for p in range(count)]
        with k.lanes(self.form.lanes) as lane:

            def add_block(block: Scalar, sums: Sequence[Scalar]) -> Sequence[Scalar]:
                return self._block(rows, lane, k.add(first, block), block, self.bytes, 0, sums)

            sums = k.reduce(self.whole, [s.const(0.0, f32)] * count, add_block)
            if self.has_rest:
                last = k.add(first, self.whole)
                sums = self._block(rows, lane, last, self.whole, self.rest, self.single, sums)
            for p, total in enumerate(sums):
                k.store(total, self.tile, k.add(k.index(p * self.form.lanes), lane))
        column = k.mul(panel, lanes)
        width = s.minimum(lanes, k.sub(self.columns, column))
        for p in range(count):
            target = k.add(k.mul(k.add(row, k.index(p)), self.columns), column)
            with k.loop(width, parallel=True) as j:
                value = k.load(self.tile, k.add(k.index(p * self.form.lanes), j))
                for bias in self.bias:
                    value = s.add(value, s.widen(k.load(bias, k.add(column, j))))
                element = k.outs[0].type.element_type  # pyright: ignore
                k.store(s.float_to(value, element), k.outs[0], k.add(target, j))  # pyright: ignore

    def _block(
        self,
        rows: Sequence[Scalar],
        lane: Scalar,
        number: Scalar,
        block: Scalar,
        full: Scalar,
        single: int,
        sums: Sequence[Scalar],
    ) -> Sequence[Scalar]:
        """Adds a block: its `full` bytes and `single` weights of one more; `number` counts from panel 0."""
        k, s, form = self.k, self.k.scalars, self.form
        lanes = k.index(form.lanes)
        at = k.add(k.mul(number, lanes), lane)
        scale, zero = k.load(self.scales, at), k.load(self.zeros, at)
        words = k.add(k.mul(k.mul(number, self.bytes), lanes), lane)
        start = k.mul(block, k.index(form.block))

        def add_byte(i: Scalar, partial: Sequence[Scalar], count: int = form.per_byte) -> Sequence[Scalar]:
            byte = s.int_to_int(k.load(self.words, k.add(words, k.mul(i, lanes))), i32, True)
            totals = list(partial)
            for part in range(count):
                moved = byte if part == 0 else s.emit(arith.ShRUIOp(byte, s.const(form.bits * part, i32)))
                whole = s.and_(moved, s.const((1 << form.bits) - 1, i32))
                weight = s.sub(s.int_to_float(whole, f32, unsigned=False), zero)
                place = k.add(start, k.add(k.mul(i, k.index(form.per_byte)), k.index(part)))
                for p, row in enumerate(rows):
                    x = s.widen(k.load(self.a, k.add(row, place)))
                    to = p * chains + part % chains
                    totals[to] = s.emit(xmath.FmaOp(x, weight, totals[to]))
            return totals

        # Of one row each weight of a byte has a sum of its own: they need not wait for each other.
        chains = form.per_byte if len(rows) == 1 else 1
        chained = k.reduce(full, [s.const(0.0, f32)] * (len(rows) * chains), add_byte)
        if single:
            chained = add_byte(full, chained, single)
        partial = [chained[p * chains] for p in range(len(rows))]
        for part in range(1, chains):
            partial = [s.add(p, q) for p, q in zip(partial, chained[part::chains], strict=True)]
        return [s.emit(xmath.FmaOp(scale, p, total)) for p, total in zip(partial, sums, strict=True)]
