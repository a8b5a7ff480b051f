"""How is the register tile of a matrix product emitted?

`C[rows, columns] = A[rows, K] @ B[K, columns]` for up to `rows` x (`vectors` * `lanes`) elements: every
accumulator stays in a vector register over the whole K loop, each step loads one row of B and
broadcasts one element per row of A. A may have any strides; the rows of B are contiguous and hold
full vectors (the packed layout is zero-padded); C rows are contiguous. Columns beyond the edge are
masked when stored, rows beyond it repeat the last one: a function per power of two of rows and number of
vectors, shared by all kernels of a module, covers every size.

Elements of several `parts` are words of integers; see `multiply_add`. Floats are added up in chunks of the K
loop: a chunk that is full goes to memory, and the accumulators begin again.

Large right operands come from far away. A tile may be told what is read after it: each step then asks for
one line of that, so that it is in the second cache when its turn comes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llvmlite import ir

from onnxloom.lowering.cpu_target import CpuTarget
from onnxloom.lowering.emit_llvm.splats import in_all_lanes
from onnxloom.lowering.microkernels.aside import memory_aside, merged
from onnxloom.lowering.microkernels.multiply_add import MultiplyAdd, intrinsic
from onnxloom.lowering.microkernels.tile_code import by_height, by_width, c64, column_masks, fetch_early

I64 = ir.IntType(64)
I32 = ir.IntType(32)
PTR = ir.PointerType()

CHUNK = 256
"""Products that are added up before the sum is put aside: onnxruntime's sums are as long."""


