"""How are a few rows woven into one in registers? The first element of each, the second of each, ...

A vector of each row is loaded; each vector of the result picks its lanes from them by two-operand shuffles,
one row more at a time.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llvmlite import ir

from onnxloom.lowering.cpu_target import CpuTarget

I32 = ir.IntType(32)
I64 = ir.IntType(64)


def emit_llvm(
    builder: ir.IRBuilder, params: dict[str, Any], args: Sequence[ir.Value], target: CpuTarget
) -> None:
    """Emits one tile at the builder's position.

    Args:
        params: `lanes`: columns of the tile; `rows`: how many rows are woven together, 2 or more.
        args: buffers source and target of one element type; offset and row stride of the source, offset of
            the target. Offsets and strides count elements; `rows * lanes` contiguous elements are written.
    """
    source, sink, source_at, source_row, sink_at = args
    element = source.type.pointee
    lanes, count = params["lanes"], params["rows"]
    vector = ir.VectorType(element, lanes).as_pointer()
    align = 8 if str(element) in ("double", "i64") else 4
    rows: list[ir.Value] = []
    for number in range(count):
        at = builder.add(source_at, builder.mul(source_row, ir.Constant(I64, number)))
        place = builder.bitcast(builder.gep(source, [at]), vector)
        rows.append(builder.load(place, align=align))
    for number in range(count):
        at = builder.add(sink_at, ir.Constant(I64, number * lanes))
        place = builder.bitcast(builder.gep(sink, [at]), vector)
        builder.store(_woven(builder, rows, number, lanes), place, align=align)


def _woven(builder: ir.IRBuilder, rows: Sequence[ir.Value], number: int, lanes: int) -> ir.Value:
    """Vector `number` of the result."""
    elements = range(number * lanes, (number + 1) * lanes)
    picks = [(element % len(rows), element // len(rows)) for element in elements]
    result = rows[0]
    for row in range(1, len(rows)):
        # Lanes of rows below are in place, but for those of row 0, which the first shuffle moves.
        order: list[int] = []
        for lane, (of, at) in enumerate(picks):
            kept = at if row == 1 and of == 0 else lane
            order.append(lanes + at if of == row else kept)
        mask = ir.Constant(ir.VectorType(I32, lanes), order)
        result = builder.shuffle_vector(result, rows[row], mask)
    return result
