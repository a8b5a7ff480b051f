"""Random arrays of every element type, with the values among them on which implementations differ."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final, cast

import ml_dtypes
import numpy as np

from onnxloom.testing.elements import Array, float_info, is_integer

_STRINGS: Final = ("", "a", "text", "Text", "\u00e9\u4f60", " padded ", "1.5", "-7")
_SHARE: Final = 4
"""At most one element in so many is special: the others must still be seen through a sum."""


class Range(Enum):
    """Which integers an input may hold."""

    ANY = "any"
    POSITIVE = "positive"
    """Divisors."""
    SMALL = "small"
    """0 or 1: indices, axes, sizes."""


@dataclass(frozen=True)
class Values:
    """Makes arrays of values of about the size of 1 (floats) or up to 100 (integers)."""

    rng: np.random.Generator
    special: bool = True
    """Whether special values are among them."""
    turn: int = 0
    """A small array holds a few special values only: other ones for an odd turn than for an even one."""

    def array(self, shape: Sequence[int], dtype: np.dtype[Any], range: Range = Range.ANY) -> Array:
        """An array of any element type."""
        match dtype.kind:
            case "O":
                texts = np.array(_STRINGS, object)
                return texts[self.rng.integers(0 if self.special else 1, len(texts), shape)].reshape(shape)
            case "b":
                return self.rng.integers(0, 2, shape).astype(bool)
            case "c":
                part = np.dtype(f"f{dtype.itemsize // 2}")
                return np.stack([self.array(shape, part), self.array(shape, part)], -1).view(dtype)[..., 0]
            case _:
                make = self._integers if is_integer(dtype) else self._floats
                return make(shape, dtype, range)

    def _floats(self, shape: Sequence[int], dtype: np.dtype[Any], range: Range) -> Array:
        array = cast(Array, np.asarray(self.rng.standard_normal(shape) * 2))
        array = np.abs(array) if dtype.name == "float8_e8m0fnu" else array
        with np.errstate(all="ignore"):
            return self._sprinkled(array.astype(dtype), special_floats(dtype))

    def _integers(self, shape: Sequence[int], dtype: np.dtype[Any], range: Range) -> Array:
        if range is Range.SMALL:
            return self.rng.integers(0, 2, shape).astype(dtype)
        info = cast(Any, ml_dtypes.iinfo)(dtype)
        positive = range is Range.POSITIVE
        low, high = 1 if positive else max(int(info.min), -100), min(int(info.max), 100)
        extremes = [int(info.max), 1] if positive else [int(info.min), int(info.max), 0]
        array = self.rng.integers(low, high, shape, endpoint=True).astype(dtype)
        return self._sprinkled(array, np.array(extremes, np.int64 if low < 0 else np.uint64).astype(dtype))

    def _sprinkled(self, array: Array, values: Array) -> Array:
        """The array with `values`, or as many of them as fit, at random places."""
        count = min(len(values), -(-array.size // _SHARE)) if self.special else 0
        first = len(values) // 3 if self.turn % 2 else 0
        places = self.rng.permutation(array.size)[:count]
        array.reshape(-1)[places] = np.roll(values, -first)[:count]
        return array


def special_floats(dtype: np.dtype[Any]) -> Array:
    """Zeros, denormals, extremes, NaN and infinities, as far as the type has them."""
    info = float_info(dtype)
    tiny, normal = float(info.smallest_subnormal), float(info.smallest_normal)
    least, most, step = float(info.min), float(info.max), float(info.eps)
    wanted = [-0.0, 0.0, tiny, np.nan, np.inf, -np.inf, most, -tiny, least, normal, 1 + step]
    with np.errstate(all="ignore"):
        array: Array = np.array(wanted, np.float64).astype(dtype)
    return array
