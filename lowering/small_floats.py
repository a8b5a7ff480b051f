"""Which float formats narrower than f32 there are, and how their bits are laid out.

A kernel computes in f32 (or f64) and only stores such values, so an emitter needs two conversions per
format. Both emitters hold these values as integers of the same width.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import (
    BFloat16Type,
    Float8E4M3FNType,
    Float8E4M3FNUZType,
    Float8E5M2FNUZType,
    Float8E5M2Type,
    Float16Type,
)
from xdsl.ir import Attribute


@dataclass(frozen=True)
class SmallFloat:
    """The layout of one format: a sign bit, `exponent_bits`, `mantissa_bits`."""

    name: str
    exponent_bits: int
    mantissa_bits: int
    bias: int
    has_infinity: bool
    """Exponent all ones: infinity and NaNs, as in IEEE 754."""
    unsigned_zero: bool
    """The pattern of -0.0 is the only NaN (the `fnuz` formats)."""

    @property
    def width(self) -> int:
        """Bits of one value."""
        return 1 + self.exponent_bits + self.mantissa_bits

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
        return self.magnitude_mask if self.unsigned_zero else self.magnitude_mask - 1

    @property
    def nan(self) -> int:
        """The pattern of the quiet NaN conversions make."""
        if self.unsigned_zero:
            return 1 << (self.width - 1)
        if self.has_infinity:
            return self.infinity | (1 << (self.mantissa_bits - 1))
        return self.magnitude_mask

    @property
    def overflow(self) -> int:
        """The magnitude a value beyond the largest finite one becomes."""
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

_FORMATS: dict[type[Attribute], SmallFloat] = {
    Float16Type: F16,
    BFloat16Type: BF16,
    Float8E4M3FNType: F8E4M3FN,
    Float8E4M3FNUZType: F8E4M3FNUZ,
    Float8E5M2Type: F8E5M2,
    Float8E5M2FNUZType: F8E5M2FNUZ,
}


def small_float(element_type: Attribute) -> SmallFloat | None:
    """The format of a type that is stored as an integer, None for every other type."""
    return _FORMATS.get(type(element_type))
