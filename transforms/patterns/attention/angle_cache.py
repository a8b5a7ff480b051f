"""Which half of a table of cosines or sines is all that a rotation needs?

The table, `[batch, 1, row, column]`, holds the same numbers in both halves of its columns. `half_table` finds
that out and builds `[batch, row, column / 2]`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from xdsl.ir import Operation, SSAValue

from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.access import int_attr
from onnxloom.transforms.patterns.operands import scalar_beside
from onnxloom.transforms.rewriting.graph_index import GraphIndex

_UNARY: Final = (onnx.CosOp, onnx.SinOp, onnx.CastOp)


@dataclass(frozen=True)
class HalfTable:
    """A table whose halves are equal: an array, or a value and what is done to its elements."""

    array: np.ndarray[Any, Any] | None
    half: SSAValue | None
    steps: tuple[Operation, ...]
    """From the table back to `half`, each elementwise, or an Unsqueeze of axis 1."""


def half_table(graph: GraphIndex, table: SSAValue) -> HalfTable | None:
    """How the half of `table` is found; None where its halves may differ."""
    shape = graph.shape(table)
    if shape is None or len(shape) != 4 or shape[1].constant != 1:
        return None
    array = graph.constant(table)
    if array is not None:
        first, second = np.split(array, 2, axis=-1) if array.shape[-1] % 2 == 0 else (array, None)
        same = second is not None and first.tobytes() == second.tobytes()
        return HalfTable(first[:, 0], None, ()) if same else None
    steps: list[Operation] = []
    value = table
    while (op := _step(graph, value)) is not None:
        steps.append(op)
        value = op.operands[0]
    concat = graph.producer_of(value, onnx.ConcatOp)
    rank = graph.rank(value)
    if concat is None or not rank or int_attr(concat, "axis") % rank != rank - 1 or len(concat.inputs) != 2:
        return None
    half, other = concat.inputs
    if half is not other or sum(isinstance(step, onnx.UnsqueezeOp) for step in steps) != 4 - rank:
        return None
    return HalfTable(None, half, tuple(steps)) if rank in (3, 4) else None


def _step(graph: GraphIndex, value: SSAValue) -> Operation | None:
    """The elementwise op, or Unsqueeze of axis 1, that makes a value from its first operand."""
    op = graph.producer(value)
    if isinstance(op, _UNARY):
        return op
    if isinstance(op, onnx.MulOp) and scalar_beside(graph, op.B, op.A) is not None:
        return op
    if isinstance(op, onnx.UnsqueezeOp) and graph.constant_ints(op.axes) in ((1,), (-3,)):
        return op if graph.rank(op.data) == 3 else None
    return None


def build_half(graph: GraphIndex, table: HalfTable) -> tuple[Sequence[Operation], SSAValue]:
    """The ops that compute the half, `[batch, row, column]`, and the half."""
    if table.array is not None:
        constant = graph.make_constant(np.ascontiguousarray(table.array))
        return [constant], constant.output
    assert table.half is not None
    ops: list[Operation] = []
    value = table.half
    if graph.rank(value) == 4:
        axes = graph.make_constant(np.array([1], np.int64))
        squeeze = graph.make(onnx.SqueezeOp, [value, axes.output])
        ops += [axes, squeeze]
        value = squeeze.squeezed
    for step in reversed(table.steps):
        if isinstance(step, onnx.UnsqueezeOp):
            continue
        attributes: dict[str, Any] = dict(step.properties)
        made = graph.make(type(step), [value, *step.operands[1:]], name_from=step, **attributes)
        ops.append(made)
        value = made.results[0]
    return ops, value