class _Tile:
    """Emits the function of one row count."""

    def __init__(
        self,
        module: ir.Module,
        element: ir.Type,
        rows: int,
        vectors: int,
        params: dict[str, Any],
        target: CpuTarget,
        fetches: bool,
    ):
        self.module, self.element, self.rows, self.vectors = module, element, rows, vectors
        # Only the largest tile: results of fewer rows read their right operand once, in a stream.
        largest = (rows, vectors) == (params["rows"], params["vectors"])
        self.fetches, self.looks_ahead = fetches, fetches and largest
        self.params, self.lanes = params, params["lanes"]
        signed_left = bool(params["signed_left"])
        self.adder = MultiplyAdd(module, element, self.lanes, target, params["parts"], signed_left)
        self.vector, self.align = self.adder.vector, self.adder.bits // 8
        self.target = target

    def function(self) -> ir.Function:
        """`void(A, row stride, K stride, B, row stride, C, row stride, K, columns, last row, aside)`.

        `aside` is memory for all accumulators. Then, for tiles that look ahead: address of what is read
        later, stride per step.
        """
        ahead = "a" if self.looks_ahead else ""
        name = f"loom.gemm_tile.{self.adder.form}{ahead}.{self.rows}x{self.vectors}"
        found = self.module.globals.get(name)
        if found is not None:
            return found
        types = [PTR, I64, I64, PTR, I64, PTR, I64, I64, I64, I64, PTR, *([PTR, I64] if ahead else [])]
        signature = ir.FunctionType(ir.VoidType(), types)
        function = ir.Function(self.module, signature, name)
        function.linkage = "internal"
        function.attributes.add("noinline")
        b = ir.IRBuilder(function.append_basic_block("entry"))
        a, a_row, a_k, rhs, b_row, c, c_row, k, columns, self.last, aside, *later = function.args
        sums = self._accumulate(b, (a, a_row, a_k), (rhs, b_row), k, (aside, later))
        self._store(b, sums, c, c_row, columns)
        b.ret_void()
        return function

    def call(self, b: ir.IRBuilder, args: Sequence[ir.Value], later: Sequence[ir.Value]) -> None:
        """Calls the function of the tile."""
        b.call(self.function(), [*args, *(later if self.looks_ahead else [])])

    def _gep(self, b: ir.IRBuilder, pointer: ir.Value, offset: ir.Value) -> ir.Value:
        return b.gep(pointer, [offset], source_etype=self.element)

    def _rows_of(self, b: ir.IRBuilder, pointer: ir.Value, stride: ir.Value) -> list[ir.Value]:
        rows: list[ir.Value] = [pointer]
        for i in range(1, self.rows):
            row = b.select(b.icmp_signed("<", c64(i), self.last), c64(i), self.last)
            rows.append(self._gep(b, pointer, b.mul(stride, row)))
        return rows

    def _accumulate(
        self,
        b: ir.IRBuilder,
        lhs: tuple[ir.Value, ir.Value, ir.Value],
        rhs: tuple[ir.Value, ir.Value],
        k: ir.Value,
        memory: tuple[ir.Value, Sequence[ir.Value]],
    ) -> list[list[ir.Value]]:
        """The K loop; returns the accumulators, `rows` x `vectors`."""
        a_rows = self._rows_of(b, lhs[0], lhs[1])
        aside, later = memory
        count = self.rows * self.vectors
        if self.adder.parts != 1:
            start = (c64(0), c64(0), c64(0))
            sums, _ = self._chunk(b, (a_rows, lhs[2]), rhs, start, k, later)
            return self._by_row(sums)
        places = [b.gep(aside, [c64(i)], source_etype=self.vector) for i in range(count)]
        is_long = b.icmp_signed(">", k, c64(CHUNK))
        with b.if_then(is_long):
            for place in places:
                b.store(self.adder.zero, place, align=self.align)
        entry, chunk = b.block, b.append_basic_block("chunk")
        b.branch(chunk)
        b.position_at_end(chunk)
        start = (b.phi(I64), b.phi(I64), b.phi(I64))
        for phi in start:
            phi.add_incoming(c64(0), entry)
        left = b.sub(k, start[0])
        stop = b.add(start[0], b.select(b.icmp_signed("<", left, c64(CHUNK)), left, c64(CHUNK)))
        sums, after = self._chunk(b, (a_rows, lhs[2]), rhs, start, stop, later)
        put, end = b.append_basic_block("chunk.aside"), b.append_basic_block("chunk.last")
        b.cbranch(b.icmp_signed("<", stop, k), put, end)
        b.position_at_end(put)
        for total, place in zip(sums, places, strict=True):
            b.store(b.fadd(total, b.load(place, align=self.align, typ=self.vector)), place, align=self.align)
        for phi, value in zip(start, after, strict=True):
            phi.add_incoming(value, put)
        b.branch(chunk)
        b.position_at_end(end)
        before = b.block
        with b.if_then(is_long):
            totals = [
                b.fadd(total, b.load(place, align=self.align, typ=self.vector))
                for total, place in zip(sums, places, strict=True)
            ]
            inside = b.block
        return self._by_row([merged(b, pair, (before, inside)) for pair in zip(sums, totals, strict=True)])

    def _by_row(self, sums: Sequence[ir.Value]) -> list[list[ir.Value]]:
        return [list(sums[i : i + self.vectors]) for i in range(0, len(sums), self.vectors)]

    def _chunk(
        self,
        b: ir.IRBuilder,
        lhs: tuple[Sequence[ir.Value], ir.Value],
        rhs: tuple[ir.Value, ir.Value],
        start: Sequence[ir.Value],
        stop: ir.Value,
        later: Sequence[ir.Value],
    ) -> tuple[list[ir.Value], list[ir.Value]]:
        """The steps up to `stop`, from `start`: the step, and the offsets in A and B.

        Gives the accumulators, and where the next chunk starts.
        """
        a_rows, a_step = lhs
        entry = b.block
        head, body, done = (b.append_basic_block(n) for n in ("k.head", "k.body", "k.done"))
        b.branch(head)
        b.position_at_end(head)
        step, a_offset, b_offset = b.phi(I64), b.phi(I64), b.phi(I64)
        sums = [b.phi(self.vector) for _ in range(self.rows * self.vectors)]
        for phi, value in zip((step, a_offset, b_offset), start, strict=True):
            phi.add_incoming(value, entry)
        for phi in sums:
            phi.add_incoming(self.adder.zero, entry)
        b.cbranch(b.icmp_signed("<", step, stop), body, done)
        b.position_at_end(body)
        if later:
            fetch_early(b, self._gep(b, later[0], b.mul(step, later[1])))
        b_line = self._gep(b, rhs[0], b_offset)
        columns = [
            b.load(self._gep(b, b_line, c64(j * self.lanes)), align=self.align, typ=self.vector)
            for j in range(self.vectors)
        ]
        for pointer, row in zip(a_rows, self._by_row(sums), strict=True):
            scalar = b.load(self._gep(b, pointer, a_offset), typ=self.element)
            factor = in_all_lanes(b, scalar, self.lanes)
            for phi, column in zip(row, columns, strict=True):
                phi.add_incoming(self.adder.step(b, factor, column, phi), body)
        step.add_incoming(b.add(step, c64(1)), body)
        a_offset.add_incoming(b.add(a_offset, a_step), body)
        b_offset.add_incoming(b.add(b_offset, rhs[1]), body)
        b.branch(head)
        b.position_at_end(done)
        return list(sums), [step, a_offset, b_offset]

    def _store(
        self, b: ir.IRBuilder, sums: list[list[ir.Value]], c: ir.Value, c_row: ir.Value, columns: ir.Value
    ) -> None:
        """Writes the tile: plain stores for a full one, masked stores at the right edge."""
        lines = self._rows_of(b, c, c_row)
        full = b.icmp_signed(">=", columns, c64(self.vectors * self.lanes))
        with b.if_else(full) as (whole, edge):
            with whole:
                for line, row in zip(lines, sums, strict=True):
                    for j, value in enumerate(row):
                        b.store(value, self._gep(b, line, c64(j * self.lanes)), align=self.align)
            with edge:
                bits = ir.VectorType(ir.IntType(1), self.lanes)
                name = f"llvm.masked.store.{self.adder.suffix}.p0"
                store = intrinsic(self.module, name, ir.VoidType(), [self.vector, PTR, I32, bits])
                for j, mask in enumerate(column_masks(b, columns, self.vectors, self.lanes)):
                    for line, row in zip(lines, sums, strict=True):
                        target = self._gep(b, line, c64(j * self.lanes))
                        b.call(store, [row[j], target, ir.Constant(I32, self.align), mask])


