"""com.microsoft DynamicQuantizeLSTM: an LSTM with 8-bit weights that quantizes X and its state as it runs.

X is quantized over the range of all of it, the state of each batch entry over its own at every step. The
sums of products are whole numbers, computed exactly in f32 and scaled afterwards. Source: the operator's
schema in ONNX Runtime's ContribOperators.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from xdsl.dialects.builtin import DYNAMIC_INDEX, IntegerAttr, NoneType, TensorType, f32, i32, i64
from xdsl.ir import Attribute, Operation, SSAValue

from onnxloom.conversion.onnx_to_loom.builder import (
    KernelBuilder,
    index_value,
    program_constant,
    rank_of,
)
from onnxloom.conversion.onnx_to_loom.decline import Declined
from onnxloom.conversion.onnx_to_loom.quantized.dynamic_quantization import build_dynamic_quantization
from onnxloom.conversion.onnx_to_loom.quantized.integer_products import build_integer_product
from onnxloom.conversion.onnx_to_loom.quantized.pair_words import Factor
from onnxloom.conversion.onnx_to_loom.recurrent.recurrent import (
    Recurrence,
    Scales,
    Words,
    build_recurrence,
    dim_of,
)
from onnxloom.conversion.onnx_to_loom.recurrent.recurrent_buffers import Layout
from onnxloom.conversion.onnx_to_loom.recurrent.recurrent_forms import directions_of, lstm_cells
from onnxloom.conversion.onnx_to_loom.recurrent.recurrent_quantization import EXACT, LEVELS, Row, quantize_row
from onnxloom.conversion.onnx_to_loom.registry import Inputs, custom_lowering
from onnxloom.dialects import loom
from onnxloom.dialects.onnx.semantics.scalars import Scalar, Scalars

GATES = 4


@dataclass(frozen=True)
class _Weights:
    """Constant 8-bit weights, `[directions, K, gates * hidden]`, and their zero point."""

    source: SSAValue
    values: np.ndarray[Any, Any]
    zero: int

    @staticmethod
    def of(weights: SSAValue | None, zero: SSAValue | None) -> _Weights:
        """Raises Declined."""
        values = None if weights is None else program_constant(weights)
        zeros = None if zero is None else program_constant(zero)
        if weights is None or values is None or zeros is None:
            raise Declined("the weights or their zero points are not constant")
        if (zeros != zeros.flat[0]).any():
            raise Declined("the weights have several zero points")
        zero_point = int(zeros.flat[0])
        if _largest_sum(values, zero_point) > EXACT:
            raise Declined("sums of products may exceed what f32 holds exactly")
        return _Weights(weights, values, zero_point)

    @property
    def fits_bytes(self) -> bool:
        """Whether the weights minus their zero point are signed bytes."""
        if not self.values.size:
            return False
        low, high = (int(v) - self.zero for v in (self.values.min(), self.values.max()))
        return low >= -128 and high <= 127

    @property
    def bytes(self) -> np.ndarray[Any, Any]:
        """The weights minus their zero point, which must fit."""
        return (self.values.astype(np.int16) - np.int16(self.zero)).astype(np.int8)


@custom_lowering("com.microsoft", "DynamicQuantizeLSTM")
def lower_dynamic_quantize_lstm(op: Operation, inputs: Inputs, builder: KernelBuilder) -> Sequence[SSAValue]:
    """Y, Y_h, Y_c."""
    x, w, r, bias, lengths, h, c, peepholes, w_scale, w_zero, r_scale, r_zero = inputs
    assert x is not None and w_scale is not None and r_scale is not None
    if rank_of(w_scale) != rank_of(r_scale):
        raise Declined("the scales of W and R are not of one kind")
    input_weights, recurrent_weights = _Weights.of(w, w_zero), _Weights.of(r, r_zero)
    as_words = _as_words(builder, x, input_weights, recurrent_weights)
    words = None
    if as_words is None:
        levels, x_scale = _quantized(builder, x)
        factors = [levels, *(_whole_numbers(builder, each) for each in (input_weights, recurrent_weights))]
    else:
        words, x_scale = as_words
        factors = [x, input_weights.source, recurrent_weights.source]
    recurrence = Recurrence(
        name="quantized_lstm",
        gates=GATES,
        hidden=recurrent_weights.values.shape[1],
        batch_first=False,
        backwards=directions_of(op),
        cells=lstm_cells(op),
        x=factors[0],
        w=factors[1],
        r=factors[2],
        bias=bias,
        lengths=lengths,
        initial=[h, c],
        peepholes=peepholes,
        wants_y=not isinstance(op.results[0].type, NoneType),
        scales=Scales(x_scale, w_scale, r_scale, by_column=rank_of(w_scale) == 2),
        words=words,
    )
    results = [x if value is None else value for value in build_recurrence(builder, recurrence)]
    return results[: len(op.results)]


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


def _whole_numbers(builder: KernelBuilder, weights: _Weights) -> SSAValue:
    """8-bit weights minus their zero point as floats, `[directions, N, K]`."""
    directions, depth, columns = weights.values.shape
    params = {"zero": IntegerAttr(weights.zero, i64)}
    type_ = TensorType(f32, [directions, columns, depth])
    return builder.insert(loom.PackOp(weights.source, "integers_as_floats", dict(params), type_)).results[0]


def _as_words(builder: KernelBuilder, x: SSAValue, w: _Weights, r: _Weights) -> tuple[Words, SSAValue] | None:
    """The products as words of four bytes, and the scale of X; None where words have no kernel."""
    if not builder.kernels.target.dot_bytes or not (w.fits_bytes and r.fits_bytes):
        return None
    dims = [dim_of(builder, x, axis) for axis in range(3)]
    shape = [DYNAMIC_INDEX if (v := index_value(d)) is None else v for d in dims]
    levels, scale, zero = build_dynamic_quantization(builder, builder.view(x, dims, TensorType(f32, shape)))
    matrix = np.concatenate(list(w.bytes), axis=-1)
    type_ = TensorType(f32, [*shape[:2], matrix.shape[-1]])

    def as_float(s: Scalars, value: Scalar, operands: Sequence[Scalar]) -> Scalar:
        return s.int_to_float(value, f32, unsigned=False)

    projected = build_integer_product(
        builder,
        "quantized_lstm_inputs",
        Factor(levels, zero),
        Factor(builder.constant(matrix), None),
        type_,
        epilogue=as_float,
    )

    def packed(layout: Layout) -> SSAValue:
        directions, depth, _ = r.values.shape
        dims = [directions, layout.gates, layout.panels, -(-depth // 4), layout.columns]
        params = {"gates": layout.gates, "columns": layout.columns, "zero": r.zero}
        attributes: dict[str, Attribute] = {name: IntegerAttr(v, i64) for name, v in params.items()}
        pack = loom.PackOp(r.source, "recurrent_words", attributes, TensorType(i32, dims))
        return builder.insert(pack).results[0]

    sums = builder.constant(r.bytes.sum(axis=1, dtype=np.int64).astype(np.float32))
    return Words(projected, packed, sums), builder.view(scale, [builder.index(1)])


def _largest_sum(weights: np.ndarray[Any, Any], zero_point: int) -> int:
    """The largest sum of products with quantized values that any column can give."""
    return LEVELS * int(np.abs(weights.astype(np.int64) - zero_point).sum(axis=1).max(initial=0))
