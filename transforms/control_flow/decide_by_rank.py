"""Pass `decide-by-rank`: the condition of an If becomes a constant where one branch cannot be the one taken.

`y = If(c) {a: rank 3} {b: rank 2}; LSTM(Unsqueeze(y)) -> If(false) ...`: a recurrent op fails unless what it
reads has rank 3, so in every run that gives a result the branch of the other rank is not taken. What is
concluded holds in the block of the If and inside of it; `inline-if` does the rest.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass

from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.annotations import is_kept
from onnxloom.dialects.onnx.constant import make_constant
from onnxloom.transforms.control_flow.bodies import yields_of
from onnxloom.transforms.control_flow.possible_ranks import needed_rank, possible_ranks
from onnxloom.transforms.control_flow.report import FlowReport
from onnxloom.transforms.describe import describe
from onnxloom.transforms.miss import Miss
from onnxloom.transforms.rewriting.budget import may_rewrite


@dataclass(frozen=True)
class DecideByRankPass(ModulePass):
    """Makes conditions constant that only a run which fails could answer otherwise."""

    name = "decide-by-rank"

    report: FlowReport = field(default_factory=FlowReport, init=False, compare=False, repr=False)

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        self.report.clear()
        for branching in [inner for inner in op.walk() if isinstance(inner, onnx.IfOp)]:
            answer = _answer(branching)
            if isinstance(answer, Miss):
                self.report.decline(branching, answer)
            elif may_rewrite(self.name, "If", branching):
                self.report.done.append(f"{describe(branching)}: only {str(answer).lower()} gives a result")
                _settle(branching, answer)


def _answer(op: onnx.IfOp) -> bool | Miss:
    """The only condition under which the readers of the results can work."""
    if is_kept(op):
        return Miss("it is marked to be kept, or holds what is")
    if isinstance(op.cond.owner, onnx.ConstantOp):
        return Miss("its condition is constant")
    block = op.parent
    assert block is not None
    for index, result in enumerate(op.results):
        needed = needed_rank(result, block)
        if needed is None:
            continue
        works = [
            _may_have(yields_of(branch.block)[index], needed) for branch in (op.then_branch, op.else_branch)
        ]
        if works in ([True, False], [False, True]):
            return works[0]
    return Miss("no reader of a result needs a rank that one branch only gives")


def _may_have(value: SSAValue, rank: int) -> bool:
    ranks = possible_ranks(value)
    return ranks is None or rank in ranks


def _settle(op: onnx.IfOp, answer: bool) -> None:
    """Gives every If of the block with the same condition the answer: they run whenever this one does."""
    block, condition = op.parent, op.cond
    assert block is not None
    constant = make_constant(np.array(answer))
    first = block.first_op
    assert first is not None
    block.insert_op_before(constant, first)
    for use in list(condition.uses):
        if isinstance(use.operation, onnx.IfOp) and block.is_ancestor(use.operation):
            use.operation.operands[use.index] = constant.output
