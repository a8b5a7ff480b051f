"""How does a convolution tile add up its products? A loop over the taps around one over the depth of a tap.

Floats are added up in chunks: many small terms on top of a large sum would lose what the sum's last digit
does not hold. A chunk that is full goes to memory, and the accumulators begin again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from llvmlite import ir

from onnxloom.lowering.emit_llvm.splats import in_all_lanes
from onnxloom.lowering.microkernels.aside import merged
from onnxloom.lowering.microkernels.multiply_add import MultiplyAdd
from onnxloom.lowering.microkernels.tile_code import c64, fetch_early

I64 = ir.IntType(64)
I32 = ir.IntType(32)
PTR = ir.PointerType()

CHUNK = 128
"""Products that are added up before the sum is put aside."""


@dataclass(frozen=True)
class TileArgs:
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
    aside: ir.Value
    """Memory for all accumulators; not the function's own, or LLVM would hold it in registers."""
    operands: Sequence[ir.Value]
    """Of the finish: address and row stride each."""


@dataclass(frozen=True)
class _Tap:
    """Where the rows of a tap begin, its rows of B, and what is read later beside them."""

    rows: Sequence[ir.Value]
    rhs: ir.Value
    later: ir.Value


class TapLoops:
    """Emits the loops of a tile of so many rows and vectors."""

    def __init__(self, adder: MultiplyAdd, rows: int, vectors: int, skips: bool):
        """`skips`: taps that lie outside of the image for all rows add nothing."""
        self.adder, self.module, self.element = adder, adder.module, adder.element
        self.rows, self.vectors, self.skips = rows, vectors, skips
        self.chunk = c64(CHUNK if adder.parts == 1 else 1 << 62)
        self.align = adder.bits // 8

    def emit(self, b: ir.IRBuilder, args: TileArgs, rows: Sequence[ir.Value]) -> list[ir.Value]:
        """The accumulators, row by row; `rows`: entries of the table."""
        count = self.rows * self.vectors
        places = [b.gep(args.aside, [c64(i)], source_etype=self.adder.vector) for i in range(count)]
        long = b.icmp_signed(">", b.mul(args.taps, args.depth), self.chunk)
        with b.if_then(long):
            for place in places:
                b.store(self.adder.zero, place, align=self.align)
        sums = self._taps(b, args, rows, places)
        before = b.block
        with b.if_then(long):
            totals = [
                self._add(b, total, self._aside(b, place)) for total, place in zip(sums, places, strict=True)
            ]
            inside = b.block
        return [merged(b, pair, (before, inside)) for pair in zip(sums, totals, strict=True)]

    def _aside(self, b: ir.IRBuilder, place: ir.Value) -> ir.Value:
        return b.load(place, align=self.align, typ=self.adder.vector)

    def _add(self, b: ir.IRBuilder, left: ir.Value, right: ir.Value) -> ir.Value:
        return b.fadd(left, right) if self.adder.parts == 1 else b.add(left, right)

    def _gep(self, b: ir.IRBuilder, pointer: ir.Value, offset: ir.Value) -> ir.Value:
        return b.gep(pointer, [offset], source_etype=self.element)

    def _taps(
        self, b: ir.IRBuilder, args: TileArgs, rows: Sequence[ir.Value], places: Sequence[ir.Value]
    ) -> list[ir.Value]:
        step, later_step = b.mul(args.depth, args.rhs_row), b.mul(args.depth, args.later_row)
        entry = b.block
        head, body, end, done = (b.append_basic_block(f"taps.{n}") for n in ("head", "body", "end", "done"))
        b.branch(head)
        b.position_at_end(head)
        tap, filled = b.phi(I64), b.phi(I64)
        table, rhs, later = b.phi(PTR), b.phi(PTR), b.phi(PTR)
        sums = [b.phi(self.adder.vector) for _ in places]
        starts = [c64(0), c64(0), args.table, args.rhs, args.later, *[self.adder.zero] * len(sums)]
        for phi, start in zip([tap, filled, table, rhs, later, *sums], starts, strict=True):
            phi.add_incoming(start, entry)
        b.cbranch(b.icmp_signed("<", tap, args.taps), body, done)

        b.position_at_end(body)
        offsets = [b.load(b.gep(table, [row], source_etype=I64), typ=I64) for row in rows]
        outside = offsets[0]
        for offset in offsets[1:] if self.skips else ():
            outside = b.and_(outside, offset)
        at = [
            b.select(b.icmp_signed("<", offset, c64(0)), args.zeros, self._gep(b, args.a, offset))
            for offset in offsets
        ]
        empty = b.icmp_signed("<=", args.depth, c64(0))
        skipped = b.or_(empty, b.icmp_signed("<", outside, c64(0))) if self.skips else empty
        made, last = self._chunks(b, args, _Tap(at, rhs, later), [filled, *sums], places, (skipped, end))

        b.position_at_end(end)
        kept = [merged(b, pair, (body, last)) for pair in zip([filled, *sums], made, strict=True)]
        steps = [b.add(tap, c64(1)), b.gep(table, [args.table_row], source_etype=I64)]
        steps += [self._gep(b, rhs, step), self._gep(b, later, later_step), *kept]
        for phi, value in zip([tap, table, rhs, later, filled, *sums], steps, strict=True):
            phi.add_incoming(value, end)
        b.branch(head)
        b.position_at_end(done)
        return list(sums)

    def _chunks(
        self,
        b: ir.IRBuilder,
        args: TileArgs,
        tap: _Tap,
        state: Sequence[ir.Value],
        places: Sequence[ir.Value],
        skip: tuple[ir.Value, ir.Block],
    ) -> tuple[list[ir.Value], ir.Block]:
        """Adds a tap piece by piece, none longer than a chunk; goes on at `skip[1]`, at once if `skip[0]`.

        `state`: how many products the accumulators hold, then the accumulators; gives them as they are after
        the tap, and the block in which they are.
        """
        before = b.block
        piece, full, ready, following = (
            b.append_basic_block(f"piece.{n}") for n in ("head", "full", "ready", "end")
        )
        b.cbranch(skip[0], skip[1], piece)
        b.position_at_end(piece)
        start = b.phi(I64)
        held = [b.phi(value.type) for value in state]
        for phi, value in zip([start, *held], [c64(0), *state], strict=True):
            phi.add_incoming(value, before)
        left = b.sub(args.depth, start)
        length = b.select(b.icmp_signed("<", left, self.chunk), left, self.chunk)
        b.cbranch(b.icmp_signed(">", b.add(held[0], length), self.chunk), full, ready)

        b.position_at_end(full)
        for place, total in zip(places, held[1:], strict=True):
            b.store(self._add(b, self._aside(b, place), total), place, align=self.align)
        b.branch(ready)

        b.position_at_end(ready)
        fresh = [c64(0), *[self.adder.zero] * len(places)]
        filled, *sums = (merged(b, pair, (piece, full)) for pair in zip(held, fresh, strict=True))
        stop = b.add(start, length)
        made = self._depth(b, args, tap, sums, (start, stop), following)

        b.position_at_end(following)
        after = [b.add(filled, length), *made]
        for phi, value in zip([start, *held], [stop, *after], strict=True):
            phi.add_incoming(value, following)
        b.cbranch(b.icmp_signed("<", stop, args.depth), piece, skip[1])
        return after, following

    def _depth(
        self,
        b: ir.IRBuilder,
        args: TileArgs,
        tap: _Tap,
        sums: Sequence[ir.Value],
        bounds: tuple[ir.Value, ir.Value],
        end: ir.Block,
    ) -> list[ir.Value]:
        """The loop over some of the depth of a tap, at least one; returns the sums after it."""
        start, stop = bounds
        starts = [start, b.mul(start, args.rhs_row), b.mul(start, args.later_row), *sums]
        before, inner = b.block, b.append_basic_block("depth")
        b.branch(inner)
        b.position_at_end(inner)
        d, at, later_at = b.phi(I64), b.phi(I64), b.phi(I64)
        totals = [b.phi(self.adder.vector) for _ in sums]
        for phi, value in zip([d, at, later_at, *totals], starts, strict=True):
            phi.add_incoming(value, before)
        fetch_early(b, self._gep(b, tap.later, later_at))
        line, lanes = self._gep(b, tap.rhs, at), self.adder.lanes
        columns = [
            b.load(self._gep(b, line, c64(j * lanes)), align=self.align, typ=self.adder.vector)
            for j in range(self.vectors)
        ]
        made: list[ir.Value] = []
        for i, pointer in enumerate(tap.rows):
            factor = in_all_lanes(b, b.load(self._gep(b, pointer, d), typ=self.element), lanes)
            for j, column in enumerate(columns):
                made.append(self.adder.step(b, factor, column, totals[i * self.vectors + j]))
        following = b.add(d, c64(1))
        steps = [following, b.add(at, args.rhs_row), b.add(later_at, args.later_row), *made]
        for phi, value in zip([d, at, later_at, *totals], steps, strict=True):
            phi.add_incoming(value, inner)
        b.cbranch(b.icmp_signed("<", following, stop), inner, end)
        return made
