"""Which ops are evaluated before any kernel runs, so that fusing them would only get in the way?

Shape arithmetic and constant subgraphs: what reads nothing but shapes and constants.
"""

from __future__ import annotations

from typing import Final
from weakref import WeakKeyDictionary

from xdsl.ir import Block, Operation

from onnxloom.dialects import onnx
from onnxloom.transforms.dim_analysis import DimAnalysis

_SOURCES: Final[frozenset[type[Operation]]] = frozenset(
    {onnx.ConstantOp, onnx.NoValueOp, onnx.ShapeOp, onnx.SizeOp, onnx.DimOp}
)

_known: WeakKeyDictionary[DimAnalysis, dict[Operation, bool]] = WeakKeyDictionary()
"""Answers given so far, for as long as the analysis of the same IR is alive."""


def is_known_early(op: Operation, dims: DimAnalysis) -> bool:
    """Whether everything `op` computes comes from shapes and constants. Linear over all ops together."""
    known = _known.setdefault(dims, {})
    pending = [op]
    while pending:
        current = pending[-1]
        if current in known:
            pending.pop()
            continue
        answer, missing = _answer(current, known)
        if missing:
            pending.extend(missing)
            continue
        known[current] = answer
        pending.pop()
    return known[op]


def _answer(op: Operation, known: dict[Operation, bool]) -> tuple[bool, list[Operation]]:
    """Whether `op` is known early, or the producers to ask first."""
    if type(op) in _SOURCES:
        return True, []
    if op.regions or not op.operands:
        return False, []
    missing: list[Operation] = []
    for operand in op.operands:
        owner = operand.owner
        if isinstance(owner, Block):
            return False, []
        if type(owner) in _SOURCES or known.get(owner):
            continue
        if owner in known:
            return False, []
        missing.append(owner)
    return True, missing
