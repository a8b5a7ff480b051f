"""How is the register tile of a channels-last convolution emitted?

`C[rows, columns] = sum over taps and depth of A[table[tap, row] + d] * B[tap * depth + d, columns]`: a row
is a result point, which reads for each tap a run of neighbouring elements at an offset of its own; where
that is negative the tap lies outside of the image and a border is read instead. Where that adds nothing,
taps that lie outside for all rows are skipped. As in `gemm_tile`, every accumulator stays in a register
over both loops, columns beyond the edge are masked when stored, rows beyond it repeat the last one, and
each step asks for one line of what is read after this tile.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from llvmlite import ir

from onnxloom.lowering.cpu_target import CpuTarget
from onnxloom.lowering.microkernels.multiply_add import MultiplyAdd, intrinsic

I64 = ir.IntType(64)
I32 = ir.IntType(32)
PTR = ir.PointerType()


@dataclass(frozen=True)
class _Args:
    """The arguments of a tile's function, in order."""

    a: ir.Value
    table: ir.Value
    table_row: ir.Value
    rhs: ir.Value
    rhs_row: ir.Value
    zeros: ir.Value
    c: ir.Value
    c_row: ir.Value
    taps: ir.Value
    depth: ir.Value
    columns: ir.Value
    last: ir.Value
    later: ir.Value
    later_row: ir.Value


_TYPES = [PTR, PTR, I64, PTR, I64, PTR, PTR, I64, I64, I64, I64, I64, PTR, I64]


def _c64(value: int) -> ir.Constant:
    return ir.Constant(I64, value)


def _splat(b: ir.IRBuilder, scalar: ir.Value, lanes: int) -> ir.Value:
    vector = ir.VectorType(scalar.type, lanes)
    undefined = ir.Constant(vector, ir.Undefined)
    zeros = ir.Constant(ir.VectorType(I32, lanes), [0] * lanes)
    return b.shuffle_vector(b.insert_element(undefined, scalar, ir.Constant(I32, 0)), undefined, zeros)


