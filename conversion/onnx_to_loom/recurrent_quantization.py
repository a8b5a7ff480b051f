"""How are floats quantized to 8 bits while a kernel runs? Over the range of a row, as DynamicQuantizeLinear.

Quantized values stay floats, zero point subtracted: sums of their products with 8-bit weights are whole
numbers that f32 holds exactly up to `EXACT`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects import math as xmath
from xdsl.dialects.builtin import f32
from xdsl.ir import SSAValue

from onnxloom.conversion.onnx_to_loom.kernel_body import KernelBody
from onnxloom.dialects.onnx.semantics.scalars import Scalar

EXACT = 1 << 24
"""Whole numbers up to this are exact in f32."""

LEVELS = 255
"""The largest quantized value."""


@dataclass(frozen=True)
class Row:
    """Contiguous elements of a buffer from an offset on."""

    buffer: SSAValue
    offset: Scalar


def quantize_row(k: KernelBody, source: Row, target: Row, count: Scalar) -> Scalar:
    """Writes `count` quantized elements; gives the scale, 0 if all elements are 0."""
    s = k.scalars
    zero, top = s.const(0.0, f32), s.const(LEVELS, f32)

    def widened(j: Scalar, acc: Sequence[Scalar]) -> Sequence[Scalar]:
        x = k.load(source.buffer, k.add(source.offset, j))
        return [s.minimum(acc[0], x), s.maximum(acc[1], x)]

    low, high = k.reduce(count, [zero, zero], widened)
    scale = s.divf(s.sub(high, low), top)
    flat = s.cmp("eq", scale, zero)
    divisor = s.select(flat, s.const(1.0, f32), scale)
    zero_point = _clamped(k, s.unary(xmath.RoundEvenOp, s.divf(s.neg(low), divisor)))
    with k.loop(count, parallel=True) as j:
        x = s.divf(k.load(source.buffer, k.add(source.offset, j)), divisor)
        level = _clamped(k, s.add(s.unary(xmath.RoundEvenOp, x), zero_point))
        k.store(s.sub(level, zero_point), target.buffer, k.add(target.offset, j))
    return scale


def _clamped(k: KernelBody, x: Scalar) -> Scalar:
    s = k.scalars
    return s.maximum(s.minimum(x, s.const(LEVELS, f32)), s.const(0.0, f32))
