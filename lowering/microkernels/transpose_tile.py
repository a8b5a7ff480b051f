"""How is a square tile transposed in registers?

Rows are loaded as vectors; at each stage pairs of vectors exchange the halves of ever shorter runs of
lanes, so that after log2(lanes) stages row `i` holds what was column `i`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llvmlite import ir

from onnxloom.lowering.cpu_target import CpuTarget

I32 = ir.IntType(32)
I64 = ir.IntType(64)
PTR = ir.PointerType()


def emit_llvm(
    builder: ir.IRBuilder, params: dict[str, Any], args: Sequence[ir.Value], target: CpuTarget
) -> None:
    """Emits one tile at the builder's position.

    Args:
        params: `lanes`: rows and columns of the tile, a power of two.
        args: buffers source and target of one element type; source: offset, row stride; target: offset,
            row stride. Offsets and strides count elements; columns are contiguous on both sides.
    """
    source, sink, source_at, source_row, sink_at, sink_row = args
    function = _function(builder.module, source.type.pointee, params["lanes"])
    first = builder.bitcast(builder.gep(source, [source_at]), PTR)
    target_first = builder.bitcast(builder.gep(sink, [sink_at]), PTR)
    builder.call(function, [first, source_row, target_first, sink_row])


def _function(module: ir.Module, element: ir.Type, lanes: int) -> ir.Function:
    """`void(source, row stride, target, row stride)`, shared by all kernels of a module."""
    name = f"loom.transpose_tile.{element}.{lanes}"
    found = module.globals.get(name)
    if found is not None:
        return found
    function = ir.Function(module, ir.FunctionType(ir.VoidType(), [PTR, I64, PTR, I64]), name)
    function.linkage = "internal"
    function.attributes.add("noinline")
    b = ir.IRBuilder(function.append_basic_block("entry"))
    source, source_row, sink, sink_row = function.args
    vector = ir.VectorType(element, lanes)
    align = 8 if str(element) in ("double", "i64") else 4
    rows: list[ir.Value] = [
        b.load(line, align=align, typ=vector) for line in _lines(b, source, source_row, element, lanes)
    ]
    distance = lanes // 2
    while distance:
        rows = _exchanged(b, rows, distance)
        distance //= 2
    for line, row in zip(_lines(b, sink, sink_row, element, lanes), rows, strict=True):
        b.store(row, line, align=align)
    b.ret_void()
    return function


def _lines(
    b: ir.IRBuilder, first: ir.Value, stride: ir.Value, element: ir.Type, count: int
) -> list[ir.Value]:
    """Pointers to the rows of a tile."""
    offsets = [b.mul(stride, ir.Constant(I64, i)) for i in range(count)]
    return [b.gep(first, [offset], source_etype=element) for offset in offsets]


def _exchanged(b: ir.IRBuilder, rows: Sequence[ir.Value], distance: int) -> list[ir.Value]:
    """Bit `distance` of a row's number swapped with that of the lane."""
    lanes, result = len(rows), list(rows)
    for i in range(lanes):
        if i & distance:
            continue
        low = [lane if not lane & distance else lanes + lane - distance for lane in range(lanes)]
        high = [lane + distance if not lane & distance else lanes + lane for lane in range(lanes)]
        pair = rows[i], rows[i + distance]
        for place, order in ((i, low), (i + distance, high)):
            result[place] = b.shuffle_vector(*pair, ir.Constant(ir.VectorType(I32, lanes), order))
    return result
