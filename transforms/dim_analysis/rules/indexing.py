"""Ops that pick or place elements by index."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from xdsl.dialects.builtin import i64
from xdsl.ir import Operation

from onnxloom.dialects import onnx
from onnxloom.transforms.dim_analysis.dim_expr import DimExpr
from onnxloom.transforms.dim_analysis.facts import Impossible, Inferred, Result, Rule
from onnxloom.transforms.dim_analysis.query import OpQuery
from onnxloom.transforms.dim_analysis.rules.common import computed_from_dims, like_first


def _gather(query: OpQuery) -> Sequence[Result]:
    shape, indices = query.shape(0), query.shape(1)
    if shape is None or indices is None:
        return [Inferred(None, query.element(0))]
    axis = query.axis(query.int_attr("axis"), len(shape))
    return [Inferred([*shape[:axis], *indices, *shape[axis + 1 :]], query.element(0))]


def _gather_elements(query: OpQuery) -> Sequence[Result]:
    return [Inferred(query.shape(1), query.element(0))]


def _gather_nd(query: OpQuery) -> Sequence[Result]:
    shape, indices = query.shape(0), query.shape(1)
    batch = query.int_attr("batch_dims")
    depth = None if not indices else indices[-1].constant
    if shape is None or indices is None or depth is None:
        return [Inferred(None, query.element(0))]
    if batch + depth > len(shape):
        raise Impossible(f"indices of depth {depth} into a tensor of rank {len(shape)}")
    return [Inferred([*indices[:-1], *shape[batch + depth :]], query.element(0))]


def _top_k(query: OpQuery) -> Sequence[Result]:
    shape = query.shape(0)
    if shape is None:
        return [Inferred(None, query.element(0)), Inferred(None, i64)]
    axis = query.axis(query.int_attr("axis"), len(shape))
    count = query.dims(1)
    # No legal count is negative or above the dim, so it is the dim whatever it is computed from.
    dims = [*shape[:axis], count[0] if count else None, *shape[axis + 1 :]]
    return [Inferred(dims, query.element(0)), Inferred(dims, i64)]


def _one_hot(query: OpQuery) -> Sequence[Result]:
    indices, depth = query.shape(0), query.flat(1)
    if indices is None:
        return [Inferred(None, query.element(2))]
    axis = query.axis(query.int_attr("axis"), len(indices) + 1)
    count = depth[0] if depth else None
    if isinstance(count, float) and count >= 0.0:
        count = DimExpr.of(int(count))
    if not isinstance(count, DimExpr) or not computed_from_dims(count):
        count = None
    return [Inferred([*indices[:axis], count, *indices[axis:]], query.element(2))]


def _compress(query: OpQuery) -> Sequence[Result]:
    shape = query.shape(0)
    if "axis" not in query.op.properties:
        return [Inferred([None], query.element(0))]
    if shape is None:
        return [Inferred(None, query.element(0))]
    axis = query.axis(query.int_attr("axis"), len(shape))
    return [Inferred([*shape[:axis], None, *shape[axis + 1 :]], query.element(0))]


def _non_zero(query: OpQuery) -> Sequence[Result]:
    rank = query.rank(0)
    return [Inferred([None if rank is None else DimExpr.of(rank), None], i64)]


RULES: Final[dict[type[Operation], Rule]] = {
    onnx.GatherOp: _gather,
    onnx.GatherElementsOp: _gather_elements,
    onnx.GatherNDOp: _gather_nd,
    onnx.TopKOp: _top_k,
    onnx.OneHotOp: _one_hot,
    onnx.CompressOp: _compress,
    onnx.NonZeroOp: _non_zero,
    onnx.CumSumOp: like_first,
    onnx.CumProdOp: like_first,
    onnx.ReverseSequenceOp: like_first,
    onnx.ScatterElementsOp: like_first,
    onnx.ScatterNDOp: like_first,
    onnx.TensorScatterOp: like_first,
    onnx.TriluOp: like_first,
    onnx.RotaryEmbeddingOp: like_first,
}
