"""Ops whose results are made from shapes, attributes and small integers rather than from data."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from xdsl.dialects.builtin import f32, i64
from xdsl.ir import Attribute, Operation, TypedAttribute

from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.access import attr
from onnxloom.dialects.onnx.dtypes import element_of_proto
from onnxloom.transforms.dim_analysis.dim_expr import DimExpr
from onnxloom.transforms.dim_analysis.dim_ops import ceil_div, positive_part
from onnxloom.transforms.dim_analysis.facts import Impossible, Inferred, Result, Rule, element_type, numbers
from onnxloom.transforms.dim_analysis.query import OpQuery
from onnxloom.transforms.dim_analysis.rules.common import ONE


def shape_range(query: OpQuery, rank: int) -> tuple[int, int]:
    """First and last axis that a Shape op reads."""
    start = query.int_attr("start")
    end = query.int_attr("end", rank) if attr(query.op, "end") is not None else rank
    start = min(max(start + rank if start < 0 else start, 0), rank)
    end = min(max(end + rank if end < 0 else end, 0), rank)
    return start, max(start, end)


def _shape(query: OpQuery) -> Sequence[Result]:
    rank = query.rank(0)
    if rank is None:
        return [Inferred([None], i64)]
    start, end = shape_range(query, rank)
    return [Inferred([DimExpr.of(end - start)], i64)]


def _size(query: OpQuery) -> Sequence[Result]:
    return [Inferred([], i64)]


def _dim(query: OpQuery) -> Sequence[Result]:
    return [Inferred([ONE], i64)]


def _constant_of_shape(query: OpQuery) -> Sequence[Result]:
    value = attr(query.op, "value")
    element: Attribute = f32
    if isinstance(value, TypedAttribute):
        element = element_type(value.get_type()) or f32
    dims = query.dims(0)
    if dims is not None:
        if any(dim.constant is not None and dim.constant < 0 for dim in dims):
            raise Impossible(f"shape {[str(d) for d in dims]} has a negative dim")
        return [Inferred(dims, element)]
    length = numbers(query.shape(0))
    return [Inferred([None] * length[0] if length else None, element)]


def _range(query: OpQuery) -> Sequence[Result]:
    return [Inferred([range_length(query)], query.element(0))]


def range_length(query: OpQuery) -> DimExpr | None:
    flats = [query.flat(i) for i in range(3)]
    if any(flat is None or len(flat) != 1 for flat in flats):
        return None
    start, limit, delta = (flat[0] for flat in flats if flat)
    if isinstance(start, DimExpr) and isinstance(limit, DimExpr) and isinstance(delta, DimExpr):
        if delta.constant == 0:
            raise Impossible("delta is 0")
        if delta.constant is None:
            return None
        distance = limit - start if delta.constant > 0 else start - limit
        return positive_part(ceil_div(distance, DimExpr.of(abs(delta.constant))))
    if isinstance(start, float) and isinstance(limit, float) and isinstance(delta, float) and delta != 0.0:
        length = (limit - start) / delta
        return DimExpr.of(max(math.ceil(length), 0)) if math.isfinite(length) else None
    return None


def _random(query: OpQuery) -> Sequence[Result]:
    dims = query.ints_attr("shape") or ()
    return [Inferred([DimExpr.of(dim) for dim in dims], element_of_proto(query.int_attr("dtype")))]


def _random_like(query: OpQuery) -> Sequence[Result]:
    has_type = attr(query.op, "dtype") is not None
    element = element_of_proto(query.int_attr("dtype")) if has_type else query.element(0)
    return [Inferred(query.shape(0), element)]


RULES: Final[dict[type[Operation], Rule]] = {
    onnx.ShapeOp: _shape,
    onnx.SizeOp: _size,
    onnx.DimOp: _dim,
    onnx.ConstantOfShapeOp: _constant_of_shape,
    onnx.RangeOp: _range,
    onnx.RandomNormalOp: _random,
    onnx.RandomUniformOp: _random,
    onnx.RandomNormalLikeOp: _random_like,
    onnx.RandomUniformLikeOp: _random_like,
    onnx.BernoulliOp: _random_like,
    onnx.EyeLikeOp: _random_like,
}
