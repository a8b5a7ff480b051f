"""Which integers are ordered as elements are? Keys that sorts compare, whatever the element type."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from xdsl.dialects import arith
from xdsl.dialects.builtin import i32, i64
from xdsl.ir import Attribute

from onnxloom.dialects.onnx.semantics.scalars import (
    Scalar,
    Scalars,
    bit_width,
    compute_type,
    is_float,
    is_unsigned,
    storage_type,
)

_SIGN = {32: -(1 << 31), 64: -(1 << 63)}


def key_width(element: Attribute) -> int:
    """Bits of the keys of a tensor element type: 32 where that is enough, else 64."""
    return max(32, bit_width(compute_type(storage_type(element))))


def ordered_key(s: Scalars, value: Scalar, element: Attribute) -> Scalar:
    """A signed i32 or i64 that compares as the element does; NaN is the largest, -0.0 is 0.0."""
    if is_float(value.type):
        return _float_key(s, s.widen(value))
    unsigned, width = is_unsigned(element), key_width(element)
    if bit_width(value.type) < 32:
        return s.int_to_int(value, i32, unsigned)
    return s.xor(value, s.const(_SIGN[width], value.type)) if unsigned else value


def _float_key(s: Scalars, value: Scalar) -> Scalar:
    integer = i32 if bit_width(value.type) == 32 else i64
    width = bit_width(integer)
    zero, largest = s.const(0, integer), s.const(~_SIGN[width], integer)
    bits = s.emit(arith.BitcastOp(value, integer))
    ordered = s.select(s.cmp("lt", bits, zero), s.xor(bits, largest), bits)
    ordered = s.select(s.cmp("eq", value, s.const(0.0, value.type)), zero, ordered)
    return s.select(s.isnan(value), largest, ordered)


def ordered_array(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """`ordered_key` of each element of an array of numbers."""
    if array.dtype.kind == "f":
        wide = array if array.dtype.itemsize >= 4 else array.astype(np.float32)
        integer = np.int32 if wide.dtype.itemsize == 4 else np.int64
        bits = np.where(wide == 0, 0, wide.view(integer))
        largest = np.iinfo(integer).max
        return np.where(np.isnan(wide), largest, np.where(bits < 0, bits ^ largest, bits)).astype(integer)
    integer = np.int32 if array.dtype.itemsize <= 4 else np.int64
    if array.dtype.kind == "u" and array.dtype.itemsize >= 4:
        return array.view(integer) ^ np.iinfo(integer).min
    return array.astype(integer)


def packed_item(s: Scalars, key: Scalar, place: Scalar) -> Scalar:
    """An i32 key and a place (an i64 below 2**32) as one i64, ordered by key, then place."""
    high = s.emit(arith.ShLIOp(s.int_to_int(key, i64, False), s.const(32, i64)))
    return s.or_(high, place)


def place_of_item(s: Scalars, item: Scalar) -> Scalar:
    """The place in a packed item."""
    return s.and_(item, s.const((1 << 32) - 1, i64))
