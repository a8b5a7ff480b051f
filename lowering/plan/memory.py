"""Where does an array lie in memory? Addresses for kernels, and memory that starts on a cache line."""

from __future__ import annotations

import ctypes
import sys
from typing import Any

import numpy as np

from onnxloom.lowering.plan.arena import ALIGNMENT
from onnxloom.lowering.plan.program import Array
from onnxloom.lowering.plan.values import Dims

_DATA_AT: int = object.__basicsize__
"""Where the address of the data stands in an array object: `PyArrayObject_fields` begins with it."""

_word_at = ctypes.c_size_t.from_address


def _read_address(array: Array) -> int:
    return _word_at(id(array) + _DATA_AT).value


def _ask_address(array: Array) -> int:
    return array.__array_interface__["data"][0]


def _can_read() -> bool:
    """Whether array objects look as they do in CPython, asked of two of them."""
    whole = np.zeros((3, 4), np.float32)
    return all(_read_address(array) == _ask_address(array) for array in (whole, whole[1:]))


address_of = _read_address if sys.implementation.name == "cpython" and _can_read() else _ask_address
"""Address of the first element of an array. (`__array_interface__` takes ten times as long.)"""


def aligned_array(shape: Dims, dtype: np.dtype[Any], nbytes: int) -> Array:
    """An uninitialised array whose memory starts at a multiple of ALIGNMENT."""
    raw = np.empty(nbytes + ALIGNMENT, np.uint8)
    return np.ndarray(shape, dtype, raw, -address_of(raw) % ALIGNMENT)


def aligned_bytes(nbytes: int) -> Array:
    """Uninitialised memory that starts at a multiple of ALIGNMENT."""
    return aligned_array((nbytes,), np.dtype(np.uint8), nbytes)
