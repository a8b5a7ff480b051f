"""Floats of 16 bits and fewer as integers: to f32 and back, rounding to nearest even, without branches.

Each function handles every bit pattern: denormals, infinities, NaN (made quiet, sign kept where the
format has one) and, on the way down, overflow.
"""

from __future__ import annotations

from llvmlite import ir

from onnxloom.errors import PassError
from onnxloom.lowering.cpu_target import CpuTarget
from onnxloom.lowering.emit_llvm.types import F32, F64, I32, I64
from onnxloom.lowering.small_floats import BF16, F8E8M0FNU, F16, SmallFloat

_HALF = ir.HalfType()
_F32_INFINITY = 0x7F800000
_F32_QUIET = 0x00400000


def _i32(value: int) -> ir.Constant:
    return ir.Constant(I32, value & 0xFFFFFFFF)


def widen(b: ir.IRBuilder, bits: ir.Value, form: SmallFloat, target: CpuTarget) -> ir.Value:
    """The f32 value of `bits`."""
    if form is F16 and target.has_f16_conversion:
        return b.fpext(b.bitcast(bits, _HALF), F32)
    wide = b.zext(bits, I32)
    if form is BF16:
        return b.bitcast(b.shl(wide, _i32(16)), F32)
    if not form.signed:
        return _widen_exponent(b, wide)
    magnitude = b.and_(wide, _i32(form.magnitude_mask))
    sign = b.shl(b.lshr(wide, _i32(form.width - 1)), _i32(31))
    shifted = b.shl(magnitude, _i32(23 - form.mantissa_bits))
    # The product also normalises denormals of the narrow format.
    scaled = b.fmul(b.bitcast(shifted, F32), ir.Constant(F32, 2.0 ** (127 - form.bias)))
    result = b.bitcast(scaled, I32)
    if form.has_infinity:
        special = b.or_(shifted, _i32(_F32_INFINITY))
        quiet = b.or_(special, _i32(_F32_QUIET))
        is_nan = b.icmp_unsigned(">", magnitude, _i32(form.infinity))
        special = b.select(is_nan, quiet, special)
        result = b.select(b.icmp_unsigned(">=", magnitude, _i32(form.infinity)), special, result)
    elif form.has_nan:
        is_nan = b.icmp_unsigned("==", wide if form.unsigned_zero else magnitude, _i32(form.nan))
        result = b.select(is_nan, _i32(_F32_INFINITY | _F32_QUIET), result)
    return b.bitcast(b.or_(result, sign), F32)


def _widen_exponent(b: ir.IRBuilder, wide: ir.Value) -> ir.Value:
    """A power of two; the smallest one has no exponent in f32, and all ones are NaN."""
    result = b.shl(wide, _i32(23))
    result = b.select(b.icmp_unsigned("==", wide, _i32(0)), _i32(1 << 22), result)
    result = b.select(b.icmp_unsigned("==", wide, _i32(0xFF)), _i32(_F32_INFINITY | _F32_QUIET), result)
    return b.bitcast(result, F32)


def widen_lanes(b: ir.IRBuilder, bits: ir.Value, form: SmallFloat, target: CpuTarget) -> ir.Value | None:
    """The f32 values of a vector of bits, None where that takes a scalar each."""
    lanes = bits.type.count
    if form is F16 and target.has_f16_conversion:
        return b.fpext(b.bitcast(bits, ir.VectorType(_HALF, lanes)), ir.VectorType(F32, lanes))
    if form is not BF16:
        return None
    wide = b.zext(bits, ir.VectorType(I32, lanes))
    return b.bitcast(b.shl(wide, ir.Constant(wide.type, [16] * lanes)), ir.VectorType(F32, lanes))


def narrow_lanes(b: ir.IRBuilder, value: ir.Value, form: SmallFloat, target: CpuTarget) -> ir.Value | None:
    """The bits of a vector of f32 values, None where that takes a scalar each."""
    lanes = value.type.count
    narrow_type = ir.VectorType(ir.IntType(form.width), lanes)
    if form is F16 and target.has_f16_conversion:
        return b.bitcast(b.fptrunc(value, ir.VectorType(_HALF, lanes)), narrow_type)
    if form is not BF16:
        return None
    bits = b.bitcast(value, ir.VectorType(I32, lanes))
    return b.trunc(_narrow_bf16(b, value, bits), narrow_type)


