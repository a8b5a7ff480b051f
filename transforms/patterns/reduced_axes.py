"""Which axes does a reduction reduce?"""

from __future__ import annotations

from typing import TypeAlias

from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.access import bool_attr, is_none
from onnxloom.transforms.rewriting.graph_index import GraphIndex
from onnxloom.transforms.rewriting.pattern import Miss, no_match

Reduction: TypeAlias = onnx.ReduceMeanOp | onnx.ReduceSumOp | onnx.ReduceMaxOp | onnx.ReduceLogSumExpOp


def reduced_axes(graph: GraphIndex, reduce: Reduction) -> tuple[int, ...] | Miss:
    """Non-negative and ascending, of a reduction that keeps its dims."""
    if not bool_attr(reduce, "keepdims"):
        return no_match(reduce, "the reduction drops its dims")
    rank = graph.rank(reduce.data)
    if not rank:
        return no_match(reduce, "the rank is not known, or 0")
    axes = () if is_none(reduce.axes) else graph.constant_ints(reduce.axes)
    if axes is None:
        return no_match(reduce, "the axes of the reduction are not constant")
    if not axes and bool_attr(reduce, "noop_with_empty_axes"):
        return no_match(reduce, "the reduction is over no axis")
    return tuple(sorted(axis % rank for axis in axes)) or tuple(range(rank))
