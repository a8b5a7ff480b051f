"""Ops of domain com.microsoft that real models contain, by name.

Shapes and element types follow onnxruntime's documentation of its contributed operators.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from xdsl.dialects.builtin import f32

from onnxloom.dialects import onnx
from onnxloom.transforms.dim_analysis.dim_expr import DimExpr
from onnxloom.transforms.dim_analysis.facts import Inferred, Result, Rule
from onnxloom.transforms.dim_analysis.query import OpQuery
from onnxloom.transforms.dim_analysis.rules.common import ONE, broadcast_shapes, like_first
from onnxloom.transforms.dim_analysis.rules.contraction import matmul_dims, matmul_rule
from onnxloom.transforms.dim_analysis.rules.quantization import RULES as _QUANTIZATION
from onnxloom.transforms.dim_analysis.rules.recurrent import recurrent_results


def _qlinear_binary(query: OpQuery) -> Sequence[Result]:
    """A, A_scale, A_zero_point, B, ..."""
    return [Inferred(broadcast_shapes([query.shape(0), query.shape(3)]), query.element(0))]


def _fused_matmul(query: OpQuery) -> Sequence[Result]:
    shapes = [query.shape(0), query.shape(1)]
    if query.int_attr("transBatchA", 0) or query.int_attr("transBatchB", 0):
        return [Inferred(None, query.element(0))]
    for index, name in enumerate(("transA", "transB")):
        shape = shapes[index]
        if shape is not None and len(shape) > 1 and query.int_attr(name, 0):
            shapes[index] = (*shape[:-2], shape[-1], shape[-2])
    return [Inferred(matmul_dims(shapes[0], shapes[1]), query.element(0))]


def _skip_norm(query: OpQuery) -> Sequence[Result]:
    """Output, mean, inverse standard deviation, sum of input, skip and bias."""
    shape = query.shape(0)
    statistics = Inferred(None if shape is None else [*shape[:-1], ONE], f32)
    return [Inferred(shape, query.element(0)), statistics, statistics, Inferred(shape, query.element(0))]


def _dynamic_quantize_lstm(query: OpQuery) -> Sequence[Result]:
    return recurrent_results(query, DimExpr.of(query.int_attr("hidden_size")), query.element(0))


def _qlinear_pool(query: OpQuery) -> Sequence[Result]:
    shape = query.shape(0)
    if shape is None or query.int_attr("channels_last", 0):
        return [Inferred(None if shape is None else [None] * len(shape), query.element(0))]
    return [Inferred([*shape[:2], *[ONE] * (len(shape) - 2)], query.element(0))]


def _matmul_nbits(query: OpQuery) -> Sequence[Result]:
    shape = query.shape(0)
    columns = DimExpr.of(query.int_attr("N", 0))
    return [Inferred(None if shape is None else [*shape[:-1], columns], query.element(0))]


CUSTOM_RULES: Final[dict[str, Rule]] = {
    **dict.fromkeys(("Gelu", "FastGelu", "QuickGelu", "BiasGelu", "BiasAdd", "BiasSoftmax"), like_first),
    **dict.fromkeys(("QLinearSigmoid", "QLinearLeakyRelu", "QLinearSoftmax"), like_first),
    "RotaryEmbedding": like_first,
    "QLinearAdd": _qlinear_binary,
    "QLinearMul": _qlinear_binary,
    "QLinearGlobalAveragePool": _qlinear_pool,
    "MatMulIntegerToFloat": matmul_rule(0, 1, 2),
    "DynamicQuantizeMatMul": matmul_rule(0, 1, 0),
    "FusedMatMul": _fused_matmul,
    "MatMulNBits": _matmul_nbits,
    "SkipLayerNormalization": _skip_norm,
    "SkipSimplifiedLayerNormalization": _skip_norm,
    "DynamicQuantizeLSTM": _dynamic_quantize_lstm,
    "QuantizeLinear": _QUANTIZATION[onnx.QuantizeLinearOp],
    "DequantizeLinear": _QUANTIZATION[onnx.DequantizeLinearOp],
}
