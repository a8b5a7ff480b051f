"""How much work is in a task of a kernel? Its loops are counted as the sizes will have them.

The number of tasks is exact: those beyond it would not run. The work in one is an estimate, which decides
whether and in what parts a launch is shared out; bounds that depend on an index are taken at its first value.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from xdsl.dialects import arith, memref, scf
from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Block, Operation, SSAValue

from onnxloom.dialects.loom.kernel import KernelOp, MicrokernelOp
from onnxloom.dialects.loom.tasks import task_loop
from onnxloom.lowering.plan.program import KernelWork
from onnxloom.lowering.plan.work import OPERATIONS

UNKNOWN_TRIPS = 16
"""Iterations of a loop whose bounds depend on data."""

TUNED = 16
"""How many times faster the tuned form of a microkernel is than its scalar loop."""

_WEIGHTS = {"memref.load": 4, "memref.store": 4, "arith.divf": 6, "arith.divsi": 8, "arith.remsi": 8}


def works_of(kernels: Iterable[KernelOp]) -> dict[str, KernelWork]:
    """By name, for the kernels that have tasks."""
    found = ((kernel.sym_name.data, kernel_work(kernel)) for kernel in kernels)
    return {name: work for name, work in found if work is not None}


def kernel_work(kernel: KernelOp) -> KernelWork | None:
    """The estimate for a kernel; None if it has no tasks, or counts them by other than index arithmetic."""
    loop = task_loop(kernel)
    if loop is None:
        return None
    estimate = _Estimate(len(kernel.sizes))
    for slot, size in enumerate(kernel.sizes):
        estimate.slots[size] = slot
    for op in kernel.body.block.ops:
        if op is loop:
            break
        estimate.index_op(op)
    tasks = estimate.slots.get(loop.ub)
    if tasks is None:
        return None
    estimate.slots[loop.body.block.args[0]] = estimate.constant(0)
    return estimate.finish(tasks, estimate.block(loop.body.block))


@dataclass
class _Estimate:
    """Straight-line code being written. Slots: sizes, constants (numbered from -1 down), results."""

    sizes: int
    slots: dict[SSAValue, int] = field(default_factory=dict[SSAValue, int])
    constants: dict[int, int] = field(default_factory=dict[int, int])
    values: dict[int, int] = field(default_factory=dict[int, int])
    code: list[tuple[str, int, int]] = field(default_factory=list[tuple[str, int, int]])
    made: dict[tuple[str, int, int], int] = field(default_factory=dict[tuple[str, int, int], int])

    def constant(self, value: int) -> int:
        slot = self.constants.setdefault(value, -1 - len(self.constants))
        self.values[slot] = value
        return slot

    def emit(self, name: str, a: int, b: int) -> int:
        if a in self.values and b in self.values:
            return self.constant(OPERATIONS[name](self.values[a], self.values[b]))
        key = (name, a, b)
        if key not in self.made:
            self.made[key] = self.sizes + len(self.code)
            self.code.append(key)
        return self.made[key]

    def add(self, a: int, b: int) -> int:
        if 0 in (self.values.get(a), self.values.get(b)):
            return b if self.values.get(a) == 0 else a
        return self.emit("arith.addi", a, b)

    def finish(self, tasks: int, cost: int) -> KernelWork:
        count = len(self.constants)

        def place(slot: int) -> int:
            """Constants lie behind the sizes."""
            if slot < 0:
                return self.sizes - slot - 1
            return slot if slot < self.sizes else slot + count

        code = tuple((name, place(a), place(b)) for name, a, b in self.code)
        return KernelWork(tuple(self.constants), code, place(tasks), place(cost))

    def index_op(self, op: Operation) -> None:
        """Follows the sizes through an op, if it does nothing but compute with them."""
        if isinstance(op, arith.ConstantOp):
            if isinstance(op.value, IntegerAttr):
                self.slots[op.result] = self.constant(op.value.value.data)
            return
        if isinstance(op, arith.IndexCastOp) and op.input in self.slots:
            self.slots[op.result] = self.slots[op.input]
            return
        if op.name in OPERATIONS and all(v in self.slots for v in op.operands):
            a, b = (self.slots[v] for v in op.operands)
            self.slots[op.results[0]] = self.emit(op.name, a, b)

    def block(self, block: Block) -> int:
        """Slot of the work in a block."""
        total, here = self.constant(0), 0
        for op in block.ops:
            self.index_op(op)
            if isinstance(op, scf.ForOp):
                total = self.add(total, self._loop(op))
            elif isinstance(op, scf.IfOp):
                total = self.add(total, self._branch(op))
            elif isinstance(op, scf.WhileOp):
                body = self.add(self.block(op.before_region.block), self.block(op.after_region.block))
                total = self.add(total, self.emit("arith.muli", body, self.constant(UNKNOWN_TRIPS)))
            elif isinstance(op, MicrokernelOp):
                total = self.add(total, self._microkernel(op))
            elif not isinstance(op, memref.AllocaOp):
                here += _WEIGHTS.get(op.name, 16 if op.name.startswith("math.") else 1)
        return self.add(total, self.constant(here))

    def _loop(self, op: scf.ForOp) -> int:
        bounds = [self.slots.get(v) for v in (op.lb, op.ub, op.step)]
        lower, upper, step = bounds
        if lower is None or upper is None or step is None:
            trips = self.constant(UNKNOWN_TRIPS)
        else:
            self.slots[op.body.block.args[0]] = lower
            span = upper if self.values.get(lower) == 0 else self.emit("arith.subi", upper, lower)
            trips = span if self.values.get(step) == 1 else self.emit("arith.ceildivsi", span, step)
        return self.emit("arith.muli", trips, self.block(op.body.block))

    def _branch(self, op: scf.IfOp) -> int:
        """The dearer side."""
        sides = [self.block(r.block) for r in (op.true_region, op.false_region) if r.blocks]
        return sides[0] if len(sides) == 1 else self.emit("arith.maxsi", sides[0], sides[1])

    def _microkernel(self, op: MicrokernelOp) -> int:
        block = op.reference.block
        for argument, operand in zip(block.args, op.args, strict=True):
            if operand in self.slots:
                self.slots[argument] = self.slots[operand]
        return self.emit("arith.divsi", self.block(block), self.constant(TUNED))