class _Tile:
    """Emits the function of one number of rows and vectors."""

    def __init__(self, adder: MultiplyAdd, rows: int, vectors: int, skips: bool):
        self.module, self.element = adder.module, adder.element
        self.adder, self.rows, self.vectors, self.lanes = adder, rows, vectors, adder.lanes
        self.skips = skips
        self.vector, self.suffix, self.align = adder.vector, adder.suffix, adder.bits // 8

    def wider(self) -> _Tile:
        """The tile of one more vector."""
        return _Tile(self.adder, self.rows, self.vectors + 1, self.skips)

    def function(self) -> ir.Function:
        """A function of `_Args`."""
        form = f"{self.adder.form}{'' if self.skips else 'b'}"
        name = f"loom.conv_tile.{form}.{self.rows}x{self.vectors}"
        found = self.module.globals.get(name)
        if found is not None:
            return found
        function = ir.Function(self.module, ir.FunctionType(ir.VoidType(), _TYPES), name)
        function.linkage = "internal"
        function.attributes.add("noinline")
        b = ir.IRBuilder(function.append_basic_block("entry"))
        args = _Args(*function.args)
        self._store(b, self._taps(b, args), args)
        b.ret_void()
        return function

    def _gep(self, b: ir.IRBuilder, pointer: ir.Value, offset: ir.Value) -> ir.Value:
        return b.gep(pointer, [offset], source_etype=self.element)

    def _rows(self, b: ir.IRBuilder, last: ir.Value) -> list[ir.Value]:
        """Row numbers, those beyond the last one repeated."""
        rows: list[ir.Value] = [_c64(0)]
        for i in range(1, self.rows):
            rows.append(b.select(b.icmp_signed("<", _c64(i), last), _c64(i), last))
        return rows

    def _taps(self, b: ir.IRBuilder, args: _Args) -> list[ir.Value]:
        """The loop over the taps; returns the accumulators, row by row."""
        rows = self._rows(b, args.last)
        step = b.mul(args.depth, args.rhs_row)
        later_step = b.mul(args.depth, args.later_row)
        entry = b.block
        head, body, inner, end, done = (
            b.append_basic_block(n) for n in ("taps.head", "taps.body", "depth", "taps.end", "taps.done")
        )
        b.branch(head)
        b.position_at_end(head)
        tap, *pointers = b.phi(I64), b.phi(PTR), b.phi(PTR), b.phi(PTR)
        table, rhs, later = pointers
        sums = [b.phi(self.vector) for _ in range(self.rows * self.vectors)]
        starts = [_c64(0), args.table, args.rhs, args.later, *[self.adder.zero] * len(sums)]
        for phi, start in zip([tap, *pointers, *sums], starts, strict=True):
            phi.add_incoming(start, entry)
        b.cbranch(b.icmp_signed("<", tap, args.taps), body, done)

        b.position_at_end(body)
        offsets = [b.load(b.gep(table, [row], source_etype=I64), typ=I64) for row in rows]
        outside = offsets[0]
        for offset in offsets[1:] if self.skips else ():
            outside = b.and_(outside, offset)
        starts = [
            b.select(b.icmp_signed("<", offset, _c64(0)), args.zeros, self._gep(b, args.a, offset))
            for offset in offsets
        ]
        empty = b.icmp_signed("<=", args.depth, _c64(0))
        skipped = b.or_(empty, b.icmp_signed("<", outside, _c64(0))) if self.skips else empty
        b.cbranch(skipped, end, inner)
        totals = self._depth(b, args, starts, (rhs, later), sums, (body, inner, end))

        b.position_at_end(end)
        kept: list[ir.Value] = []
        for before, after in zip(sums, totals, strict=True):
            phi = b.phi(self.vector)
            phi.add_incoming(before, body)
            phi.add_incoming(after, inner)
            kept.append(phi)
        for phi, total in zip(sums, kept, strict=True):
            phi.add_incoming(total, end)
        tap.add_incoming(b.add(tap, _c64(1)), end)
        table.add_incoming(b.gep(table, [args.table_row], source_etype=I64), end)
        rhs.add_incoming(self._gep(b, rhs, step), end)
        later.add_incoming(self._gep(b, later, later_step), end)
        b.branch(head)
        b.position_at_end(done)
        return list(sums)

    def _depth(
        self,
        b: ir.IRBuilder,
        args: _Args,
        starts: Sequence[ir.Value],
        pointers: tuple[ir.Value, ir.Value],
        sums: Sequence[ir.Value],
        blocks: tuple[ir.Block, ir.Block, ir.Block],
    ) -> list[ir.Value]:
        """The loop over the depth of a tap, which is not empty; returns the sums after it."""
        before, inner, end = blocks
        b.position_at_end(inner)
        d, at, later_at = b.phi(I64), b.phi(I64), b.phi(I64)
        totals = [b.phi(self.vector) for _ in sums]
        for phi, start in zip([d, at, later_at, *totals], [*[_c64(0)] * 3, *sums], strict=True):
            phi.add_incoming(start, before)
        rhs, later = pointers
        self._fetch(b, self._gep(b, later, later_at))
        line = self._gep(b, rhs, at)
        columns = [
            b.load(self._gep(b, line, _c64(j * self.lanes)), align=self.align, typ=self.vector)
            for j in range(self.vectors)
        ]
        made: list[ir.Value] = []
        for i, pointer in enumerate(starts):
            factor = _splat(b, b.load(self._gep(b, pointer, d), typ=self.element), self.lanes)
            for j, column in enumerate(columns):
                made.append(self.adder.step(b, factor, column, totals[i * self.vectors + j]))
        following = b.add(d, _c64(1))
        steps = [following, b.add(at, args.rhs_row), b.add(later_at, args.later_row), *made]
        for phi, value in zip([d, at, later_at, *totals], steps, strict=True):
            phi.add_incoming(value, inner)
        b.cbranch(b.icmp_signed("<", following, args.depth), inner, end)
        return made

    def _fetch(self, b: ir.IRBuilder, pointer: ir.Value) -> None:
        """Asks for a line to be read soon: into the second cache, the first one is full of this tile's."""
        fetch = intrinsic(self.module, "llvm.prefetch.p0", ir.VoidType(), [PTR, I32, I32, I32])
        reading, second_cache, data = (ir.Constant(I32, value) for value in (0, 2, 1))
        b.call(fetch, [pointer, reading, second_cache, data])

    def _store(self, b: ir.IRBuilder, sums: Sequence[ir.Value], args: _Args) -> None:
        """Writes the tile: plain stores for a full one, masked stores at the right edge."""
        full = b.and_(
            b.icmp_signed(">=", args.columns, _c64(self.vectors * self.lanes)),
            b.icmp_signed("==", args.last, _c64(self.rows - 1)),
        )
        with b.if_else(full) as (whole, edge):
            with whole:
                line = args.c
                for i, value in enumerate(sums):
                    row, j = divmod(i, self.vectors)
                    if row and j == 0:
                        line = self._gep(b, line, args.c_row)
                    b.store(value, self._gep(b, line, _c64(j * self.lanes)), align=self.align)
            with edge:
                lines = [self._gep(b, args.c, b.mul(args.c_row, row)) for row in self._rows(b, args.last)]
                bits = ir.VectorType(ir.IntType(1), self.lanes)
                types = [self.vector, PTR, I32, bits]
                store = intrinsic(self.module, f"llvm.masked.store.{self.suffix}.p0", ir.VoidType(), types)
                limit = _splat(b, args.columns, self.lanes)
                for j in range(self.vectors):
                    lanes = [j * self.lanes + lane for lane in range(self.lanes)]
                    mask = b.icmp_signed("<", ir.Constant(ir.VectorType(I64, self.lanes), lanes), limit)
                    for row, line in enumerate(lines):
                        target = self._gep(b, line, _c64(j * self.lanes))
                        value = sums[row * self.vectors + j]
                        b.call(store, [value, target, ir.Constant(I32, self.align), mask])


