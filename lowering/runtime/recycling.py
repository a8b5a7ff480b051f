"""Where does the memory of large results come from? From results that nobody holds any more.

The system gives memory page by page, at its first touch, and takes that of a large array back as soon as the
array is gone: a result of a megabyte costs more to be given than to be written. So a result's memory returns
to a pool once the result and all views of it are gone, and the next result of about that size has it.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from onnxloom.lowering.plan.arena import ALIGNMENT
from onnxloom.lowering.plan.memory import address_of, aligned_array
from onnxloom.lowering.plan.program import Array
from onnxloom.lowering.plan.values import Dims

LARGE: Final = 1 << 14
"""Arrays of this many bytes or more start at a multiple of ALIGNMENT: stores to them run faster."""

RECYCLED: Final = 1 << 16
"""Arrays of this many bytes or more have recycled memory."""

MAX_FREE_BYTES: Final = 1 << 26
"""Kept for results to come."""


class Pool:
    """Memory that is free, by size."""

    def __init__(self, max_bytes: int = MAX_FREE_BYTES) -> None:
        self._max_bytes = max_bytes
        self._free: dict[int, list[Array]] = {}
        self._leases: dict[int, Callable[[int], Any]] = {}
        self.free_bytes = 0
        """Without a lock: threads that take and give at the same moment may leave it a little off."""

    def array(self, shape: Dims, dtype: np.dtype[Any], nbytes: int) -> Array:
        """An uninitialised array that starts at a multiple of ALIGNMENT."""
        size = size_class(nbytes)
        try:
            memory = self._free[size].pop()
            self.free_bytes -= size
        except (KeyError, IndexError):
            memory = aligned_array((size,), np.dtype(np.uint8), size)
        make = self._leases.get(size)
        if make is None:
            make = self._leases[size] = _lease_class(self, size)
        lease = make(address_of(memory))
        lease.memory = memory
        return np.ndarray(shape, dtype, lease)

    def give_back(self, size: int, memory: Array) -> None:
        """Takes memory nobody uses; all that is free goes once it is too much."""
        if self.free_bytes + size > self._max_bytes:
            self._free, self.free_bytes = {}, 0
        if size <= self._max_bytes:
            self._free.setdefault(size, []).append(memory)
            self.free_bytes += size


def size_class(nbytes: int) -> int:
    """At most an eighth more, so that results which grow step by step have each other's memory."""
    step = max(ALIGNMENT, 1 << max(nbytes.bit_length() - 4, 0))
    return -(-nbytes // step) * step


def _lease_class(pool: Pool, size: int) -> Callable[[int], Any]:
    """Objects that offer memory at an address as a buffer, and know when nothing refers to it any more."""

    class Lease(ctypes.c_ubyte * size):  # pyright: ignore[reportUntypedBaseClass, reportGeneralTypeIssues]
        memory: Array

        def __del__(self) -> None:
            pool.give_back(size, self.memory)

    return Lease.from_address  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]


pool: Final = Pool()
"""Of this process."""


def fresh_array(shape: Dims, dtype: np.dtype[Any], nbytes: int) -> Array:
    """An uninitialised array: large ones start at a multiple of ALIGNMENT, the largest are recycled."""
    if nbytes < LARGE:
        return np.empty(shape, dtype)
    return aligned_array(shape, dtype, nbytes) if nbytes < RECYCLED else pool.array(shape, dtype, nbytes)
