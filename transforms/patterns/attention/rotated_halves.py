"""Which value is another one with its halves swapped, the second one negated?

`Concat(Neg(x[half:]), x[:half])` along the last axis, the halves cut by one Split or two Slices.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.ir import Operation, SSAValue

from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.access import int_attr, is_none
from onnxloom.transforms.patterns.operands import static_dim
from onnxloom.transforms.rewriting.graph_index import GraphIndex


@dataclass(frozen=True)
class Halves:
    """`value`, and the ops that swap its halves."""

    value: SSAValue
    ops: tuple[Operation, ...]


@dataclass(frozen=True)
class _Half:
    value: SSAValue
    is_second: bool
    op: Operation


def rotated_halves(graph: GraphIndex, value: SSAValue) -> Halves | None:
    """What `value` is the rotation of."""
    concat = graph.producer_of(value, onnx.ConcatOp)
    rank = graph.rank(value)
    if concat is None or len(concat.inputs) != 2 or not rank or int_attr(concat, "axis") % rank != rank - 1:
        return None
    negated = graph.producer_of(concat.inputs[0], onnx.NegOp)
    if negated is None:
        return None
    second, first = _half(graph, negated.X), _half(graph, concat.inputs[1])
    if second is None or first is None or second.value is not first.value:
        return None
    if first.is_second or not second.is_second:
        return None
    return Halves(first.value, tuple(dict.fromkeys((first.op, second.op, negated, concat))))


def _half(graph: GraphIndex, value: SSAValue) -> _Half | None:
    op = graph.producer_of(value, onnx.SplitOp, onnx.SliceOp)
    if isinstance(op, onnx.SplitOp):
        return _half_of_split(graph, op, value)
    return None if op is None else _half_of_slice(graph, op)


def _half_of_split(graph: GraphIndex, op: onnx.SplitOp, value: SSAValue) -> _Half | None:
    width = static_dim(graph, op.input, -1)
    if len(op.results) != 2 or not width or any(static_dim(graph, p, -1) != width / 2 for p in op.results):
        return None
    return _Half(op.input, value is op.results[1], op)


def _half_of_slice(graph: GraphIndex, op: onnx.SliceOp) -> _Half | None:
    rank, width = graph.rank(op.data), static_dim(graph, op.data, -1)
    bounds = [graph.constant_ints(v) for v in (op.starts, op.ends, op.axes)]
    if not rank or not width or width % 2 or any(b is None or len(b) != 1 for b in bounds):
        return None
    (start,), (end,), (axis,) = (b for b in bounds if b is not None)
    if axis % rank != rank - 1 or not (is_none(op.steps) or graph.constant_ints(op.steps) == (1,)):
        return None
    begin, stop, _ = slice(start, end).indices(width)
    if (begin, stop) == (0, width // 2):
        return _Half(op.data, False, op)
    return _Half(op.data, True, op) if (begin, stop) == (width // 2, width) else None
