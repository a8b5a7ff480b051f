"""One `loom.kernel` as two LLVM functions: a body with typed arguments and the exported entry.

The entry takes the kernel's arguments as one array of 64-bit words (pointers and sizes, in the order
of the block arguments), so that every kernel can be called in the same way; then which tasks to run and
the number of the worker that runs them. A kernel without tasks runs as a whole.
"""

from __future__ import annotations

from collections.abc import Iterable

import llvmlite.binding as llvm
from llvmlite import ir

from onnxloom.dialects.loom.kernel import KernelOp
from onnxloom.lowering.cpu_target import CpuTarget
from onnxloom.lowering.emit_llvm import arith_ops, control_flow, math_ops
from onnxloom.lowering.emit_llvm.function import FunctionEmitter
from onnxloom.lowering.emit_llvm.types import I64, value_type
from onnxloom.lowering.object_code import optimize

_HANDLERS = {**arith_ops.HANDLERS, **math_ops.HANDLERS, **control_flow.HANDLERS}

ENTRY_TYPE = ir.FunctionType(ir.VoidType(), [I64.as_pointer(), I64, I64, I64])
"""The type of every exported kernel: `void (i64* words, i64 begin, i64 end, i64 worker)`."""


def emit_kernel(module: ir.Module, kernel: KernelOp, symbol: str, target: CpuTarget) -> ir.Function:
    """Adds `kernel` to `module` and returns its exported function, named `symbol`.

    Raises:
        PassError: the kernel holds an op or type kernels may not hold.
    """
    body = _emit_body(module, kernel, f"{symbol}.body", target)
    entry = ir.Function(module, ENTRY_TYPE, symbol)
    b = ir.IRBuilder(entry.append_basic_block("entry"))
    args: list[ir.Value] = []
    for i, argument in enumerate(body.args[: len(kernel.body.block.args)]):
        slot = b.gep(entry.args[0], [ir.Constant(I64, i)], inbounds=True)
        args.append(b.load(b.bitcast(slot, argument.type.as_pointer())))
    b.call(body, [*args, *entry.args[1:]])
    b.ret_void()
    return entry


def _emit_body(module: ir.Module, kernel: KernelOp, name: str, target: CpuTarget) -> ir.Function:
    block = kernel.body.block
    function = ir.Function(
        module,
        ir.FunctionType(ir.VoidType(), [*(value_type(a.type) for a in block.args), I64, I64, I64]),
        name,
    )
    function.linkage = "internal"
    function.attributes.add("nounwind")
    b = ir.IRBuilder(function.append_basic_block("entry"))
    emitter = FunctionEmitter(b, target, _HANDLERS)
    *args, begin, end, worker = function.args
    emitter.tasks, emitter.worker = (begin, end), worker
    for i, (argument, value) in enumerate(zip(block.args, args, strict=True)):
        value.name = argument.name_hint or f"arg{i}"
        emitter[argument] = value
    # Scratch buffers are allocated in the entry block, ahead of everything else in it.
    start = emitter.append_block("start")
    b.branch(start)
    b.position_at_end(start)
    emitter.block(block)
    b.ret_void()
    return function


def kernel_module(kernels: Iterable[KernelOp], target: CpuTarget) -> ir.Module:
    """A module of its own with all `kernels`, each exported under its symbol name."""
    module = ir.Module("kernels")
    module.triple = target.triple
    for kernel in kernels:
        emit_kernel(module, kernel, kernel.sym_name.data, target)
    return module


def assembly(kernels: Iterable[KernelOp], target: CpuTarget) -> str:
    """Optimised assembly text of `kernels` for `target`.

    Raises:
        RuntimeError: this build of LLVM has no such target, or the IR is not valid.
    """
    module = llvm.parse_assembly(str(kernel_module(kernels, target)))
    module.verify()
    machine = target.machine()
    optimize(module, machine)
    return machine.emit_assembly(module)
