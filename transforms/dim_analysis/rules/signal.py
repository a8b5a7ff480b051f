"""Spectral transforms: DFT and STFT."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from xdsl.ir import Operation

from onnxloom.dialects import onnx
from onnxloom.transforms.dim_analysis.dim_expr import DimExpr
from onnxloom.transforms.dim_analysis.dim_ops import floor_div
from onnxloom.transforms.dim_analysis.facts import Inferred, Result, Rule
from onnxloom.transforms.dim_analysis.query import OpQuery

_TWO = DimExpr.of(2)


def _half(length: DimExpr | None) -> DimExpr | None:
    """How many frequencies half of a spectrum has."""
    half = None if length is None else floor_div(length, _TWO)
    return None if half is None else half + 1


def _number(query: OpQuery, index: int) -> int | None:
    values = query.ints(index)
    return values[0] if values is not None and len(values) == 1 else None


def _dft(query: OpQuery) -> Sequence[Result]:
    shape = query.shape(0)
    axis = _number(query, 2) if query.has(2) else -2
    if shape is None:
        return [Inferred(None, query.element(0))]
    dims: list[DimExpr | None] = list(shape)
    inverse, onesided = query.int_attr("inverse"), query.int_attr("onesided")
    dims[-1] = DimExpr.of(1) if inverse and onesided else _TWO
    if axis is None:
        return [Inferred([*[None] * (len(dims) - 1), dims[-1]], query.element(0))]
    axis = query.axis(axis, len(shape))
    length: DimExpr | None = shape[axis] * 2 - 2 if inverse and onesided else shape[axis]
    if query.has(1):
        number = _number(query, 1)
        length = None if number is None else DimExpr.of(number)
    dims[axis] = _half(length) if onesided and not inverse else length
    return [Inferred(dims, query.element(0))]


def _stft(query: OpQuery) -> Sequence[Result]:
    shape, window = query.shape(0), query.shape(2) if query.has(2) else None
    if shape is None or len(shape) != 3:
        return [Inferred(None, query.element(0))]
    length: DimExpr | None = shape[1]
    if query.has(3):
        number = _number(query, 3)
        length = None if number is None else DimExpr.of(number)
    elif query.has(2):
        length = window[0] if window else None
    hop = _number(query, 1)
    frames: DimExpr | None = None
    known = (shape[1].constant, None if length is None else length.constant)
    if hop and known[0] is not None and known[1] is not None:
        frames = DimExpr.of(max((known[0] - known[1]) // hop + 1, 0))
    kept = _half(length) if query.int_attr("onesided") else length
    return [Inferred([shape[0], frames, kept, _TWO], query.element(0))]


RULES: Final[dict[type[Operation], Rule]] = {onnx.DFTOp: _dft, onnx.STFTOp: _stft}
