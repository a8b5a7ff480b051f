"""Pass `forward-loop-invariants`: what each iteration of a Loop hands on unchanged is read directly.

`Loop(n, x, w) {(x', w') -> f(x', w'), w'} -> Loop(n, x) {(x') -> f(x', w)}`: the body then reads the value
from outside, where it may be a constant, and the Loop's result is the value it began with, for no
iterations too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass

from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.annotations import is_kept
from onnxloom.transforms.control_flow.bodies import take_over, through_identities, yields_of
from onnxloom.transforms.control_flow.report import FlowReport
from onnxloom.transforms.describe import describe
from onnxloom.transforms.miss import Miss
from onnxloom.transforms.rewriting.budget import may_rewrite


@dataclass(frozen=True)
class ForwardLoopInvariantsPass(ModulePass):
    """Takes values that never change out of the loop-carried ones of each Loop."""

    name = "forward-loop-invariants"

    report: FlowReport = field(default_factory=FlowReport, init=False, compare=False, repr=False)

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        self.report.clear()
        for loop in [inner for inner in op.walk() if isinstance(inner, onnx.LoopOp)]:
            slots = _unchanged(loop)
            if isinstance(slots, Miss):
                self.report.decline(loop, slots)
            elif may_rewrite(self.name, "Loop", loop):
                self.report.done.append(f"{describe(loop)}: {len(slots)} of its values never change")
                _forward(loop, slots)


def _unchanged(op: onnx.LoopOp) -> Sequence[int] | Miss:
    """Which loop-carried values each iteration hands on as they came."""
    if is_kept(op):
        return Miss("it is marked to be kept, or holds what is")
    block = op.body.block
    pairs = zip(block.args[2:], yields_of(block)[1:], strict=False)
    slots = [index for index, (argument, after) in enumerate(pairs) if argument is through_identities(after)]
    return slots or Miss("every loop-carried value changes")


def _forward(op: onnx.LoopOp, slots: Sequence[int]) -> None:
    block = op.body.block
    initial = list(op.v_initial)
    for slot in slots:
        take_over(block.args[2 + slot], initial[slot], refine=False)
        take_over(op.results[slot], initial[slot], refine=False)
    gone = set(slots)
    for slot in sorted(gone, reverse=True):
        block.erase_arg(block.args[2 + slot])
    end = block.last_op
    assert end is not None
    end.operands = [value for index, value in enumerate(end.operands) if index - 1 not in gone]
    results = [result for index, result in enumerate(op.results) if index not in gone]
    if results:
        _smaller(op, [value for index, value in enumerate(initial) if index not in gone], results)
    op.detach()
    op.erase()


def _smaller(op: onnx.LoopOp, initial: Sequence[SSAValue], results: Sequence[SSAValue]) -> None:
    """The same loop with fewer values, in front of it."""
    region = op.detach_region(0)
    smaller = onnx.LoopOp.create(
        operands=[op.M, op.cond, *initial],
        result_types=[result.type for result in results],
        properties=op.properties,
        attributes=op.attributes,
        regions=[region],
    )
    assert op.parent is not None
    op.parent.insert_op_before(smaller, op)
    for old, fresh in zip(results, smaller.results, strict=True):
        take_over(old, fresh, refine=True)
