"""How are floats quantized to 8 bits while a kernel runs? Over the range of a row, as DynamicQuantizeLinear.

Where bytes are multiplied four by four, levels are packed into words as `quad_words` has them. Elsewhere they
stay floats, zero point subtracted: sums of their products with 8-bit weights are whole numbers that f32 holds
exactly up to `EXACT`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xdsl.dialects import arith
from xdsl.dialects import math as xmath
from xdsl.dialects.builtin import f32, i32
from xdsl.ir import SSAValue

from onnxloom.conversion.onnx_to_loom.kernel_body import KernelBody
from onnxloom.dialects.onnx.semantics.conversion import float_to_int
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


@dataclass(frozen=True)
class _Quantization:
    """How the elements of a row become levels."""

    scale: Scalar
    """0 if all elements are 0."""
    zero_point: Scalar
    level: Callable[[Scalar], Scalar]
    """The level of an element, a whole number as float."""


def quantize_row(k: KernelBody, source: Row, target: Row, count: Scalar) -> Scalar:
    """Writes `count` levels minus the zero point; gives the scale, 0 if all elements are 0."""
    s = k.scalars
    quantization = _quantization(k, source, count)
    with k.loop(count, parallel=True) as j:
        level = quantization.level(k.load(source.buffer, k.add(source.offset, j)))
        k.store(s.sub(level, quantization.zero_point), target.buffer, k.add(target.offset, j))
    return quantization.scale


def quantize_words(k: KernelBody, source: Row, target: Row, count: int) -> tuple[Scalar, Scalar]:
    """Writes `count` levels, four to a word; gives scale (0 if all elements are 0) and zero point.

    What fills up the last word is to be multiplied by zeros.
    """
    s = k.scalars
    quantization = _quantization(k, source, k.index(count))

    def write(word: Scalar, parts: int) -> None:
        at = k.add(source.offset, k.mul(word, k.index(4)))
        value = s.const(0, i32)
        for part in range(parts):
            level = quantization.level(k.load(source.buffer, k.add(at, k.index(part))))
            byte = float_to_int(s, level, i32, False)
            value = s.or_(value, s.emit(arith.ShLIOp(byte, s.const(8 * part, i32))))
        k.store(value, target.buffer, k.add(target.offset, word))

    with k.loop(k.index(count // 4), parallel=True) as word:
        write(word, 4)
    if count % 4:
        write(k.index(count // 4), count % 4)
    return quantization.scale, quantization.zero_point


def _quantization(k: KernelBody, source: Row, count: Scalar) -> _Quantization:
    """From the range of `count` elements, which includes 0."""
    s = k.scalars
    zero, top = s.const(0.0, f32), s.const(LEVELS, f32)

    def widened(j: Scalar, acc: Sequence[Scalar]) -> Sequence[Scalar]:
        x = k.load(source.buffer, k.add(source.offset, j))
        return [s.minimum(acc[0], x), s.maximum(acc[1], x)]

    low, high = k.reduce(count, [zero, zero], widened)
    scale = s.divf(s.sub(high, low), top)
    divisor = s.select(s.cmp("eq", scale, zero), s.const(1.0, f32), scale)
    zero_point = _clamped(k, s.unary(xmath.RoundEvenOp, s.divf(s.neg(low), divisor)))

    def level(x: Scalar) -> Scalar:
        return _clamped(k, s.add(s.unary(xmath.RoundEvenOp, s.divf(x, divisor)), zero_point))

    return _Quantization(scale, zero_point, level)


def _clamped(k: KernelBody, x: Scalar) -> Scalar:
    s = k.scalars
    return s.maximum(s.minimum(x, s.const(LEVELS, f32)), s.const(0.0, f32))
