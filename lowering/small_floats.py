"""Which float formats narrower than f32 there are, and how their bits are laid out.

A kernel computes in f32 (or f64) and only stores such values, so an emitter needs two conversions per
format. Both emitters hold these values as integers of the same width; in memory those of fewer than 8
bits take a byte each, whose low bits count.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import (
    BFloat16Type,
    Float4E2M1FNType,
    Float6E2M3FNType,
    Float6E3M2FNType,
    Float8E4M3FNType,
    Float8E4M3FNUZType,
    Float8E5M2FNUZType,
    Float8E5M2Type,
    Float8E8M0FNUType,
    Float16Type,
)
from xdsl.ir import Attribute


@dataclass(frozen=True)
class SmallFloat:
    """The layout of one format: a sign bit if `signed`, `exponent_bits`, `mantissa_bits`."""

    name: str
    exponent_bits: int
    mantissa_bits: int
    bias: int
    has_infinity: bool
    """Exponent all ones: infinity and NaNs, as in IEEE 754."""
    unsigned_zero: bool
    """The pattern of -0.0 is the only NaN (the `fnuz` formats)."""
    has_nan: bool = True
    """If not, NaN becomes a zero of the other sign (as in `ml_dtypes`), and overflow the largest value."""
    signed: bool = True
    """If not, the format is an exponent alone: powers of two, and all ones for NaN."""

    @property
    def width(self) -> int:
        """Bits of one value."""
        return int(self.signed) + self.exponent_bits + self.mantissa_bits

    @property
    def magnitude_mask(self) -> int:
        """All bits but the sign."""
        return (1 << (self.width - 1)) - 1

    @property
    def infinity(self) -> int:
        """The pattern with all exponent bits set and no mantissa bit."""
        return ((1 << self.exponent_bits) - 1) << self.mantissa_bits

    @property
    def largest(self) -> int:
        """The pattern of the largest finite value."""
        if self.has_infinity:
            return self.infinity - 1
        return self.magnitude_mask if self.unsigned_zero or not self.has_nan else self.magnitude_mask - 1

    @property
    def nan(self) -> int:
        """The pattern of the quiet NaN conversions make; 0 where there is none."""
        if not self.has_nan:
            return 0
        if self.unsigned_zero:
            return 1 << (self.width - 1)
        if self.has_infinity:
            return self.infinity | (1 << (self.mantissa_bits - 1))
        return self.magnitude_mask

    @property
    def overflow(self) -> int:
        """The magnitude a value beyond the largest finite one becomes."""
        if not self.has_nan:
            return self.largest
        return self.infinity if self.has_infinity else self.nan

    @property
    def smallest_normal_bits(self) -> int:
        """The f32 pattern of the smallest normal value of this format."""
        return (127 - self.bias + 1) << 23

    @property
    def denormal_magic_bits(self) -> int:
        """The f32 pattern of the power of two whose ulp is this format's denormal step."""
        return (127 - self.bias + 23 - self.mantissa_bits + 1) << 23


F16 = SmallFloat("f16", 5, 10, 15, has_infinity=True, unsigned_zero=False)
BF16 = SmallFloat("bf16", 8, 7, 127, has_infinity=True, unsigned_zero=False)
F8E4M3FN = SmallFloat("f8e4m3fn", 4, 3, 7, has_infinity=False, unsigned_zero=False)
F8E4M3FNUZ = SmallFloat("f8e4m3fnuz", 4, 3, 8, has_infinity=False, unsigned_zero=True)
F8E5M2 = SmallFloat("f8e5m2", 5, 2, 15, has_infinity=True, unsigned_zero=False)
F8E5M2FNUZ = SmallFloat("f8e5m2fnuz", 5, 2, 16, has_infinity=False, unsigned_zero=True)
F8E8M0FNU = SmallFloat("f8e8m0fnu", 8, 0, 127, has_infinity=False, unsigned_zero=False, signed=False)
F6E2M3FN = SmallFloat("f6e2m3fn", 2, 3, 1, has_infinity=False, unsigned_zero=False, has_nan=False)
F6E3M2FN = SmallFloat("f6e3m2fn", 3, 2, 3, has_infinity=False, unsigned_zero=False, has_nan=False)
F4E2M1FN = SmallFloat("f4e2m1fn", 2, 1, 1, has_infinity=False, unsigned_zero=False, has_nan=False)

_FORMATS: dict[type[Attribute], SmallFloat] = {
    Float16Type: F16,
    BFloat16Type: BF16,
    Float8E4M3FNType: F8E4M3FN,
    Float8E4M3FNUZType: F8E4M3FNUZ,
    Float8E5M2Type: F8E5M2,
    Float8E5M2FNUZType: F8E5M2FNUZ,
    Float8E8M0FNUType: F8E8M0FNU,
    Float6E2M3FNType: F6E2M3FN,
    Float6E3M2FNType: F6E3M2FN,
    Float4E2M1FNType: F4E2M1FN,
}
SMALL_FLOATS = tuple(_FORMATS.values())


def small_float(element_type: Attribute) -> SmallFloat | None:
    """The format of a type that is stored as an integer, None for every other type."""
    return _FORMATS.get(type(element_type))
