"""What does the plan filler know of a value? Its shape, and either its contents or where it will lie."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeAlias

import numpy as np

from onnxloom.errors import InputError, ModelError
from onnxloom.lowering.plan.program import DYNAMIC, Array, is_array, named

Dims: TypeAlias = tuple[int, ...]


MAX_RANK = 64
"""Dims that a numpy array can have."""


class NeedValue(Exception):
    """The contents of a value are needed to go on, and are not known before the program runs."""

    def __init__(self, value: Value):
        super().__init__("the contents of a value are not known at plan time")
        self.value = value


@dataclass(eq=False)
class Buffer:
    """Memory that several values may share.

    `cell` is the number of the array at run time that holds it, or None for memory of the arena.
    `first` and `last` are the records that write it first and touch it last.
    """

    nbytes: int
    cell: int | None = None
    first: int = -1
    last: int = -1
    offset: int = 0
    """Byte offset in the arena, once placed."""
    host: Buffer | None = None
    """The buffer whose memory this one takes over (an in-place launch)."""

    def storage(self) -> Buffer:
        """The buffer that memory is set aside for."""
        last, path = self, list[Buffer]()
        while last.host is not None:
            path.append(last)
            last = last.host
        for buffer in path:  # thousands of launches may follow each other in one place
            buffer.host = last
        return last


@dataclass(eq=False)
class Value:
    """A tensor or host object at plan time.

    Known: `known` is set (an array, or any object when `dtype` is None). Otherwise the contents are
    in `buffer` at byte `offset`; `buffer` is None for a destination nothing was written to yet.
    """

    dtype: np.dtype[Any] | None
    shape: Dims
    known: Any = None
    is_known: bool = False
    buffer: Buffer | None = None
    offset: int = 0
    constant: int = -1
    """Number of the model constant this is, if it is one."""
    part: tuple[int, ...] = ()
    """For a part of a model constant: its number, the first byte, and the dims."""

    @property
    def nbytes(self) -> int:
        return math.prod(self.shape) * (self.dtype.itemsize if self.dtype is not None else 0)

    def array(self) -> Array:
        """The contents. Raises NeedValue."""
        if not self.is_known:
            raise NeedValue(self)
        return self.known

    def stand_in(self) -> Array:
        """An array of the right shape and type that takes no memory, for ops that read the shape only."""
        return np.broadcast_to(np.zeros((), self.dtype), self.shape)

    def part_from(self, offset: int, shape: Dims) -> tuple[int, ...]:
        """What identifies the contents of a view without looking at them; empty if it is of no constant."""
        if self.constant >= 0:
            return (self.constant, offset, *shape)
        return (self.part[0], self.part[1] + offset, *shape) if self.part else ()


def dims_text(shape: Dims | None) -> str:
    """A declared shape in messages."""
    return "any" if shape is None else "[" + ", ".join("?" if d == DYNAMIC else str(d) for d in shape) + "]"


def only_element(value: Any, origin: str, what: str) -> Any:
    """The one element of an array. Raises InputError if it has none or several."""
    array: Array = np.asarray(value)
    if array.size != 1:
        raise InputError(named(origin, f"{what} has shape {list(array.shape)}; it must hold one element"))
    return array.reshape(-1)[0]


def check_size(dtype: np.dtype[Any] | None, shape: Dims, origin: str) -> None:
    """Raises ModelError for a result that no memory could hold (numpy limits the dims of empty ones too)."""
    if len(shape) > MAX_RANK:
        raise ModelError(named(origin, f"a result of {len(shape)} dims; arrays have at most {MAX_RANK}"))
    nbytes = math.prod(filter(None, shape)) * (dtype.itemsize if dtype is not None else 0)
    if nbytes > memory_limit():
        raise ModelError(
            named(origin, f"a result of shape {list(shape)} ({nbytes:,} bytes) does not fit in memory")
        )


@cache
def memory_limit() -> int:
    """Bytes that one value may take: twice the machine's memory, since swap space may hold some of it."""
    try:
        return 2 * os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):  # a system that does not tell
        return 1 << 47


def known_value(value: Any, constant: int = -1) -> Value:
    """A value whose contents are `value`."""
    if is_array(value):
        array: Array = value
        return Value(array.dtype, array.shape, array, True, constant=constant)
    return Value(None, (), value, True, constant=constant)
