"""Where does an array lie in memory? Addresses for kernels, and memory that starts on a cache line."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from onnxloom.lowering.plan.arena import ALIGNMENT
from onnxloom.lowering.plan.program import Array
from onnxloom.lowering.plan.values import Dims

_from_buffer = ctypes.c_char.from_buffer
_address_of = ctypes.addressof


def address_of(array: Array) -> int:
    """Address of the first element. (`ndarray.ctypes` takes ten times as long.)"""
    try:
        return _address_of(_from_buffer(array))  # pyright: ignore[reportArgumentType]
    except (TypeError, ValueError, BufferError):  # read-only, empty, or a dtype without buffer protocol
        return array.__array_interface__["data"][0]


def aligned_array(shape: Dims, dtype: np.dtype[Any], nbytes: int) -> Array:
    """An uninitialised array whose memory starts at a multiple of ALIGNMENT."""
    raw = np.empty(nbytes + ALIGNMENT, np.uint8)
    return np.ndarray(shape, dtype, raw, -address_of(raw) % ALIGNMENT)


def aligned_bytes(nbytes: int) -> Array:
    """Uninitialised memory that starts at a multiple of ALIGNMENT."""
    return aligned_array((nbytes,), np.dtype(np.uint8), nbytes)
