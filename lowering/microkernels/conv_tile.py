"""How is the register tile of a channels-last convolution emitted?

`C[rows, columns] = sum over taps and depth of A[table[tap, row] + d] * B[tap * depth + d, columns]`: a row
is a result point, which reads for each tap a run of neighbouring elements at an offset of its own; where
that is negative the tap lies outside of the image and a border is read instead. Where that adds nothing,
taps that lie outside for all rows are skipped. As in `gemm_tile`, every accumulator stays in a register
over both loops, columns beyond the edge are masked when stored, rows beyond it repeat the last one, and
each step asks for one line of what is read after this tile. A `finish` is computed on the accumulators of a
tile of all rows; what it reads beside them is one number per row, per column or both. Tiles of fewer rows are
finished in memory, so that kernels with other finishes have them in common.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llvmlite import ir

from onnxloom.lowering.cpu_target import CpuTarget
from onnxloom.lowering.microkernels import Finish
from onnxloom.lowering.microkernels.aside import memory_aside
from onnxloom.lowering.microkernels.finish_in_memory import finish_function
from onnxloom.lowering.microkernels.finish_reads import ALL_ROWS, Finishing, FinishRead
from onnxloom.lowering.microkernels.multiply_add import MultiplyAdd, intrinsic
from onnxloom.lowering.microkernels.tap_loops import TapLoops, TileArgs
from onnxloom.lowering.microkernels.tile_code import by_height, by_width, c64, column_masks

I64 = ir.IntType(64)
I32 = ir.IntType(32)
PTR = ir.PointerType()


_TYPES = [PTR, PTR, I64, PTR, I64, PTR, PTR, I64, I64, I64, I64, I64, PTR, I64, PTR]


class _Tile:
    """Emits the function of one number of rows and vectors."""

    def __init__(self, adder: MultiplyAdd, rows: int, vectors: int, skips: bool, finishing: Finishing | None):
        self.module, self.element = adder.module, adder.element
        self.finishing = finishing
        self.adder, self.rows, self.vectors, self.lanes = adder, rows, vectors, adder.lanes
        self.skips = skips
        self.vector, self.suffix, self.align = adder.vector, adder.suffix, adder.bits // 8

    def function(self) -> ir.Function:
        """A function of `TileArgs`."""
        form = f"{self.adder.form}{'' if self.skips else 'b'}"
        types = _TYPES
        if self.finishing is not None:
            form += f".{self.finishing.finish.key}"
            types = _TYPES + [PTR, I64] * len(self.finishing.forms)
        name = f"loom.conv_tile.{form}.{self.rows}x{self.vectors}"
        found = self.module.globals.get(name)
        if found is not None:
            return found
        function = ir.Function(self.module, ir.FunctionType(ir.VoidType(), types), name)
        function.linkage = "internal"
        function.attributes.add("noinline")
        b = ir.IRBuilder(function.append_basic_block("entry"))
        count = len(_TYPES)
        named: dict[str, Any] = dict(zip(TileArgs.__dataclass_fields__, function.args[:count], strict=False))
        args = TileArgs(**named, operands=function.args[count:])
        loops = TapLoops(self.adder, self.rows, self.vectors, self.skips)
        self._store(b, loops.emit(b, args, self._rows(b, args.last)), args)
        b.ret_void()
        return function

    def _gep(self, b: ir.IRBuilder, pointer: ir.Value, offset: ir.Value) -> ir.Value:
        return b.gep(pointer, [offset], source_etype=self.element)

    def _rows(self, b: ir.IRBuilder, last: ir.Value) -> list[ir.Value]:
        """Row numbers, those beyond the last one repeated."""
        rows: list[ir.Value] = [c64(0)]
        for i in range(1, self.rows):
            rows.append(b.select(b.icmp_signed("<", c64(i), last), c64(i), last))
        return rows

    def _store(self, b: ir.IRBuilder, sums: Sequence[ir.Value], args: TileArgs) -> None:
        """Writes the tile: plain stores for a full one, masked stores at the right edge."""
        full = b.and_(
            b.icmp_signed(">=", args.columns, c64(self.vectors * self.lanes)),
            b.icmp_signed("==", args.last, c64(self.rows - 1)),
        )
        with b.if_else(full) as (whole, edge):
            with whole:
                lines = self._lines(b, args.c, args.c_row, None)
                reads = self._operands(b, args, None)
                for i, value in enumerate(sums):
                    row, j = divmod(i, self.vectors)
                    done = self._finished(b, value, reads, row, j)
                    b.store(done, self._gep(b, lines[row], c64(j * self.lanes)), align=self.align)
            with edge:
                lines = self._lines(b, args.c, args.c_row, args.last)
                masks = column_masks(b, args.columns, self.vectors, self.lanes)
                reads = self._operands(b, args, masks)
                types = [self.vector, PTR, I32, masks[0].type]
                store = intrinsic(self.module, f"llvm.masked.store.{self.suffix}.p0", ir.VoidType(), types)
                for i, value in enumerate(sums):
                    row, j = divmod(i, self.vectors)
                    target = self._gep(b, lines[row], c64(j * self.lanes))
                    done = self._finished(b, value, reads, row, j)
                    b.call(store, [done, target, ir.Constant(I32, self.align), masks[j]])

    def _lines(
        self, b: ir.IRBuilder, first: ir.Value, stride: ir.Value, last: ir.Value | None
    ) -> list[ir.Value]:
        """Addresses of the rows; of those there are, where `last` is given."""
        if last is not None:
            return [self._gep(b, first, b.mul(stride, row)) for row in self._rows(b, last)]
        lines = [first]
        for _ in range(1, self.rows):
            lines.append(self._gep(b, lines[-1], stride))
        return lines

    def _operands(
        self, b: ir.IRBuilder, args: TileArgs, masks: Sequence[ir.Value] | None
    ) -> list[FinishRead]:
        """How each operand of the finish is read."""
        reads: list[FinishRead] = []
        for n, form in enumerate(() if self.finishing is None else self.finishing.forms):
            first, stride = args.operands[2 * n : 2 * n + 2]
            last = None if masks is None else args.last
            lines = [first] if form & ALL_ROWS else self._lines(b, first, stride, last)
            reads.append(FinishRead(self.adder, form, lines, masks))
        return reads

    def _finished(
        self, b: ir.IRBuilder, value: ir.Value, reads: Sequence[FinishRead], row: int, j: int
    ) -> ir.Value:
        if self.finishing is None:
            return value
        return self.finishing.finish.emit(b, [value, *(read.vector(b, row, j) for read in reads)])


def emit_llvm(
    builder: ir.IRBuilder,
    params: dict[str, Any],
    args: Sequence[ir.Value],
    target: CpuTarget,
    finish: Finish | None = None,
) -> None:
    """Emits one tile at the builder's position.

    Args:
        params: `rows`, `vectors`, `lanes`: the largest tile; `parts`: integers per element (see
            `multiply_add`); `skips`: whether what lies outside of the image adds nothing; `operands`: of each
            operand of the finish the sum of BY_COLUMN and ALL_ROWS where they hold.
        args: buffers A, table (i64), B, operands of the finish, C; A: offset; table: offset, stride per tap;
            B: offset, row stride, offset of `depth` elements that are read outside of the image; C: offset,
            row stride; taps, depth, rows (at most `params["rows"]`), columns; offset in B and stride per step
            of what is read later; per operand of the finish offset and row stride. Offsets and strides count
            elements.
    """
    forms = params["operands"]
    (a, table, rhs, *others, c), scalars = args[: 4 + len(forms)], args[4 + len(forms) :]
    a_at, table_at, table_row, rhs_at, rhs_row, zeros_at, c_at, c_row, *rest = scalars
    taps, depth, rows, columns, later_at, later_row, *lines = rest
    element = a.type.pointee

    def at(buffer: ir.Value, offset: ir.Value) -> ir.Value:
        return builder.bitcast(builder.gep(buffer, [offset]), PTR)

    last = builder.sub(rows, c64(1))
    call_args = [
        at(a, a_at), at(table, table_at), table_row, at(rhs, rhs_at), rhs_row, at(rhs, zeros_at), at(c, c_at),
        c_row, taps, depth, columns, last, at(rhs, later_at), later_row,
        memory_aside(builder, element, params),
    ]  # fmt: skip
    operands: list[ir.Value] = []
    for buffer, offset, stride in zip(others, lines[::2], lines[1::2], strict=True):
        operands += [at(buffer, offset), stride]
    finishing = None if finish is None else Finishing(finish, forms)
    aside, width = call_args[-1], c64(params["vectors"] * params["lanes"])
    in_memory = [*call_args[:6], aside, width, *call_args[8:]]
    adder = MultiplyAdd(builder.module, element, params["lanes"], target, params["parts"])

    def emit(height: int) -> None:
        whole = finishing is None or height == params["rows"]

        def call(vectors: int) -> None:
            tile = _Tile(adder, height, vectors, bool(params["skips"]), finishing if whole else None)
            builder.call(tile.function(), [*call_args, *operands] if whole else in_memory)

        by_width(builder, columns, params["lanes"], params["vectors"], call)
        if finishing is not None and not whole:
            finish_args = [aside, width, *call_args[6:8], columns, last, *operands]
            builder.call(finish_function(adder, finishing), finish_args)

    by_height(builder, rows, heights(params["rows"]), emit)


def heights(rows: int) -> list[int]:
    """Row counts tiles are made for: powers of four, the largest and the one before it.

    Each is a function for each number of vectors, which takes a while to compile.
    """
    powers = {4**i for i in range(rows.bit_length()) if 4**i < rows}
    return sorted({*powers, max(rows - 1, 1), rows})