def emit_llvm(
    builder: ir.IRBuilder, params: dict[str, Any], args: Sequence[ir.Value], target: CpuTarget
) -> None:
    """Emits one tile at the builder's position.

    Args:
        params: `rows`, `vectors`, `lanes`: the largest tile; `parts`: integers per element (see
            `multiply_add`); `skips`: whether what lies outside of the image adds nothing.
        args: buffers A, table (i64), B, C; A: offset; table: offset, stride per tap; B: offset, row stride,
            offset of `depth` elements that are read outside of the image; C: offset, row stride; taps, depth,
            rows (at most `params["rows"]`), columns; offset in B and stride per step of what is read later.
            Offsets and strides count elements.
    """
    (a, table, rhs, c), scalars = args[:4], args[4:]
    a_at, table_at, table_row, rhs_at, rhs_row, zeros_at, c_at, c_row, *rest = scalars
    taps, depth, rows, columns, later_at, later_row = rest
    element = a.type.pointee

    def at(buffer: ir.Value, offset: ir.Value) -> ir.Value:
        return builder.bitcast(builder.gep(buffer, [offset]), PTR)

    last = builder.sub(rows, _c64(1))
    given = _Args(
        at(a, a_at), at(table, table_at), table_row, at(rhs, rhs_at), rhs_row, at(rhs, zeros_at), at(c, c_at),
        c_row, taps, depth, columns, last, at(rhs, later_at), later_row,
    )  # fmt: skip
    call_args = [getattr(given, name) for name in _Args.__dataclass_fields__]
    done = builder.append_basic_block("tile.done")
    switch = builder.switch(rows, done)
    smallest = 1
    for height in heights(params["rows"]):
        block = builder.append_basic_block(f"tile.{height}")
        for count in range(smallest, height + 1):
            switch.add_case(_c64(count), block)
        smallest = height + 1
        builder.position_at_end(block)
        adder = MultiplyAdd(builder.module, element, params["lanes"], target, params["parts"])
        tile = _Tile(adder, height, 1, bool(params["skips"]))
        _call_narrowest(builder, tile, params["vectors"], columns, call_args)
        builder.branch(done)
    builder.position_at_end(done)


def heights(rows: int) -> list[int]:
    """Row counts tiles are made for: powers of two, the largest and the one before it."""
    powers = {1 << i for i in range(rows.bit_length()) if 1 << i < rows}
    return sorted({*powers, max(rows - 1, 1), rows})


def _call_narrowest(
    builder: ir.IRBuilder, tile: _Tile, most: int, columns: ir.Value, args: Sequence[ir.Value]
) -> None:
    """Calls the tile of the fewest vectors, at least those of `tile` and at most `most`, for all columns."""
    if tile.vectors == most:
        builder.call(tile.function(), args)
        return
    fits = builder.icmp_signed("<=", columns, _c64(tile.vectors * tile.lanes))
    with builder.if_else(fits) as (narrow, wide):
        with narrow:
            builder.call(tile.function(), args)
        with wide:
            _call_narrowest(builder, tile.wider(), most, columns, args)
