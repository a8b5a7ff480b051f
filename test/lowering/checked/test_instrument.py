"""What does a check say of the forms of access that kernels have? Functions in LLVM IR, with checks added."""

from __future__ import annotations

import ctypes
from collections.abc import Callable

import numpy as np
import pytest
from llvmlite import ir

from onnxloom.errors import PassError
from onnxloom.lowering.checked.fault import FAULT_BYTES, Fault
from onnxloom.lowering.checked.instrument import Entry, add_checks
from onnxloom.lowering.emit_llvm.kernel import ENTRY_TYPE
from onnxloom.lowering.kernel_library import KernelLibrary
from onnxloom.lowering.object_code import compile_object

I1, I32, I64, F32, PTR = ir.IntType(1), ir.IntType(32), ir.IntType(64), ir.FloatType(), ir.PointerType()
V4 = ir.VectorType(F32, 4)

Emit = Callable[[ir.IRBuilder, ir.Value, ir.Value], None]
"""Given the address of a buffer and a number."""


def add_kernel(module: ir.Module, emit: Emit) -> Entry:
    """A kernel of one buffer and one size."""
    types = [PTR, I64, I64, I64, I64]
    body = ir.Function(module, ir.FunctionType(ir.VoidType(), types), "k.body")
    body.linkage = "internal"
    b = ir.IRBuilder(body.append_basic_block("entry"))
    emit(b, body.args[0], body.args[1])
    b.ret_void()
    entry = ir.Function(module, ENTRY_TYPE, "k")
    b = ir.IRBuilder(entry.append_basic_block("entry"))
    slots = [b.gep(entry.args[0], [ir.Constant(I64, n)], source_etype=I64) for n in range(2)]
    args = [b.load(slots[0], typ=PTR), b.load(slots[1], typ=I64)]
    b.call(body, [*args, *entry.args[1:]])
    b.ret_void()
    return Entry(entry, buffers=1, sizes=1)


