"""How is a tile finished that lies in memory? Vector by vector, into the result."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from llvmlite import ir

from onnxloom.lowering.microkernels.finish_reads import ALL_ROWS, BY_COLUMN, Finishing, FinishRead
from onnxloom.lowering.microkernels.multiply_add import MultiplyAdd, intrinsic
from onnxloom.lowering.microkernels.tile_code import column_masks

I64 = ir.IntType(64)
I32 = ir.IntType(32)
PTR = ir.PointerType()


def finish_function(adder: MultiplyAdd, finishing: Finishing) -> ir.Function:
    """`void(sums, row stride, C, row stride, columns, last row, address and row stride per operand)`.

    Strides count elements; a row of `sums` holds whole vectors.
    """
    name = f"loom.finish.{adder.form}.{finishing.finish.key}"
    found = adder.module.globals.get(name)
    if found is not None:
        return found
    types = [PTR, I64, PTR, I64, I64, I64, *[PTR, I64] * len(finishing.forms)]
    function = ir.Function(adder.module, ir.FunctionType(ir.VoidType(), types), name)
    function.linkage = "internal"
    function.attributes.add("noinline")
    b = ir.IRBuilder(function.append_basic_block("entry"))
    sums, sums_row, c, c_row, columns, last, *operands = function.args

    def place(pointer: ir.Value, offset: ir.Value) -> ir.Value:
        return b.gep(pointer, [offset], source_etype=adder.element)

    lanes, align = adder.lanes, adder.bits // 8
    with _loop(b, b.add(last, ir.Constant(I64, 1)), 1) as row, _loop(b, columns, lanes) as column:
        (mask,) = column_masks(b, b.sub(columns, column), 1, lanes)
        value = place(place(sums, b.mul(row, sums_row)), column)
        values: list[ir.Value] = [b.load(value, align=align, typ=adder.vector)]
        for form, first, stride in zip(finishing.forms, operands[::2], operands[1::2], strict=True):
            line = first if form & ALL_ROWS else place(first, b.mul(row, stride))
            line = place(line, column) if form & BY_COLUMN else line
            values.append(FinishRead(adder, form, [line], [mask]).vector(b, 0, 0))
        target = place(place(c, b.mul(row, c_row)), column)
        signature = [adder.vector, PTR, I32, mask.type]
        store = intrinsic(adder.module, f"llvm.masked.store.{adder.suffix}.p0", ir.VoidType(), signature)
        b.call(store, [finishing.finish.emit(b, values), target, ir.Constant(I32, align), mask])
    b.ret_void()
    return function


@contextmanager
def _loop(b: ir.IRBuilder, stop: ir.Value, step: int) -> Generator[ir.Value]:
    """`for i in range(0, stop, step)`; `stop` is at least 1."""
    before, body = b.block, b.append_basic_block("loop")
    done = b.append_basic_block("done")
    b.branch(body)
    b.position_at_end(body)
    i = b.phi(I64)
    i.add_incoming(ir.Constant(I64, 0), before)
    yield i
    following = b.add(i, ir.Constant(I64, step))
    i.add_incoming(following, b.block)
    b.cbranch(b.icmp_signed("<", following, stop), body, done)
    b.position_at_end(done)
