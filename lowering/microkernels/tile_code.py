"""What do register tiles have in common? How one of several is chosen, masks of columns, early fetches.

A tile is a function per number of rows and of vectors; a kernel calls the smallest that holds what is left.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from llvmlite import ir

from onnxloom.lowering.emit_llvm.splats import in_all_lanes
from onnxloom.lowering.microkernels.multiply_add import intrinsic

I64 = ir.IntType(64)
I32 = ir.IntType(32)
PTR = ir.PointerType()


def c64(value: int) -> ir.Constant:
    """An i64 constant."""
    return ir.Constant(I64, value)


def column_masks(b: ir.IRBuilder, columns: ir.Value, vectors: int, lanes: int) -> list[ir.Value]:
    """Per vector of a tile the lanes that are among the first `columns` columns."""
    limit = in_all_lanes(b, columns, lanes)
    masks: list[ir.Value] = []
    for first in range(0, vectors * lanes, lanes):
        numbers = ir.Constant(ir.VectorType(I64, lanes), list(range(first, first + lanes)))
        masks.append(b.icmp_signed("<", numbers, limit))
    return masks


def fetch_early(b: ir.IRBuilder, pointer: ir.Value) -> None:
    """Asks for a line to be read soon: into the second cache, the first one is full of this tile's."""
    fetch = intrinsic(b.module, "llvm.prefetch.p0", ir.VoidType(), [PTR, I32, I32, I32])
    reading, second_cache, data = (ir.Constant(I32, value) for value in (0, 2, 1))
    b.call(fetch, [pointer, reading, second_cache, data])


def by_height(b: ir.IRBuilder, rows: ir.Value, heights: Sequence[int], emit: Callable[[int], None]) -> None:
    """`emit(height)` for the least of the ascending `heights` that is at least `rows`; nothing for 0 rows."""
    done = b.append_basic_block("tile.done")
    switch = b.switch(rows, done)
    smallest = 1
    for height in heights:
        block = b.append_basic_block(f"tile.{height}")
        for count in range(smallest, height + 1):
            switch.add_case(c64(count), block)
        smallest = height + 1
        b.position_at_end(block)
        emit(height)
        b.branch(done)
    b.position_at_end(done)


def by_width(
    b: ir.IRBuilder, columns: ir.Value, lanes: int, most: int, emit: Callable[[int], None], vectors: int = 1
) -> None:
    """`emit(count)` for the least number of vectors from `vectors` to `most` that holds all columns."""
    if vectors == most:
        emit(vectors)
        return
    fits = b.icmp_signed("<=", columns, c64(vectors * lanes))
    with b.if_else(fits) as (narrow, wide):
        with narrow:
            emit(vectors)
        with wide:
            by_width(b, columns, lanes, most, emit, vectors + 1)
