"""The helper functions emitted Python may call, each with its own text, emitted only where used."""

from __future__ import annotations

from onnxloom.lowering.small_floats import BF16, F8E8M0FNU, SMALL_FLOATS, SmallFloat


def _widen(form: SmallFloat) -> str:
    if form is BF16:
        body = "    return np.uint32(np.uint32(bits) << np.uint32(16)).view(np.float32)\n"
    elif form.has_infinity:
        body = (
            f"    magnitude = np.uint32(bits & {form.magnitude_mask:#x})\n"
            f"    sign = np.uint32(np.uint32(bits >> {form.width - 1}) << np.uint32(31))\n"
            f"    shifted = np.uint32(magnitude << np.uint32({23 - form.mantissa_bits}))\n"
            f"    if magnitude > {form.infinity:#x}:\n"
            f"        return np.uint32(shifted | np.uint32(0x7FC00000) | sign).view(np.float32)\n"
            f"    if magnitude == {form.infinity:#x}:\n"
            f"        return np.uint32(np.uint32(0x7F800000) | sign).view(np.float32)\n"
            f"    scaled = np.uint32(shifted).view(np.float32) * np.float32(2.0 ** {127 - form.bias})\n"
            f"    return np.uint32(np.float32(scaled).view(np.uint32) | sign).view(np.float32)\n"
        )
    elif form is F8E8M0FNU:
        body = (
            "    if bits == 0xFF:\n"
            "        return np.uint32(0x7FC00000).view(np.float32)\n"
            "    exponent = np.uint32(bits) << np.uint32(23)\n"
            "    return np.uint32(exponent if bits != 0 else 1 << 22).view(np.float32)\n"
        )
    else:
        tested = "bits" if form.unsigned_zero else "magnitude"
        nan = (
            f"    if {tested} == {form.nan:#x}:\n"
            f"        return np.uint32(np.uint32(0x7FC00000) | sign).view(np.float32)\n"
        )
        body = (
            f"    magnitude = np.uint32(bits & {form.magnitude_mask:#x})\n"
            f"    sign = np.uint32(np.uint32(bits >> {form.width - 1}) << np.uint32(31))\n"
            f"{nan if form.has_nan else ''}"
            f"    shifted = np.uint32(magnitude << np.uint32({23 - form.mantissa_bits}))\n"
            f"    scaled = np.uint32(shifted).view(np.float32) * np.float32(2.0 ** {127 - form.bias})\n"
            f"    return np.uint32(np.float32(scaled).view(np.uint32) | sign).view(np.float32)\n"
        )
    return f"@njit\ndef {form.name}_to_f32(bits):\n{body}"


def _narrow(form: SmallFloat) -> str:
    unsigned = f"np.uint{max(form.width, 8)}"
    head = f"@njit\ndef f32_to_{form.name}(x):\n    bits = np.int64(np.float32(x).view(np.uint32))\n"
    if form is BF16:
        return (
            f"{head}    if x != x:\n"
            f"        return {unsigned}((bits >> 16) | 0x40)\n"
            f"    return {unsigned}((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16)\n"
        )
    drop = 23 - form.mantissa_bits
    text = f"{head}    magnitude = bits & 0x7FFFFFFF\n    sign = (bits >> 31) << {form.width - 1}\n"
    text += "    if x != x:\n"
    if form.has_infinity:
        payload = f"((magnitude >> {drop}) & {(1 << form.mantissa_bits) - 1:#x})"
        text += f"        return {unsigned}({payload} | {form.nan:#x} | sign)\n"
    elif not form.has_nan:
        text += f"        return {unsigned}(sign ^ {1 << (form.width - 1):#x})\n"
    elif form.unsigned_zero:
        text += f"        return {unsigned}({form.nan:#x})\n"
    else:
        text += f"        return {unsigned}({form.nan:#x} | sign)\n"
    text += (
        f"    if magnitude < {form.smallest_normal_bits:#x}:\n"
        f"        magic = np.uint32({form.denormal_magic_bits:#x}).view(np.float32)\n"
        f"        moved = np.uint32(magnitude).view(np.float32) + magic\n"
        f"        result = np.int64(np.float32(moved).view(np.uint32)) - {form.denormal_magic_bits:#x}\n"
        f"    else:\n"
        f"        rebased = magnitude - {(127 - form.bias) << 23:#x}\n"
        f"        result = (rebased + {(1 << (drop - 1)) - 1:#x} + ((rebased >> {drop}) & 1)) >> {drop}\n"
        f"    if result > {form.largest:#x}:\n"
        f"        result = {form.overflow:#x}\n"
    )
    if form.unsigned_zero:
        text += "    if result == 0:\n        sign = 0\n"
    return text + f"    return {unsigned}(result | sign)\n"


