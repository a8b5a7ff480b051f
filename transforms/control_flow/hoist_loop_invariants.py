"""Pass `hoist-loop-invariants`: an op that computes the same in every iteration moves out of the loop.

For the bodies of Loop, Scan and SequenceMap, inner ones first. The op is pure, reads nothing the body
makes, and either the loop certainly runs or the op cannot fail: outside it is computed even when the loop
runs for no iteration.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation
from xdsl.passes import ModulePass
from xdsl.traits import is_side_effect_free

from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.access import int_attr, ints_attr
from onnxloom.dialects.onnx.annotations import is_kept
from onnxloom.dialects.onnx.captures import captured_values
from onnxloom.transforms.control_flow.bodies import is_structure
from onnxloom.transforms.control_flow.cannot_fail import cannot_fail
from onnxloom.transforms.control_flow.report import FlowReport
from onnxloom.transforms.control_flow.trip_count import runs_at_least_once
from onnxloom.transforms.describe import describe
from onnxloom.transforms.dim_analysis.facts import static_dims
from onnxloom.transforms.miss import Miss
from onnxloom.transforms.rewriting.budget import may_rewrite

_LOOPS: Final = (onnx.LoopOp, onnx.ScanOp, onnx.SequenceMapOp)


@dataclass(frozen=True)
class HoistLoopInvariantsPass(ModulePass):
    """Moves ops in front of the loop they stand in, through several loops where that is possible."""

    name = "hoist-loop-invariants"

    report: FlowReport = field(default_factory=FlowReport, init=False, compare=False, repr=False)

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        self.report.clear()
        loops = [inner for inner in op.walk() if isinstance(inner, _LOOPS)]
        for loop in reversed(loops):
            self.hoist(loop)

    def hoist(self, loop: Operation) -> None:
        block = loop.regions[0].block
        runs = _certainly_runs(loop)
        for op in list(block.ops):
            if is_structure(op) or not _is_invariant(op, block):
                continue
            miss = _why_not(op, runs=runs)
            if miss is not None:
                self.report.decline(op, miss)
            elif may_rewrite(self.name, "hoist", op):
                self.report.done.append(f"{describe(op)}: out of {describe(loop)}")
                _move(op, block, loop)


def _is_invariant(op: Operation, block: Block) -> bool:
    """Whether all that an op reads comes from outside of the body, constants not counting."""
    return all(
        isinstance(value.owner, onnx.ConstantOp | onnx.NoValueOp) or not block.is_ancestor(value.owner)
        for value in (*op.operands, *captured_values(op))
    )


def _why_not(op: Operation, *, runs: bool) -> Miss | None:
    if is_kept(op):
        return Miss("it is marked to be kept, or holds what is")
    if not is_side_effect_free(op):
        return Miss("it is not pure: each iteration may give something else")
    if not runs and not cannot_fail(op):
        return Miss("it may fail, and the loop may run for no iteration")
    return None


def _certainly_runs(loop: Operation) -> bool:
    if isinstance(loop, onnx.LoopOp):
        return runs_at_least_once(loop)
    if not isinstance(loop, onnx.ScanOp):
        return False
    count = int_attr(loop, "num_scan_inputs")
    first = len(loop.operands) - count
    axes = ints_attr(loop, "scan_input_axes") or (0,) * count
    for value, axis in zip(loop.operands[first:], axes, strict=False):
        dims = static_dims(value)
        length = None if dims is None or not -len(dims) <= axis < len(dims) else dims[axis]
        if length is not None and length > 0:
            return True
    return False


def _move(op: Operation, block: Block, loop: Operation) -> None:
    """In front of the loop, with copies of the constants it reads."""
    assert loop.parent is not None
    copies: dict[Operation, Operation] = {}
    for inner in op.walk():
        for index, operand in enumerate(inner.operands):
            maker = operand.owner
            if not isinstance(maker, Operation) or maker.parent is not block or not is_structure(maker):
                continue
            if maker not in copies:
                copies[maker] = maker.clone()
                loop.parent.insert_op_before(copies[maker], loop)
            inner.operands[index] = copies[maker].results[0]
    op.detach()
    loop.parent.insert_op_before(op, loop)
