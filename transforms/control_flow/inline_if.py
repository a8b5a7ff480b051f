"""Pass `inline-if`: an If whose condition is known becomes the ops of the branch that is taken.

`If(true) {then} {else} -> then`, where the condition is a constant, or the condition of an If around it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass

from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.annotations import is_kept
from onnxloom.transforms.control_flow.bodies import known_scalar, move_out, take_over, yields_of
from onnxloom.transforms.control_flow.report import FlowReport
from onnxloom.transforms.describe import describe
from onnxloom.transforms.miss import Miss
from onnxloom.transforms.rewriting.budget import may_rewrite


@dataclass(frozen=True)
class InlineIfPass(ModulePass):
    """Replaces each If that is decided by the branch it takes; results keep their names."""

    name = "inline-if"

    report: FlowReport = field(default_factory=FlowReport, init=False, compare=False, repr=False)

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        self.report.clear()
        _Inlining(self.report).visit_regions(op, {})


@dataclass(frozen=True)
class _Inlining:
    report: FlowReport

    def visit_regions(self, op: Operation, known: Mapping[SSAValue, bool]) -> None:
        for region in op.regions:
            for block in region.blocks:
                self.visit(block, known)

    def visit(self, block: Block, known: Mapping[SSAValue, bool]) -> None:
        op = block.first_op
        while op is not None:
            if isinstance(op, onnx.IfOp):
                op = self.visit_if(op, known)
                continue
            self.visit_regions(op, known)
            op = op.next_op

    def visit_if(self, op: onnx.IfOp, known: Mapping[SSAValue, bool]) -> Operation | None:
        """The op to go on with."""
        condition = _condition(op, known)
        if isinstance(condition, Miss):
            self.report.decline(op, condition)
        elif may_rewrite(InlineIfPass.name, "If", op):
            self.report.done.append(f"{describe(op)}: its condition is always {str(condition).lower()}")
            return _inline(op, op.then_branch.block if condition else op.else_branch.block)
        self.visit(op.then_branch.block, {**known, op.cond: True})
        self.visit(op.else_branch.block, {**known, op.cond: False})
        return op.next_op


def _condition(op: onnx.IfOp, known: Mapping[SSAValue, bool]) -> bool | Miss:
    if is_kept(op):
        return Miss("it is marked to be kept, or holds what is")
    if op.cond in known:
        return known[op.cond]
    value = known_scalar(op.cond)
    return Miss("its condition is not constant") if value is None else bool(value)


def _inline(op: onnx.IfOp, branch: Block) -> Operation | None:
    """The first op that took the place of an If, or the one after it."""
    before = op.prev_op
    values = yields_of(branch)
    own = [branch.is_ancestor(value.owner) for value in values]
    move_out(branch, op)
    for result, value, refine in zip(op.results, values, own, strict=True):
        take_over(result, value, refine=refine)
    block = op.parent
    assert block is not None
    op.detach()
    op.erase()
    return block.first_op if before is None else before.next_op
