"""LLVM forms of the structured ops: scf.for, scf.if, scf.while, memref accesses, loom.microkernel."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from typing import Any, cast

from llvmlite import ir
from xdsl.dialects import arith, memref, scf
from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Attribute, Operation, SSAValue

from onnxloom.dialects.loom.kernel import MicrokernelOp
from onnxloom.dialects.loom.tasks import TASKS, WorkerOp
from onnxloom.errors import PassError
from onnxloom.lowering.emit_llvm.function import FunctionEmitter, Handler
from onnxloom.lowering.emit_llvm.lanes_loop import emit_lanes, emit_on_vectors
from onnxloom.lowering.emit_llvm.metadata import access_group, mark_access, mark_parallel
from onnxloom.lowering.emit_llvm.types import I1, I64, I128, memory_type, value_type
from onnxloom.lowering.microkernels import Finish, find_microkernel, plain_params
from onnxloom.lowering.small_floats import small_float


def _extreme_over_loop(carried: SSAValue, yielded: SSAValue) -> Operation | None:
    """The op that makes the loop-carried value the maximum or minimum of some elements."""
    op = yielded.owner
    if not isinstance(op, (arith.MaximumfOp, arith.MinimumfOp)) or small_float(yielded.type) is not None:
        return None
    alone = len(list(carried.uses)) == 1 and len(list(op.result.uses)) == 1
    return op if alone and (op.lhs is carried) != (op.rhs is carried) else None


def _for(f: FunctionEmitter, op: Operation) -> None:
    op = cast(scf.ForOp, op)
    if "loom.lanes" in op.attributes and emit_lanes(f, op):
        return
    b = f.builder
    lower, upper, step = f[op.lb], f[op.ub], f[op.step]
    if TASKS in op.attributes and f.tasks is not None:
        lower, end = f.tasks
        upper = b.select(b.icmp_signed("<", end, upper), end, upper)
    initial = f.get(op.iter_args)
    before = b.block
    header, body, done = (f.append_block(n) for n in ("for", "for.body", "for.done"))
    b.branch(header)

    b.position_at_end(header)
    index = b.phi(lower.type)
    index.add_incoming(lower, before)
    carried = [b.phi(value.type) for value in initial]
    for phi, value in zip(carried, initial, strict=True):
        phi.add_incoming(value, before)
    last = op.body.block.last_op
    yields = last.operands if last is not None else ()
    extremes = [_extreme_over_loop(a, y) for a, y in zip(op.body.block.args[1:], yields, strict=True)]
    nan_seen: dict[int, ir.PhiInstr] = {}
    for k, extreme in enumerate(extremes):
        if extreme is not None:
            nan_seen[k] = f.nan_seen[extreme] = b.phi(I1)
    b.cbranch(b.icmp_signed("<", index, upper), body, done)
    with b.goto_block(before):
        for k, phi in nan_seen.items():
            phi.add_incoming(b.fcmp_unordered("uno", initial[k], initial[k]), before)

    b.position_at_end(body)
    block = op.body.block
    for argument, phi in zip(block.args, (index, *carried), strict=True):
        f[argument] = phi
    f.carried.update(block.args[1:])
    group = access_group(f.module) if "loom.parallel" in op.attributes else None
    if group is not None:
        f.parallel_groups.append(group)
    yielded = f.get(f.block(block))
    if group is not None:
        f.parallel_groups.pop()
    index.add_incoming(b.add(index, step, flags=("nsw",)), b.block)
    for phi, value in zip(carried, yielded, strict=True):
        phi.add_incoming(value, b.block)
    for k, phi in nan_seen.items():
        phi.add_incoming(f.nan_seen[cast(Operation, extremes[k])], b.block)
    back_edge = b.branch(header)
    if group is not None:
        mark_parallel(back_edge, group)

    b.position_at_end(done)
    for k, (result, phi) in enumerate(zip(op.results, carried, strict=True)):
        nan = ir.Constant(phi.type, math.nan)
        f[result] = b.select(nan_seen[k], nan, phi) if k in nan_seen else phi


def _if(f: FunctionEmitter, op: Operation) -> None:
    op = cast(scf.IfOp, op)
    b = f.builder
    then, otherwise, done = (f.append_block(n) for n in ("if.then", "if.else", "if.done"))
    b.cbranch(f[op.cond], then, otherwise)
    arms: list[tuple[ir.Block, list[ir.Value]]] = []
    for start, region in ((then, op.true_region), (otherwise, op.false_region)):
        b.position_at_end(start)
        values = f.get(f.block(region.block)) if region.blocks else []
        arms.append((b.block, values))
        b.branch(done)
    b.position_at_end(done)
    for i, result in enumerate(op.results):
        phi = b.phi(arms[0][1][i].type)
        for end, values in arms:
            phi.add_incoming(values[i], end)
        f[result] = phi


def _while(f: FunctionEmitter, op: Operation) -> None:
    op = cast(scf.WhileOp, op)
    b = f.builder
    initial = f.get(op.arguments)
    before = b.block
    header, body, done = (f.append_block(n) for n in ("while", "while.body", "while.done"))
    b.branch(header)

    b.position_at_end(header)
    phis = [b.phi(value.type) for value in initial]
    for argument, phi, value in zip(op.before_region.block.args, phis, initial, strict=True):
        phi.add_incoming(value, before)
        f[argument] = phi
    condition, *passed = f.get(f.block(op.before_region.block))
    b.cbranch(condition, body, done)

    b.position_at_end(body)
    for argument, value in zip(op.after_region.block.args, passed, strict=True):
        f[argument] = value
    for phi, value in zip(phis, f.get(f.block(op.after_region.block)), strict=True):
        phi.add_incoming(value, b.block)
    b.branch(header)

    b.position_at_end(done)
    for result, value in zip(op.results, passed, strict=True):
        f[result] = value


def element_type(buffer: SSAValue) -> Attribute:
    """The element type of a memref value."""
    return cast("MemRefType[Attribute]", buffer.type).element_type


def _address(f: FunctionEmitter, buffer: SSAValue, indices: tuple[SSAValue, ...]) -> ir.Value:
    if len(indices) != 1:
        raise PassError(f"emit-llvm: a kernel buffer has one index, not {len(indices)}")
    return f.builder.gep(f[buffer], [f[indices[0]]], inbounds=True)


def _alignment(element: ir.Type) -> int | None:
    """Where it is not LLVM's own: that of complex numbers is the one of their parts."""
    return 8 if element == I128 else None


