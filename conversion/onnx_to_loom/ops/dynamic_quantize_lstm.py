"""com.microsoft DynamicQuantizeLSTM: an LSTM with 8-bit weights that quantizes X and its state as it runs.

X is quantized over the range of all of it, the state of each batch entry over its own at every step. The
sums of products are whole numbers, computed exactly in f32 and scaled afterwards. Source: the operator's
schema in ONNX Runtime's ContribOperators.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from xdsl.dialects.builtin import DYNAMIC_INDEX, IntegerAttr, NoneType, TensorType, f32, i64
from xdsl.ir import Operation, SSAValue

from onnxloom.conversion.onnx_to_loom.builder import (
    KernelBuilder,
    index_value,
    program_constant,
    rank_of,
)
from onnxloom.conversion.onnx_to_loom.decline import Declined
from onnxloom.conversion.onnx_to_loom.recurrent import Recurrence, Scales, build_recurrence, dim_of
from onnxloom.conversion.onnx_to_loom.recurrent_forms import directions_of, lstm_cells
from onnxloom.conversion.onnx_to_loom.recurrent_quantization import EXACT, LEVELS, Row, quantize_row
from onnxloom.conversion.onnx_to_loom.registry import Inputs, custom_lowering
from onnxloom.dialects import loom


@custom_lowering("com.microsoft", "DynamicQuantizeLSTM")
def lower_dynamic_quantize_lstm(op: Operation, inputs: Inputs, builder: KernelBuilder) -> Sequence[SSAValue]:
    """Y, Y_h, Y_c."""
    x, w, r, bias, lengths, h, c, peepholes, w_scale, w_zero, r_scale, r_zero = inputs
    assert x is not None and w_scale is not None and r_scale is not None
    if rank_of(w_scale) != rank_of(r_scale):
        raise Declined("the scales of W and R are not of one kind")
    levels, x_scale = _quantized(builder, x)
    weights, recurrent = _whole_numbers(builder, w, w_zero), _whole_numbers(builder, r, r_zero)
    recurrence = Recurrence(
        name="quantized_lstm",
        gates=4,
        hidden=recurrent.type.get_shape()[-1],  # pyright: ignore
        batch_first=False,
        backwards=directions_of(op),
        cells=lstm_cells(op),
        x=levels,
        w=weights,
        r=recurrent,
        bias=bias,
        lengths=lengths,
        initial=[h, c],
        peepholes=peepholes,
        wants_y=not isinstance(op.results[0].type, NoneType),
        scales=Scales(x_scale, w_scale, r_scale, by_column=rank_of(w_scale) == 2),
    )
    return [x if value is None else value for value in build_recurrence(builder, recurrence)]


def _quantized(builder: KernelBuilder, x: SSAValue) -> tuple[SSAValue, SSAValue]:
    """X as quantized whole numbers, and its scale."""
    dims = [dim_of(builder, x, axis) for axis in range(3)]
    shape = [DYNAMIC_INDEX if (v := index_value(d)) is None else v for d in dims]
    type_, one = TensorType(f32, shape), TensorType(f32, [1])
    source = builder.view(x, dims, type_)
    k = builder.kernel("quantize_levels", [source], [type_, one], 1)
    zero = k.index(0)
    scale = quantize_row(k, Row(k.ins[0], zero), Row(k.outs[0], zero), k.sizes[0])
    k.store(scale, k.outs[1], zero)
    outs = [builder.empty(type_, dims), builder.empty(one, [builder.index(1)])]
    levels, scales = builder.launch(k, [source], outs, [builder.multiply(dims)])
    return levels, scales


def _whole_numbers(builder: KernelBuilder, weights: SSAValue | None, zero: SSAValue | None) -> SSAValue:
    """8-bit weights minus their zero point as floats, `[directions, N, K]`."""
    values = None if weights is None else program_constant(weights)
    zeros = None if zero is None else program_constant(zero)
    if weights is None or values is None or zeros is None:
        raise Declined("the weights or their zero points are not constant")
    if (zeros != zeros.flat[0]).any():
        raise Declined("the weights have several zero points")
    zero_point = int(zeros.flat[0])
    if _largest_sum(values, zero_point) > EXACT:
        raise Declined("sums of products may exceed what f32 holds exactly")
    directions, depth, columns = values.shape
    params = {"zero": IntegerAttr(zero_point, i64)}
    type_ = TensorType(f32, [directions, columns, depth])
    return builder.insert(loom.PackOp(weights, "integers_as_floats", dict(params), type_)).results[0]


def _largest_sum(weights: np.ndarray[Any, Any], zero_point: int) -> int:
    """The largest sum of products with quantized values that any column can give."""
    return LEVELS * int(np.abs(weights.astype(np.int64) - zero_point).sum(axis=1).max(initial=0))