_ROUND_TO_ODD = '''\
@njit
def round_to_odd(x):
    """f64 -> f32 with inexact results made odd: rounding the result once more rounds only once."""
    near = np.float32(x)
    if np.float64(near) == x or x != x or np.float32(near).view(np.uint32) & 1:
        return near
    step = -1 if abs(np.float64(near)) > abs(x) else 1
    return np.uint32(np.int64(np.float32(near).view(np.uint32)) + step).view(np.float32)
'''
_FMA = '''\
@intrinsic
def fma(typing_context, a, b, c):
    """a * b + c with one rounding"""

    def codegen(context, builder, signature, args):
        return builder.fma(*args)

    return a(a, a, a), codegen
'''
_DIV = '''\
@njit(error_model="numpy")
def div(a, b):
    """The quotient of integers rounded to zero; 0 where b is 0"""
    if b == 0:
        return np.int64(0)
    if b == -1:
        return -np.int64(a)
    quotient = np.int64(a) // np.int64(b)
    return quotient + 1 if quotient < 0 and quotient * b != a else quotient
'''
_REM = '''\
@njit(error_model="numpy")
def rem(a, b):
    """The remainder of `div`; it has the sign of a"""
    if b == 0 or b == -1:
        return np.int64(0)
    rest = np.int64(a) % np.int64(b)
    return rest - b if rest != 0 and (a < 0) != (b < 0) else rest
'''
_FLOORDIV = '''\
@njit(error_model="numpy")
def floordiv(a, b):
    """The quotient of integers rounded down; 0 where b is 0"""
    if b == 0:
        return np.int64(0)
    return -np.int64(a) if b == -1 else np.int64(a) // np.int64(b)
'''
_CEILDIV = '''\
@njit(error_model="numpy")
def ceildiv(a, b):
    """The quotient of integers rounded up; 0 where b is 0"""
    if b == 0:
        return np.int64(0)
    if b == -1:
        return -np.int64(a)
    quotient = np.int64(a) // np.int64(b)
    return quotient + 1 if quotient * b != a else quotient
'''
_DIV_UNSIGNED = '''\
@njit(error_model="numpy")
def div_unsigned(a, b):
    """The quotient of unsigned integers; 0 where b is 0"""
    return np.uint64(0) if b == 0 else np.uint64(a) // np.uint64(b)
'''
_REM_UNSIGNED = '''\
@njit(error_model="numpy")
def rem_unsigned(a, b):
    """The remainder of unsigned integers; 0 where b is 0"""
    return np.uint64(0) if b == 0 else np.uint64(a) % np.uint64(b)
'''
_CEILDIV_UNSIGNED = '''\
@njit(error_model="numpy")
def ceildiv_unsigned(a, b):
    """The quotient of unsigned integers rounded up; 0 where b is 0"""
    if b == 0:
        return np.uint64(0)
    quotient = np.uint64(a) // np.uint64(b)
    return quotient + np.uint64(1) if np.uint64(a) % np.uint64(b) != 0 else quotient
'''
_MAXIMUM = '''\
@njit
def maximum(a, b):
    """The larger number; NaN if either is NaN"""
    return b if b > a or b != b else a
'''
_MINIMUM = '''\
@njit
def minimum(a, b):
    """The smaller number; NaN if either is NaN"""
    return b if b < a or b != b else a
'''
_MAXNUM = '''\
@njit
def maxnum(a, b):
    """The larger number; NaN only if both are NaN"""
    return a if a > b or b != b else b
'''
_MINNUM = '''\
@njit
def minnum(a, b):
    """The smaller number; NaN only if both are NaN"""
    return a if a < b or b != b else b
'''
_ROUND = '''\
@njit
def round_away(x):
    """The nearest integer, ties away from zero"""
    whole = np.trunc(x)
    if abs(x - whole) >= 0.5:
        whole += np.sign(x)
    return math.copysign(whole, x)
'''
_POWER = '''\
@njit
def power(x, n):
    """x**n of integers, wrapping; 0, 1 or -1 for negative n"""
    if n < 0:
        if x == 1 or x == -1:
            return x if n & 1 else np.int64(1)
        return np.int64(0)
    result = np.int64(1)
    while n > 0:
        if n & 1:
            result *= x
        x *= x
        n >>= 1
    return result
'''

HELPERS: dict[str, str] = {
    "round_to_odd": _ROUND_TO_ODD,
    "fma": _FMA,
    "div": _DIV,
    "rem": _REM,
    "floordiv": _FLOORDIV,
    "ceildiv": _CEILDIV,
    "div_unsigned": _DIV_UNSIGNED,
    "rem_unsigned": _REM_UNSIGNED,
    "ceildiv_unsigned": _CEILDIV_UNSIGNED,
    "maximum": _MAXIMUM,
    "minimum": _MINIMUM,
    "maxnum": _MAXNUM,
    "minnum": _MINNUM,
    "round_away": _ROUND,
    "power": _POWER,
}
for _form in SMALL_FLOATS:
    HELPERS[f"{_form.name}_to_f32"] = _widen(_form)
    if _form is not F8E8M0FNU:  # has more than one way to round, which kernels write out
        HELPERS[f"f32_to_{_form.name}"] = _narrow(_form)
