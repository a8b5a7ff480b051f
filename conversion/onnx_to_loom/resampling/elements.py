"""In which type are elements mixed, and how do they get there and back?"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects import arith
from xdsl.dialects import math as xmath
from xdsl.dialects.builtin import f64, i64
from xdsl.ir import Attribute

from onnxloom.conversion.onnx_to_loom.decline import Declined
from onnxloom.dialects.onnx.semantics.scalars import (
    KERNEL_FLOATS,
    KERNEL_INT_WIDTHS,
    Scalar,
    Scalars,
    as_integer,
    bit_width,
    compute_type,
    is_float,
    is_unsigned,
    storage_type,
)


@dataclass(frozen=True)
class Elements:
    """Tensor elements that are mixed: halves in f32, integers in f64, which are rounded half to even."""

    element: Attribute
    """The element type of the tensor."""

    def __post_init__(self) -> None:
        integer = as_integer(self.element)
        number = integer is not None and integer.width.data in KERNEL_INT_WIDTHS[1:]
        if not number and not isinstance(self.element, KERNEL_FLOATS):
            raise Declined(f"elements of type {self.element} are not mixed in kernels")

    @property
    def storage(self) -> Attribute:
        """What a kernel stores."""
        return storage_type(self.element)

    @property
    def compute(self) -> Attribute:
        """The float type of sums and weights."""
        return compute_type(self.storage) if is_float(self.storage) else f64

    @property
    def limits(self) -> tuple[int, int]:
        """The least and the largest integer that is stored, as far as an f64 holds it."""
        width, unsigned = bit_width(self.storage), is_unsigned(self.element)
        bits = width if unsigned else width - 1
        high = (1 << bits) - 1 if width < 64 else ((1 << 53) - 1) << (bits - 53)
        return 0 if unsigned else -(1 << bits), high

    def widened(self, s: Scalars, value: Scalar) -> Scalar:
        """A stored element in the type of sums."""
        if value.type == self.compute:
            return value
        if is_float(value.type):
            return s.widen(value)
        return s.int_to_float(value, f64, is_unsigned(self.element))

    def stored(self, s: Scalars, value: Scalar) -> Scalar:
        """A sum as a stored element; integers saturate, and NaN becomes 0."""
        storage = self.storage
        if is_float(storage):
            return s.float_to(value, storage)
        unsigned = is_unsigned(self.element)
        low, high = self.limits
        value = s.unary(xmath.RoundEvenOp, value)
        value = s.select(s.isnan(value), s.const(0.0, f64), value)
        value = s.maximum(s.minimum(value, s.const(float(high), f64)), s.const(float(low), f64))
        if bit_width(storage) < 64:
            return s.int_to_int(s.emit(arith.FPToSIOp(value, i64)), storage, unsigned)
        return s.emit((arith.FPToUIOp if unsigned else arith.FPToSIOp)(value, i64))
