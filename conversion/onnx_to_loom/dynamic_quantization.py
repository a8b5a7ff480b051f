"""How is a tensor quantized over its own range? One kernel: the range with 0, then each element's level."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import math as xmath
from xdsl.dialects.builtin import IntegerType, Signedness, TensorType, f32, i8
from xdsl.ir import SSAValue

from onnxloom.conversion.onnx_to_loom.builder import KernelBuilder, shape_of
from onnxloom.dialects.onnx.semantics.conversion import float_to_int
from onnxloom.dialects.onnx.semantics.scalars import Scalar, Scalars

LEVELS = 255
UNSIGNED_BYTE = IntegerType(8, Signedness.UNSIGNED)


def build_dynamic_quantization(builder: KernelBuilder, x: SSAValue) -> tuple[SSAValue, SSAValue, SSAValue]:
    """Levels, scale and zero point of a tensor of f32; the scale of nothing but zeros is 1.

    Raises:
        Declined: the tensor has no known rank.
    """
    types = [TensorType(UNSIGNED_BYTE, shape_of(x)), TensorType(f32, []), TensorType(UNSIGNED_BYTE, [])]
    dims = builder.dims(x)
    k = builder.kernel("dynamic_quantize_linear", [x], types, 1)
    s = k.scalars
    (count,) = k.sizes
    zero, first = s.const(0.0, f32), k.index(0)

    def wider(j: Scalar, acc: Sequence[Scalar]) -> Sequence[Scalar]:
        value = k.load(k.ins[0], j)
        return [s.minimum(acc[0], value), s.maximum(acc[1], value)]

    low, high = k.reduce(count, [zero, zero], wider)
    span = s.sub(high, low)
    flat = s.cmp("eq", span, zero)
    scale = s.select(flat, s.const(1.0, f32), s.divf(span, s.const(LEVELS, f32)))
    zero_point = _clamped(s, s.unary(xmath.RoundEvenOp, s.divf(s.neg(low), scale)))
    k.store(scale, k.outs[1], first)
    k.store(float_to_int(s, zero_point, i8, True), k.outs[2], first)
    with k.loop(count, parallel=True) as j:
        level = s.unary(xmath.RoundEvenOp, s.divf(k.load(k.ins[0], j), scale))
        k.store(float_to_int(s, _clamped(s, s.add(level, zero_point)), i8, True), k.outs[0], j)
    outs = [builder.empty(types[0], dims), *(builder.empty(t, []) for t in types[1:])]
    levels, scale_of_x, zero_of_x = builder.launch(k, [x], outs, [builder.multiply(dims)])
    return levels, scale_of_x, zero_of_x


def _clamped(s: Scalars, x: Scalar) -> Scalar:
    """Within the levels; NaN is the lowest."""
    lowest, highest = s.const(0.0, f32), s.const(LEVELS, f32)
    x = s.select(s.cmp("gt", x, lowest), x, lowest)
    return s.select(s.cmp("lt", x, highest), x, highest)
