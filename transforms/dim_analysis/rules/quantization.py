"""QuantizeLinear and its relatives."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from xdsl.dialects.builtin import f32
from xdsl.ir import Attribute, Operation

from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.dtypes import element_of_proto
from onnxloom.dialects.onnx.element_types import ui8
from onnxloom.transforms.dim_analysis.facts import Inferred, Result, Rule
from onnxloom.transforms.dim_analysis.query import OpQuery


def _output_type(query: OpQuery) -> Attribute | None:
    code = query.int_attr("output_dtype", 0)
    return element_of_proto(code) if code else None


def _quantize(query: OpQuery) -> Sequence[Result]:
    zero_point = query.element(2) if query.has(2) else None
    return [Inferred(query.shape(0), _output_type(query) or zero_point or ui8)]


def _dequantize(query: OpQuery) -> Sequence[Result]:
    return [Inferred(query.shape(0), _output_type(query) or query.element(1))]


def _dynamic_quantize(query: OpQuery) -> Sequence[Result]:
    return [Inferred(query.shape(0), ui8), Inferred([], f32), Inferred([], ui8)]


RULES: Final[dict[type[Operation], Rule]] = {
    onnx.QuantizeLinearOp: _quantize,
    onnx.DequantizeLinearOp: _dequantize,
    onnx.DynamicQuantizeLinearOp: _dynamic_quantize,
}
