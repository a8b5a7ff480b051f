"""Resize and its kin: dims from sizes or scale factors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

import numpy as np
from xdsl.ir import Operation

from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.access import str_attr
from onnxloom.transforms.dim_analysis.dim_expr import DimExpr
from onnxloom.transforms.dim_analysis.dim_ops import floor_div
from onnxloom.transforms.dim_analysis.facts import Element, Impossible, Inferred, Result, Rule
from onnxloom.transforms.dim_analysis.query import OpQuery
from onnxloom.transforms.dim_analysis.rules.common import computed_from_dims


def scaled(dim: DimExpr, scale: Element) -> DimExpr | None:
    """`floor(dim * scale)`; None where the rounding of floats would decide."""
    if not isinstance(scale, float) or not math.isfinite(scale):
        return None
    if dim.constant is not None:
        single = math.floor(np.float32(dim.constant) * np.float32(scale))
        return DimExpr.of(single) if single == math.floor(dim.constant * scale) else None
    numerator, denominator = scale.as_integer_ratio()
    if denominator > 256 or not 0 <= numerator <= 65536:
        return None
    return floor_div(dim * numerator, DimExpr.of(denominator))


def _resize(query: OpQuery) -> Sequence[Result]:
    shape = query.shape(0)
    if shape is None:
        return [Inferred(None, query.element(0))]
    axes = query.axes(query.ints_attr("axes") or tuple(range(len(shape))), len(shape))
    dims: list[DimExpr | None] = list(shape)
    sizes, scales = query.dims(3), query.flat(2)
    given = sizes if query.has(3) else scales
    for place, axis in enumerate(axes):
        dims[axis] = None
        if given is None:
            continue
        if len(given) != len(axes):
            raise Impossible(f"{len(given)} sizes or scales for {len(axes)} axes")
        if query.has(3):
            stretched = str_attr(query.op, "keep_aspect_ratio_policy") == "stretch"
            size = sizes[place] if sizes is not None and stretched else None
            dims[axis] = size if size is not None and computed_from_dims(size) else None
        else:
            dims[axis] = scaled(shape[axis], given[place])
    return [Inferred(dims, query.element(0))]


def _grid_sample(query: OpQuery) -> Sequence[Result]:
    shape, grid = query.shape(0), query.shape(1)
    if shape is None or grid is None:
        return [Inferred(None, query.element(0))]
    return [Inferred([*shape[:2], *grid[1:-1]], query.element(0))]


RULES: Final[dict[type[Operation], Rule]] = {
    onnx.ResizeOp: _resize,
    onnx.GridSampleOp: _grid_sample,
}