def narrow(b: ir.IRBuilder, value: ir.Value, form: SmallFloat, target: CpuTarget) -> ir.Value:
    """The bits of the f32 `value` in the narrow format.

    Raises:
        PassError: the format has more than one way to round; kernels write out the one they mean.
    """
    if form is F8E8M0FNU:
        raise PassError("emit-llvm: arith.truncf to f8E8M0FNU has no form; kernels round to it themselves")
    narrow_type = ir.IntType(form.width)
    if form is F16 and target.has_f16_conversion:
        return b.bitcast(b.fptrunc(value, _HALF), narrow_type)
    bits = b.bitcast(value, I32)
    if form is BF16:
        return b.trunc(_narrow_bf16(b, value, bits), narrow_type)
    magnitude = b.and_(bits, _i32(0x7FFFFFFF))
    drop = 23 - form.mantissa_bits
    rebased = b.sub(magnitude, _i32((127 - form.bias) << 23))
    odd = b.and_(b.lshr(rebased, _i32(drop)), _i32(1))
    normal = b.lshr(b.add(b.add(rebased, _i32((1 << (drop - 1)) - 1)), odd), _i32(drop))
    # Adding a power of two whose ulp is the denormal step lets the adder do the rounding.
    magic = b.bitcast(_i32(form.denormal_magic_bits), F32)
    moved = b.bitcast(b.fadd(b.bitcast(magnitude, F32), magic), I32)
    denormal = b.sub(moved, _i32(form.denormal_magic_bits))
    is_denormal = b.icmp_unsigned("<", magnitude, _i32(form.smallest_normal_bits))
    result = b.select(is_denormal, denormal, normal)
    result = b.select(b.icmp_unsigned(">", result, _i32(form.largest)), _i32(form.overflow), result)
    is_nan = b.fcmp_unordered("uno", value, value)
    if form.has_infinity:
        payload = b.and_(b.lshr(magnitude, _i32(drop)), _i32((1 << form.mantissa_bits) - 1))
        result = b.select(is_nan, b.or_(payload, _i32(form.nan)), result)
    else:
        result = b.select(is_nan, _i32(form.nan), result)
    sign = b.shl(b.lshr(bits, _i32(31)), _i32(form.width - 1))
    if not form.has_nan:
        sign = b.xor(sign, b.select(is_nan, _i32(1 << (form.width - 1)), _i32(0)))
    if form.unsigned_zero:
        sign = b.select(b.icmp_unsigned("==", result, _i32(0)), _i32(0), sign)
    return b.trunc(b.or_(result, sign), narrow_type)


def _narrow_bf16(b: ir.IRBuilder, value: ir.Value, bits: ir.Value) -> ir.Value:
    """Of one f32 or of a vector of them; `bits` are the same as integers."""

    def number(n: int) -> ir.Constant:
        vector = isinstance(bits.type, ir.VectorType)
        return ir.Constant(bits.type, [n] * bits.type.count) if vector else _i32(n)

    odd = b.and_(b.lshr(bits, number(16)), number(1))
    rounded = b.lshr(b.add(b.add(bits, number(0x7FFF)), odd), number(16))
    quiet = b.or_(b.lshr(bits, number(16)), number(0x40))
    return b.select(b.fcmp_unordered("uno", value, value), quiet, rounded)


def round_to_odd(b: ir.IRBuilder, value: ir.Value) -> ir.Value:
    """An f64 as f32, inexact results made odd: rounding that again to a narrow format rounds once."""
    near = b.fptrunc(value, F32)
    back = b.fpext(near, F64)
    bits = b.bitcast(near, I32)
    mask = ir.Constant(I64, 0x7FFFFFFFFFFFFFFF)
    magnitude = b.and_(b.bitcast(value, I64), mask)
    rounded_up = b.icmp_unsigned(">", b.and_(b.bitcast(back, I64), mask), magnitude)
    neighbour = b.add(bits, b.select(rounded_up, _i32(-1), _i32(1)))
    is_even = b.icmp_unsigned("==", b.and_(bits, _i32(1)), _i32(0))
    # Ordered: NaN keeps the pattern fptrunc gave it.
    inexact = b.fcmp_ordered("!=", back, value)
    return b.bitcast(b.select(b.and_(inexact, is_even), neighbour, bits), F32)