def run(emit: Emit, number: int, floats: int = 8, start: int = 0) -> Fault | None:
    """The fault of a kernel run on a buffer that begins `start` bytes behind a multiple of 64."""
    data = compile_object(["k"], lambda module: add_checks(module, [add_kernel(module, emit)]))
    library = KernelLibrary([data], {"k": "k"})
    memory = np.zeros(1024, np.uint8)
    base = memory.ctypes.data
    base += -base % 64 + start
    record = np.zeros(FAULT_BYTES // 8, np.int64)
    words = np.array([base, number, 4 * floats, record.ctypes.data], np.int64)
    kernel = ctypes.CFUNCTYPE(None, *[ctypes.c_int64] * 4)(library.address("k"))
    kernel(words.ctypes.data, 0, 0, 0)
    return Fault.read(record.tolist())


def place(b: ir.IRBuilder, buffer: ir.Value, number: ir.Value) -> ir.Value:
    return b.gep(buffer, [number], source_etype=F32, inbounds=True)


def vector_store(align: int | None) -> Emit:
    def emit(b: ir.IRBuilder, buffer: ir.Value, number: ir.Value) -> None:
        b.store(ir.Constant(V4, [1.0] * 4), place(b, buffer, number), align=align)

    return emit


def masked(lanes: list[int], is_store: bool) -> Emit:
    def emit(b: ir.IRBuilder, buffer: ir.Value, number: ir.Value) -> None:
        bits = ir.VectorType(I1, 4)
        align, mask, zero = ir.Constant(I32, 4), ir.Constant(bits, lanes), ir.Constant(V4, None)
        pointer = place(b, buffer, number)
        if is_store:
            kind = ir.FunctionType(ir.VoidType(), [V4, PTR, I32, bits])
            b.call(ir.Function(b.module, kind, "llvm.masked.store.v4f32.p0"), [zero, pointer, align, mask])
            return
        kind = ir.FunctionType(V4, [PTR, I32, bits, V4])
        b.call(ir.Function(b.module, kind, "llvm.masked.load.v4f32.p0"), [pointer, align, mask, zero])

    return emit


def test_a_vector_must_lie_inside_as_a_whole() -> None:
    assert run(vector_store(4), 4) is None
    fault = run(vector_store(4), 5)
    assert fault is not None
    assert (fault.buffer, fault.offset, fault.nbytes, fault.extent, fault.alignment) == (0, 20, 16, 32, 0)
    assert fault.site == "store of 4 x float in the kernel's loops"


def test_a_vector_must_have_the_alignment_that_it_claims() -> None:
    assert run(vector_store(4), 1) is None
    assert run(vector_store(16), 4) is None
    fault = run(vector_store(16), 1)
    assert fault is not None
    assert fault.alignment == 16
    assert fault.text(1, [4]).endswith(
        "byte 4 (element 1) of buffer 0 (input 0), which is not at a multiple of 16 bytes"
    )
    assert run(vector_store(16), 4, start=4) is not None


def test_an_access_that_names_no_alignment_claims_that_of_its_type() -> None:
    assert run(vector_store(None), 4) is None
    assert run(vector_store(None), 1) is not None


@pytest.mark.parametrize("is_store", [True, False])
def test_only_the_lanes_that_are_set_count(is_store: bool) -> None:
    assert run(masked([1, 1, 0, 0], is_store), 6) is None
    assert run(masked([0, 0, 1, 1], is_store), -2) is None
    assert run(masked([0, 0, 0, 0], is_store), 1000) is None
    fault = run(masked([0, 1, 0, 1], is_store), 6)
    assert fault is not None
    assert (fault.offset, fault.nbytes) == (28, 12)
    fault = run(masked([0, 1, 1, 0], is_store), -2)
    assert fault is not None
    assert (fault.offset, fault.nbytes) == (-4, 8)


def test_bounds_follow_a_choice_and_a_loop() -> None:
    def emit(b: ir.IRBuilder, buffer: ir.Value, number: ir.Value) -> None:
        scratch = b.bitcast(b.alloca(ir.ArrayType(F32, 4)), PTR)
        entry, head, done = b.block, b.append_basic_block("head"), b.append_basic_block("done")
        chosen = b.select(b.icmp_signed(">", number, ir.Constant(I64, 100)), scratch, buffer)
        b.branch(head)
        b.position_at_end(head)
        pointer, count = b.phi(PTR), b.phi(I64)
        b.store(ir.Constant(F32, 1.0), pointer, align=4)
        following = b.gep(pointer, [ir.Constant(I64, 1)], source_etype=F32)
        more = b.sub(count, ir.Constant(I64, 1))
        for phi, first, later in ((pointer, chosen, following), (count, number, more)):
            phi.add_incoming(first, entry)
            phi.add_incoming(later, head)
        b.cbranch(b.icmp_signed(">", more, ir.Constant(I64, 0)), head, done)
        b.position_at_end(done)

    assert run(emit, 8) is None
    fault = run(emit, 9)
    assert fault is not None
    assert (fault.buffer, fault.offset) == (0, 32)
    fault = run(emit, 101)
    assert fault is not None
    assert (fault.buffer, fault.offset, fault.extent) == (-1, 16, 16)


def test_a_form_without_a_check_is_refused() -> None:
    def gather(b: ir.IRBuilder, buffer: ir.Value, number: ir.Value) -> None:
        kind = ir.FunctionType(ir.VoidType(), [PTR, PTR, I64, I1])
        copy = ir.Function(b.module, kind, "llvm.memcpy.p0.p0.i64")
        b.call(copy, [buffer, buffer, number, ir.Constant(I1, 0)])

    with pytest.raises(PassError, match="no check for what llvm.memcpy"):
        run(gather, 1)

    def from_number(b: ir.IRBuilder, buffer: ir.Value, number: ir.Value) -> None:
        b.load(b.inttoptr(number, PTR), typ=F32)

    with pytest.raises(PassError, match="nothing tells which buffer"):
        run(from_number, 1)

    def atomic(b: ir.IRBuilder, buffer: ir.Value, number: ir.Value) -> None:
        b.atomic_rmw("add", buffer, number, "monotonic")

    with pytest.raises(PassError, match="atomic"):
        run(atomic, 1)
