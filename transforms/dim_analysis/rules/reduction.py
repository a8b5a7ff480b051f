"""Reductions and normalizations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from xdsl.dialects.builtin import i64
from xdsl.ir import Operation

from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.dtypes import element_of_proto
from onnxloom.transforms.dim_analysis.dim_expr import DimExpr
from onnxloom.transforms.dim_analysis.facts import Inferred, Result, Rule, numbers
from onnxloom.transforms.dim_analysis.query import OpQuery
from onnxloom.transforms.dim_analysis.rules.common import ONE, like_first


def reduced_axes(query: OpQuery, rank: int) -> list[int] | None:
    """The axes a Reduce op removes; None when they are not known."""
    if not query.has(1):
        return [] if query.int_attr("noop_with_empty_axes", 0) else list(range(rank))
    axes = query.ints(1)
    if axes is None:
        return None
    if not axes:
        return [] if query.int_attr("noop_with_empty_axes", 0) else list(range(rank))
    return query.axes(axes, rank)


def _reduce(query: OpQuery) -> Sequence[Result]:
    return [Inferred(_reduced_dims(query), query.element(0))]


def _reduced_dims(query: OpQuery) -> Sequence[DimExpr | None] | None:
    shape, keep = query.shape(0), query.int_attr("keepdims") != 0
    if shape is None:
        return None
    axes = reduced_axes(query, len(shape))
    if axes is not None:
        return _without(shape, axes, keep)
    if keep:
        return [dim if dim.is_one() else None for dim in shape]
    count = numbers(query.shape(1))
    return [None] * (len(shape) - count[0]) if count and count[0] else None


def _without(shape: Sequence[DimExpr], axes: Sequence[int], keep: bool) -> Sequence[DimExpr]:
    if keep:
        return [ONE if axis in axes else dim for axis, dim in enumerate(shape)]
    return [dim for axis, dim in enumerate(shape) if axis not in axes]


def _arg_reduce(query: OpQuery) -> Sequence[Result]:
    shape = query.shape(0)
    if shape is None:
        return [Inferred(None, i64)]
    axis = query.axis(query.int_attr("axis"), len(shape))
    return [Inferred(_without(shape, [axis], query.int_attr("keepdims") != 0), i64)]


def _layer_norm(query: OpQuery) -> Sequence[Result]:
    shape, stash = query.shape(0), element_of_proto(query.int_attr("stash_type"))
    if shape is None:
        return [Inferred(None, query.element(0)), Inferred(None, stash), Inferred(None, stash)]
    axis = query.axis(query.int_attr("axis"), len(shape))
    statistics = Inferred([*shape[:axis], *[ONE] * (len(shape) - axis)], stash)
    return [Inferred(shape, query.element(0)), statistics, statistics]


def _batch_norm(query: OpQuery) -> Sequence[Result]:
    mean = Inferred(query.shape(3), query.element(3))
    variance = Inferred(query.shape(4), query.element(4))
    return [Inferred(query.shape(0), query.element(0)), mean, variance]


_REDUCE: Final[tuple[type[Operation], ...]] = (
    *(onnx.ReduceL1Op, onnx.ReduceL2Op, onnx.ReduceLogSumOp, onnx.ReduceLogSumExpOp, onnx.ReduceMaxOp),
    *(onnx.ReduceMeanOp, onnx.ReduceMinOp, onnx.ReduceProdOp, onnx.ReduceSumOp, onnx.ReduceSumSquareOp),
)

RULES: Final[dict[type[Operation], Rule]] = {
    **dict.fromkeys(_REDUCE, _reduce),
    onnx.ArgMaxOp: _arg_reduce,
    onnx.ArgMinOp: _arg_reduce,
    onnx.LayerNormalizationOp: _layer_norm,
    onnx.BatchNormalizationOp: _batch_norm,
    onnx.RMSNormalizationOp: like_first,
    onnx.InstanceNormalizationOp: like_first,
    onnx.GroupNormalizationOp: like_first,
    onnx.LpNormalizationOp: like_first,
    onnx.LRNOp: like_first,
    onnx.MeanVarianceNormalizationOp: like_first,
}