def emit_llvm(
    builder: ir.IRBuilder, params: dict[str, Any], args: Sequence[ir.Value], target: CpuTarget
) -> None:
    """Emits one tile at the builder's position.

    Args:
        params: `rows`, `vectors`, `lanes`: the largest tile; `parts`: integers per element;
            `signed_left`.
        args: buffers A, B, C (f32, f64, or i32 of several parts); A: offset, row stride, K stride; B: offset,
            row stride; C: offset, row stride; K, rows (at most `params["rows"]`), columns; if the tile is
            to look ahead, offset in B and stride per step of what is read later. Offsets and strides
            count elements.
    """
    buffers, (a_at, a_row, a_k, b_at, b_row, c_at, c_row, k, rows, columns, *later) = args[:3], args[3:]
    element = buffers[0].type.pointee
    a, rhs, c = (
        builder.bitcast(builder.gep(buffer, [at]), PTR)
        for buffer, at in zip(buffers, (a_at, b_at, c_at), strict=True)
    )
    call_args = [a, a_row, a_k, rhs, b_row, c, c_row, k, columns, builder.sub(rows, c64(1))]
    call_args.append(memory_aside(builder, element, params))
    if later:
        later = [builder.bitcast(builder.gep(buffers[1], later[:1]), PTR), later[1]]
    lanes, most = params["lanes"], params["vectors"]

    def emit(height: int) -> None:
        def call(vectors: int) -> None:
            tile = _Tile(builder.module, element, height, vectors, params, target, bool(later))
            tile.call(builder, call_args, later)

        by_width(builder, columns, lanes, most, call)

    by_height(builder, rows, _heights(params["rows"]), emit)


def _heights(rows: int) -> list[int]:
    """Row counts tiles are made for: powers of two, and the largest."""
    powers = [1 << i for i in range(rows.bit_length()) if 1 << i < rows]
    return [*powers, rows]
