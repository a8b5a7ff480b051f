"""Which values are known before any kernel runs? Constants, shapes, and what is computed from them.

Ops that make such values are not worth a kernel: they are evaluated once per shape key (shape
arithmetic, constant subgraphs).
"""

from __future__ import annotations

from xdsl.ir import Operation, SSAValue

from onnxloom.dialects import loom, onnx
from onnxloom.dialects.onnx.access import is_none

SHAPE_READERS = (onnx.ShapeOp, onnx.SizeOp, onnx.DimOp)
"""Ops that read of their operand only its shape."""


class PlanKnown:
    """A growing set of values known at plan time; add ops in program order."""

    def __init__(self) -> None:
        self._known: set[SSAValue] = set()

    def __contains__(self, value: SSAValue) -> bool:
        return value in self._known

    def mark(self, value: SSAValue) -> None:
        """Says that a value is known (a block argument that stands for a known value)."""
        self._known.add(value)

    def add(self, op: Operation) -> bool:
        """Whether the results of `op` are known at plan time, given what is known so far."""
        if not self._is_known(op):
            return False
        self._known.update(op.results)
        return True

    def _is_known(self, op: Operation) -> bool:
        if isinstance(op, (onnx.ConstantOp, onnx.NoValueOp, *SHAPE_READERS)):
            return True
        if op.regions or isinstance(op, onnx.CustomOp) or is_volatile(op):
            return False
        operands = [v for v in op.operands if not is_none(v)]
        return bool(operands) and all(v in self._known for v in operands)


def is_volatile(op: Operation) -> bool:
    """Whether two runs of the op on the same inputs may differ (random ops)."""
    if isinstance(op, onnx.DropoutOp):
        from onnxloom.dialects.onnx.semantics import scalar_semantics

        return scalar_semantics(op) is None
    return op.has_trait(onnx.NonDeterministic)


def is_plan_known(value: SSAValue) -> bool:
    """Whether a program-level tensor is known at plan time: a constant or made of constants only."""
    owner = value.owner
    if isinstance(owner, loom.HostOp):
        return owner.volatile is None and bool(owner.args) and all(is_plan_known(v) for v in owner.args)
    if isinstance(owner, (loom.ViewOp, loom.PackOp)):
        return is_plan_known(owner.source)
    return isinstance(owner, loom.ConstantOp)
