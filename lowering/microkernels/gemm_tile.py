"""How is the register tile of a matrix product emitted?

`C[rows, columns] = A[rows, K] @ B[K, columns]` for up to `rows` x (`vectors` * `lanes`) elements: every
accumulator stays in a vector register over the whole K loop, each step loads one row of B and
broadcasts one element per row of A. A may have any strides; the rows of B are contiguous and hold
full vectors (the packed layout is zero-padded); C rows are contiguous. Columns beyond the edge are
masked when stored, rows beyond it repeat the last one: a function per power of two of rows and number of
vectors, shared by all kernels of a module, covers every size.

An element of 2 `parts` is a word of two 16-bit integers, one of 4 a word of four bytes, unsigned in A and
signed in B or, with `signed_left`, the other way round; a step multiplies part by part and adds the
products to a 32-bit accumulator.

Large right operands come from far away. A tile may be told what is read after it: each step then asks for
one line of that, so that it is in the second cache when its turn comes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llvmlite import ir

from onnxloom.lowering.cpu_target import CpuTarget

_DOT_BYTES = {
    4: "llvm.x86.avx512.vpdpbusd.128",
    8: "llvm.x86.avx512.vpdpbusd.256",
    16: "llvm.x86.avx512.vpdpbusd.512",
}
"""Lanes -> intrinsic that multiplies bytes and adds each four products to an accumulator."""

_PAIR_SUMS = {
    4: ("sse2", "llvm.x86.sse2.pmadd.wd"),
    8: ("avx2", "llvm.x86.avx2.pmadd.wd"),
    16: ("avx512bw", "llvm.x86.avx512.pmaddw.d.512"),
}
"""Lanes -> feature and intrinsic that multiplies 16-bit integers and adds neighbours; with a following
addition it is one instruction where the processor has that (VNNI)."""

I64 = ir.IntType(64)
I32 = ir.IntType(32)
PTR = ir.PointerType()


def _c64(value: int) -> ir.Constant:
    return ir.Constant(I64, value)


def _splat(b: ir.IRBuilder, scalar: ir.Value, lanes: int) -> ir.Value:
    vector = ir.VectorType(scalar.type, lanes)
    undefined = ir.Constant(vector, ir.Undefined)
    zeros = ir.Constant(ir.VectorType(I32, lanes), [0] * lanes)
    return b.shuffle_vector(b.insert_element(undefined, scalar, ir.Constant(I32, 0)), undefined, zeros)


def _intrinsic(module: ir.Module, name: str, result: ir.Type, args: Sequence[ir.Type]) -> ir.Function:
    found = module.globals.get(name)
    return found if found is not None else ir.Function(module, ir.FunctionType(result, args), name)


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
        self.vector = ir.VectorType(element, self.lanes)
        self.parts, self.signed_left = params["parts"], bool(params["signed_left"])
        bits = 64 if isinstance(element, ir.DoubleType) else 32
        self.suffix = f"v{self.lanes}{'f' if self.parts == 1 else 'i'}{bits}"
        self.align = bits // 8
        self.target = target

    def wider(self) -> _Tile:
        """The tile of one more vector."""
        more = self.vectors + 1
        return _Tile(self.module, self.element, self.rows, more, self.params, self.target, self.fetches)

    def function(self) -> ir.Function:
        """`void(A, row stride, K stride, B, row stride, C, row stride, K, columns, last row)`.

        Then, for tiles that look ahead: address of what is read later, stride per step.
        """
        ahead = "a" if self.looks_ahead else ""
        form = f"{self.suffix}x{self.parts}{'s' if self.signed_left else ''}{ahead}"
        name = f"loom.gemm_tile.{form}.{self.rows}x{self.vectors}"
        found = self.module.globals.get(name)
        if found is not None:
            return found
        types = [PTR, I64, I64, PTR, I64, PTR, I64, I64, I64, I64, *([PTR, I64] if ahead else [])]
        signature = ir.FunctionType(ir.VoidType(), types)
        function = ir.Function(self.module, signature, name)
        function.linkage = "internal"
        function.attributes.add("noinline")
        b = ir.IRBuilder(function.append_basic_block("entry"))
        a, a_row, a_k, rhs, b_row, c, c_row, k, columns, self.last, *later = function.args
        sums = self._accumulate(b, (a, a_row, a_k), (rhs, b_row), k, later)
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
            row = b.select(b.icmp_signed("<", _c64(i), self.last), _c64(i), self.last)
            rows.append(self._gep(b, pointer, b.mul(stride, row)))
        return rows

    def _accumulate(
        self,
        b: ir.IRBuilder,
        lhs: tuple[ir.Value, ir.Value, ir.Value],
        rhs: tuple[ir.Value, ir.Value],
        k: ir.Value,
        later: Sequence[ir.Value],
    ) -> list[list[ir.Value]]:
        """The K loop; returns the accumulators, `rows` x `vectors`."""
        a_rows = self._rows_of(b, lhs[0], lhs[1])
        entry = b.block
        head, body, done = (b.append_basic_block(n) for n in ("k.head", "k.body", "k.done"))
        b.branch(head)
        b.position_at_end(head)
        step, a_offset, b_offset = b.phi(I64), b.phi(I64), b.phi(I64)
        sums = [[b.phi(self.vector) for _ in range(self.vectors)] for _ in range(self.rows)]
        for phi in (step, a_offset, b_offset):
            phi.add_incoming(_c64(0), entry)
        zero = ir.Constant(self.vector, [0.0 if self.parts == 1 else 0] * self.lanes)
        for row in sums:
            for phi in row:
                phi.add_incoming(zero, entry)
        b.cbranch(b.icmp_signed("<", step, k), body, done)
        b.position_at_end(body)
        if later:
            self._fetch(b, self._gep(b, later[0], b.mul(step, later[1])))
        b_line = self._gep(b, rhs[0], b_offset)
        columns = [
            b.load(self._gep(b, b_line, _c64(j * self.lanes)), align=self.align, typ=self.vector)
            for j in range(self.vectors)
        ]
        for pointer, row in zip(a_rows, sums, strict=True):
            scalar = b.load(self._gep(b, pointer, a_offset), typ=self.element)
            factor = _splat(b, scalar, self.lanes)
            for phi, column in zip(row, columns, strict=True):
                phi.add_incoming(self._step(b, factor, column, phi), body)
        step.add_incoming(b.add(step, _c64(1)), body)
        a_offset.add_incoming(b.add(a_offset, lhs[2]), body)
        b_offset.add_incoming(b.add(b_offset, rhs[1]), body)
        b.branch(head)
        b.position_at_end(done)
        return [list(row) for row in sums]

    def _fetch(self, b: ir.IRBuilder, pointer: ir.Value) -> None:
        """Asks for a line to be read soon: into the second cache, the first one is full of this tile's."""
        fetch = _intrinsic(self.module, "llvm.prefetch.p0", ir.VoidType(), [PTR, I32, I32, I32])
        reading, second_cache, data = (ir.Constant(I32, value) for value in (0, 2, 1))
        b.call(fetch, [pointer, reading, second_cache, data])

    def _step(self, b: ir.IRBuilder, factor: ir.Value, column: ir.Value, total: ir.Value) -> ir.Value:
        """`total + factor * column`."""
        if self.parts == 1:
            fma = _intrinsic(self.module, f"llvm.fma.{self.suffix}", self.vector, [self.vector] * 3)
            return b.call(fma, [factor, column, total])
        if self.parts == 4:
            return self._step_of_bytes(b, factor, column, total)
        name = _PAIR_SUMS.get(self.lanes)
        if name is not None and self.target.is_x86 and self.target.has(name[0]):
            halves = ir.VectorType(ir.IntType(16), 2 * self.lanes)
            both = _intrinsic(self.module, name[1], self.vector, [halves, halves])
            return b.add(total, b.call(both, [b.bitcast(factor, halves), b.bitcast(column, halves)]))
        shift = ir.Constant(self.vector, [16] * self.lanes)
        low = b.mul(*(b.ashr(b.shl(x, shift), shift) for x in (factor, column)))
        high = b.mul(*(b.ashr(x, shift) for x in (factor, column)))
        return b.add(total, b.add(low, high))

    def _step_of_bytes(
        self, b: ir.IRBuilder, factor: ir.Value, column: ir.Value, total: ir.Value
    ) -> ir.Value:
        """`total` + the sums of four products."""
        if self.signed_left:
            factor, column = column, factor
        if self.lanes in _DOT_BYTES and self._has_dot_bytes:
            quarters = ir.VectorType(ir.IntType(8), 4 * self.lanes)
            args = [self.vector, quarters, quarters]
            dot = _intrinsic(self.module, _DOT_BYTES[self.lanes], self.vector, args)
            return b.call(dot, [total, b.bitcast(factor, quarters), b.bitcast(column, quarters)])
        down = ir.Constant(self.vector, [24] * self.lanes)
        for part in range(4):
            up = ir.Constant(self.vector, [24 - 8 * part] * self.lanes)
            left, right = b.lshr(b.shl(factor, up), down), b.ashr(b.shl(column, up), down)
            total = b.add(total, b.mul(left, right))
        return total

    @property
    def _has_dot_bytes(self) -> bool:
        if not self.target.is_x86:
            return False
        wide = self.target.has("avx512vnni") and (self.lanes == 16 or self.target.has("avx512vl"))
        return wide or (self.lanes < 16 and self.target.has("avxvnni"))

    def _store(
        self, b: ir.IRBuilder, sums: list[list[ir.Value]], c: ir.Value, c_row: ir.Value, columns: ir.Value
    ) -> None:
        """Writes the tile: plain stores for a full one, masked stores at the right edge."""
        lines = self._rows_of(b, c, c_row)
        full = b.icmp_signed(">=", columns, _c64(self.vectors * self.lanes))
        with b.if_else(full) as (whole, edge):
            with whole:
                for line, row in zip(lines, sums, strict=True):
                    for j, value in enumerate(row):
                        b.store(value, self._gep(b, line, _c64(j * self.lanes)), align=self.align)
            with edge:
                bits = ir.VectorType(ir.IntType(1), self.lanes)
                name = f"llvm.masked.store.{self.suffix}.p0"
                store = _intrinsic(self.module, name, ir.VoidType(), [self.vector, PTR, I32, bits])
                limit = _splat(b, columns, self.lanes)
                for j in range(self.vectors):
                    lanes = [j * self.lanes + lane for lane in range(self.lanes)]
                    mask = b.icmp_signed("<", ir.Constant(ir.VectorType(I64, self.lanes), lanes), limit)
                    for line, row in zip(lines, sums, strict=True):
                        target = self._gep(b, line, _c64(j * self.lanes))
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
    done = builder.append_basic_block("tile.done")
    call_args = [a, a_row, a_k, rhs, b_row, c, c_row, k, columns, builder.sub(rows, _c64(1))]
    if later:
        later = [builder.bitcast(builder.gep(buffers[1], later[:1]), PTR), later[1]]
    switch = builder.switch(rows, done)
    smallest = 1
    for height in _heights(params["rows"]):
        block = builder.append_basic_block(f"tile.{height}")
        for count in range(smallest, height + 1):
            switch.add_case(_c64(count), block)
        smallest = height + 1
        builder.position_at_end(block)
        tile = _Tile(builder.module, element, height, 1, params, target, bool(later))
        _call_narrowest(builder, tile, params["vectors"], columns, call_args, later)
        builder.branch(done)
    builder.position_at_end(done)


def _heights(rows: int) -> list[int]:
    """Row counts tiles are made for: powers of two, and the largest."""
    powers = [1 << i for i in range(rows.bit_length()) if 1 << i < rows]
    return [*powers, rows]


def _call_narrowest(
    builder: ir.IRBuilder,
    tile: _Tile,
    most: int,
    columns: ir.Value,
    args: Sequence[ir.Value],
    later: Sequence[ir.Value],
) -> None:
    """Calls the tile of the fewest vectors, at least those of `tile` and at most `most`, for all columns."""
    if tile.vectors == most:
        tile.call(builder, args, later)
        return
    fits = builder.icmp_signed("<=", columns, _c64(tile.vectors * tile.lanes))
    with builder.if_else(fits) as (narrow, wide):
        with narrow:
            tile.call(builder, args, later)
        with wide:
            _call_narrowest(builder, tile.wider(), most, columns, args, later)