def _load(f: FunctionEmitter, op: Operation) -> None:
    op = cast(memref.LoadOp, op)
    element, goal = memory_type(element_type(op.memref)), value_type(op.res.type)
    loaded = f.builder.load(_address(f, op.memref, tuple(op.indices)), align=_alignment(element))
    mark_access(loaded, f.groups(op.memref))
    f[op.res] = loaded if element == goal else f.builder.trunc(loaded, goal)


def _store(f: FunctionEmitter, op: Operation) -> None:
    op = cast(memref.StoreOp, op)
    value, element = f[op.value], memory_type(element_type(op.memref))
    if value.type != element:
        value = f.builder.zext(value, element)
    address = _address(f, op.memref, tuple(op.indices))
    stored = f.builder.store(value, address, align=_alignment(element))
    mark_access(stored, f.groups(op.memref))


def _alloca(f: FunctionEmitter, op: Operation) -> None:
    op = cast(memref.AllocaOp, op)
    buffer = op.memref
    (size,) = buffer.type.get_shape()
    if size < 0:
        raise PassError("emit-llvm: a scratch buffer of a kernel must have a static size")
    array = ir.ArrayType(memory_type(element_type(buffer)), size)
    entry = f.builder.function.entry_basic_block
    # In the entry block, or the stack would grow with each iteration of an enclosing loop.
    with f.builder.goto_block(entry):
        f.builder.position_at_start(entry)
        scratch = f.builder.alloca(array)
        scratch.align = 64
    f[buffer] = f.builder.gep(scratch, [ir.Constant(I64, 0), ir.Constant(I64, 0)], inbounds=True)
    f.scratch_depth[buffer] = len(f.parallel_groups)


def _worker(f: FunctionEmitter, op: Operation) -> None:
    f[op.results[0]] = f.worker


def _microkernel(f: FunctionEmitter, op: Operation) -> None:
    op = cast(MicrokernelOp, op)
    tuned = find_microkernel(op.kind.data, f.target)
    args = f.get(op.args)
    if tuned is not None:
        try:
            params = plain_params(op.params)
            tuned(f.builder, params, args, f.target, *_finish(f, op, params))
        except (LookupError, TypeError, ValueError) as error:
            # Kernels are also written by hand.
            raise PassError(
                f"emit-llvm: loom.microkernel {op.kind.data}: parameters or operands are not those of its "
                f"tuned form: {type(error).__name__}: {error}"
            ) from error
        return
    block = op.reference.block
    for argument, operand in zip(block.args, op.args, strict=True):
        f[argument] = f[operand]
        f.scratch_depth[argument] = f.scratch_depth.get(operand, 0)
    f.block(block)


def _finish(f: FunctionEmitter, op: MicrokernelOp, params: dict[str, Any]) -> list[Finish]:
    """What the op does to each element of its results, if anything."""
    if op.finish is None:
        return []
    block = op.finish.block

    def emit(b: ir.IRBuilder, vectors: Sequence[ir.Value]) -> ir.Value:
        return emit_on_vectors(f.elsewhere(b), block, vectors, params["lanes"])

    text = "\n".join([*(str(a.type) for a in block.args), str(op)])
    return [Finish(hashlib.sha256(text.encode()).hexdigest()[:16], emit)]


HANDLERS: dict[type[Operation], Handler] = {
    scf.ForOp: _for,
    scf.IfOp: _if,
    scf.WhileOp: _while,
    memref.LoadOp: _load,
    memref.StoreOp: _store,
    memref.AllocaOp: _alloca,
    MicrokernelOp: _microkernel,
    WorkerOp: _worker,
}
