"""Pass `reorder-for-memory`: the ops of a block run in an order that keeps fewer bytes alive.

The order stays what it is where no other one is better by the estimate of `schedule.py`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation
from xdsl.passes import ModulePass

from onnxloom.dialects import onnx
from onnxloom.transforms.ordering.candidates import candidates
from onnxloom.transforms.ordering.schedule import FREE, Schedule
from onnxloom.transforms.rewriting.budget import may_rewrite


@dataclass(frozen=True)
class Reordered:
    """A block whose ops changed places."""

    title: str
    before: int
    """Bytes alive at most."""

    after: int

    def __str__(self) -> str:
        return f"{self.title}: at most {self.after} bytes alive instead of {self.before}"


@dataclass
class OrderReport:
    """What the last run did."""

    blocks: list[Reordered] = field(default_factory=list[Reordered])

    def __str__(self) -> str:
        return "\n".join(map(str, self.blocks)) or "no order is better than the one there is"


@dataclass(frozen=True)
class ReorderForMemoryPass(ModulePass):
    """Sorts the ops of each block anew where that lowers the peak of memory."""

    name = "reorder-for-memory"

    report: OrderReport = field(default_factory=OrderReport, init=False, compare=False, repr=False)

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        self.report.blocks.clear()
        for title, block in _blocks(op):
            self.reorder(title, block)

    def reorder(self, title: str, block: Block) -> None:
        schedule = Schedule(block)
        now = list(range(len(schedule.ops)))
        best, peak = now, schedule.peak(now)
        before = peak
        for order in candidates(schedule):
            found = schedule.peak(order)
            if found < peak:
                best, peak = order, found
        if best is not now and may_rewrite(self.name, title):
            _place(block, [schedule.ops[number] for number in best])
            self.report.blocks.append(Reordered(title, before, peak))


def _blocks(module: ModuleOp) -> Iterator[tuple[str, Block]]:
    """The bodies of functions and of control flow; fused ops are one op each."""
    for op in module.walk():
        if isinstance(op, FuncOp) and not op.is_declaration:
            yield f"@{op.sym_name.data}", op.body.block
        elif op.regions and not isinstance(op, onnx.FusedOp | ModuleOp):
            yield from ((f"a body of {op.name}", block) for region in op.regions for block in region.blocks)


def _place(block: Block, ops: Sequence[Operation]) -> None:
    """Constants first, as they stand, then the ops in this order, then the end of the block."""
    free = [op for op in block.ops if isinstance(op, FREE)]
    end = block.last_op
    assert end is not None, "a block of several ops has an end"
    for op in (*free, *ops):
        op.detach()
        block.insert_op_before(op, end)
