"""Which ops are evaluated before any kernel runs, so that fusing them would only get in the way?

Shape arithmetic and constant subgraphs: what reads nothing but shapes and constants.
"""

from __future__ import annotations

from typing import Final

from xdsl.ir import Operation

from onnxloom.dialects import onnx

_SOURCES: Final = (onnx.ConstantOp, onnx.NoValueOp, onnx.ShapeOp, onnx.SizeOp, onnx.DimOp)
_BUDGET: Final = 64
"""Ops looked at before an op counts as not known early; keeps the question cheap."""


def is_known_early(op: Operation) -> bool:
    """Whether everything `op` computes comes from shapes and constants."""
    pending = [op]
    seen: set[Operation] = set()
    while pending:
        current = pending.pop()
        if current in seen or isinstance(current, _SOURCES):
            continue
        seen.add(current)
        if len(seen) > _BUDGET or current.regions or not current.operands:
            return False
        for operand in current.operands:
            if not isinstance(operand.owner, Operation):
                return False
            pending.append(operand.owner)
    return True
