"""What is a numpy function of an op, and what do such functions have in common?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, TypeAlias

import numpy as np
from xdsl.dialects.builtin import NoneType
from xdsl.ir import Operation

Array: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"

Inputs: TypeAlias = "Sequence[Array | None]"
"""One per operand, None where one is left out."""

NumpyOp: TypeAlias = "Callable[[Operation, Inputs], Sequence[Array] | None]"
"""The results of an op; None: these element types are somebody else's. Errors of numpy's are let through."""

NATIVE_FLOATS: Final = frozenset(map(np.dtype, (np.float16, np.float32, np.float64)))


def given(inputs: Inputs, index: int) -> Array:
    """An input that must be there."""
    found = inputs[index]
    if found is None:
        raise ValueError(f"input {index} is left out")
    return found


def ints(array: Array) -> list[int]:
    """The elements in row-major order."""
    return [int(element) for element in array.reshape(-1).tolist()]


def is_native(array: Array) -> bool:
    """Whether numpy itself has the element type: bool, integers of 8 bits and more, f16, f32, f64."""
    return array.dtype.kind in "biu" or array.dtype in NATIVE_FLOATS


def axis_of(axis: int, rank: int) -> int:
    if not -rank <= axis < rank:
        raise ValueError(f"axis {axis} is outside of a tensor of rank {rank}")
    return axis % rank


def result_count(op: Operation) -> int:
    """Number of results, those left out at the end not counted."""
    results = op.results
    count = len(results)
    while count and isinstance(results[count - 1].type, NoneType):
        count -= 1
    return count
