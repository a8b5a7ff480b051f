"""Which loop of a kernel may run on several threads? The outermost one, where it is marked `loom.tasks`.

A kernel's entry is told which of these iterations to run and which worker runs them; a kernel without
the mark is one task. How many there are must follow from the sizes alone, so that a plan can count them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from xdsl.dialects import arith, memref, scf
from xdsl.dialects.builtin import IndexType, IntegerAttr
from xdsl.ir import Operation, SSAValue
from xdsl.irdl import IRDLOperation, irdl_op_definition, result_def, traits_def
from xdsl.traits import Pure

if TYPE_CHECKING:
    from onnxloom.dialects.loom.kernel import KernelOp

TASKS = "loom.tasks"
"""Unit attribute of the loop whose iterations may run in any order and at the same time."""


@irdl_op_definition
class WorkerOp(IRDLOperation):
    """The number of the worker that runs this part of a kernel; 0 for the thread that called.

    Each of `loom.workers` workers has a region of its own in the buffers a launch passes for the purpose.
    """

    name = "loom.worker"
    result = result_def(IndexType())
    traits = traits_def(Pure())

    def __init__(self):
        super().__init__(result_types=[IndexType()])


def task_loop(kernel: KernelOp) -> scf.ForOp | None:
    """The loop of the kernel's own block that is marked, if there is one."""
    for op in kernel.body.block.ops:
        if isinstance(op, scf.ForOp) and TASKS in op.attributes:
            return op
    return None


def task_fault(kernel: KernelOp) -> str | None:
    """What keeps a marked loop from being run in parts; None if nothing does."""
    marked = [op for op in kernel.walk() if TASKS in op.attributes]
    if not marked:
        return None
    loop = task_loop(kernel)
    if loop is None or len(marked) > 1:
        return "loom.tasks must mark a single loop of the kernel's own block"
    if loop.next_op is not kernel.body.block.last_op:
        return "nothing may follow a loop marked loom.tasks"
    if loop.iter_args:
        return "a loop marked loom.tasks carries no values"
    if _number(loop.lb) != 0 or _number(loop.step) != 1:
        return "a loop marked loom.tasks counts from 0 in steps of 1"
    for op in kernel.body.block.ops:
        if op is loop:
            break
        if not _may_come_before(op, kernel):
            return f"{op.name} may not come before a loop marked loom.tasks: each part of it would run it"
    return _count_fault(loop.ub, kernel)


def _may_come_before(op: Operation, kernel: KernelOp) -> bool:
    if isinstance(op, memref.LoadOp):
        access = {b: a.data for b, a in zip(kernel.buffers, kernel.access.data, strict=False)}
        return access.get(op.memref) == "read"
    return isinstance(op, memref.AllocaOp) or not op.regions and (op.has_trait(Pure) or _is_arith(op))


def _count_fault(count: SSAValue, kernel: KernelOp) -> str | None:
    """Why the number of tasks cannot be told from the sizes."""
    pending, seen = [count], set[SSAValue]()
    while pending:
        value = pending.pop()
        if value in seen or value in kernel.sizes:
            continue
        seen.add(value)
        if not isinstance(value.owner, Operation) or not _is_arith(value.owner):
            return "the number of iterations of a loop marked loom.tasks must follow from the sizes"
        pending.extend(value.owner.operands)
    return None


def _is_arith(op: Operation) -> bool:
    return op.dialect_name() == arith.Arith.name


def _number(value: SSAValue) -> int | None:
    owner = value.owner
    known = isinstance(owner, arith.ConstantOp) and isinstance(owner.value, IntegerAttr)
    return owner.value.value.data if known else None  # pyright: ignore
