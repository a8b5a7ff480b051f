"""Which plan-time results are remembered, and by what key?

Results of plan-time ops and of host ops that were evaluated while filling a plan are kept by
content: the op, its attributes, and the shapes and known contents of its operands. Stored beside the
program they let another process fill the same plan without the libraries that computed them.
"""

from __future__ import annotations

import hashlib
from functools import cache
from typing import Any, cast

import numpy as np

from onnxloom.lowering.plan.program import Array, is_array
from onnxloom.lowering.plan.values import Value

SMALL = 256
"""Contents up to this many bytes stand in a key as they are, larger ones as a digest."""


class Memo:
    """A bounded table of plan-time results."""

    LIMIT = 20_000
    BYTES = 256 << 20

    def __init__(self, entries: dict[Any, Any] | None = None) -> None:
        self.entries: dict[Any, Any] = entries or {}
        self.grown = False
        """Whether something was added since the table was last stored."""
        self._bytes = sum(_nbytes(v) for v in self.entries.values())

    def get(self, key: Any) -> Any:
        return self.entries.get(key)

    def put(self, key: Any, value: Any) -> None:
        size = _nbytes(value)
        if len(self.entries) >= self.LIMIT or self._bytes + size > self.BYTES:
            return
        self.entries[key] = value
        self._bytes += size
        self.grown = True


def signature(operand: Value | int, shape_only: bool = False) -> Any:
    """What identifies an operand to an op that may read its shape and, when known, its contents."""
    if isinstance(operand, int):
        return operand
    if not operand.is_known or shape_only:
        return operand.shape if operand.dtype is None else (type_name(operand.dtype), *operand.shape)
    if operand.constant >= 0:
        return ("c", operand.constant)
    if operand.part:
        return ("p", type_name(operand.dtype) if operand.dtype else "", *operand.part)
    if is_array(operand.known):
        return (
            "k",
            type_name(operand.dtype) if operand.dtype else "",
            operand.shape,
            contents(operand.known),
        )
    return ("o", identity(operand.known))


@cache
def type_name(dtype: np.dtype[Any]) -> str:
    """`dtype.name`, which numpy puts together each time."""
    return dtype.name


def identity(value: Any) -> Any:
    """What is equal for host objects of equal contents only. (`repr` cuts and rounds arrays.)"""
    if is_array(value):
        return (type_name(value.dtype), value.shape, contents(value))
    if isinstance(value, list | tuple):
        return ("list", *map(identity, cast("list[Any]", value)))
    if isinstance(value, dict):
        pairs = cast("dict[Any, Any]", value).items()
        return ("dict", *((identity(k), identity(v)) for k, v in pairs))
    return repr(value)


def contents(array: Array) -> bytes:
    """The bytes of an array, or their digest; text for arrays of strings."""
    if array.dtype == object:
        return repr(array.tolist()).encode()
    if array.nbytes <= SMALL:
        return array.tobytes()
    flat = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    return hashlib.blake2b(flat.data, digest_size=20).digest()


def _nbytes(value: Any) -> int:
    if is_array(value):
        return value.nbytes
    return sum(map(_nbytes, cast("list[Any]", value))) if isinstance(value, list) else 8
