"""Are the results of a lowering what the lowered op has? The program relies on their number and types."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from xdsl.dialects.builtin import DYNAMIC_INDEX, NoneType, TensorType, UnrankedTensorType
from xdsl.ir import Attribute, Operation, SSAValue


def check_results(author: str, op: Operation, results: Any) -> Sequence[SSAValue]:
    """The results, one per result of `op`; those that nothing reads may be anything, or
    be left out at the end.

    Raises:
        TypeError: their number or a type is another; names the lowering `author`.
    """
    if isinstance(results, str) or not isinstance(results, Sequence):
        raise TypeError(
            f"{author} gives a {type(results).__name__}; expected the results, one value for each"
        )
    values = cast(Sequence[Any], results)
    for i, value in enumerate(values):
        if not isinstance(value, SSAValue):
            raise TypeError(
                f"{author}: result {i} is a {type(value).__name__}; expected a program-level value"
            )
    read = [i for i, result in enumerate(op.results, 1) if result.uses]
    if not max(read, default=0) <= len(values) <= len(op.results):
        raise TypeError(f"{author} gives {_count(len(values))}; {op.name} has {len(op.results)}")
    for i, (value, result) in enumerate(zip(values, op.results, strict=False)):
        if result.uses and not _compatible(value.type, result.type):
            raise TypeError(
                f"{author}: result {i} has type {value.type}; that of {op.name} has type {result.type}"
            )
    return values


def _compatible(given: Attribute, declared: Attribute) -> bool:
    """Whether a value of one type can stand for the other: dims may be known on one side only."""
    if isinstance(declared, NoneType):
        return True
    tensors = (TensorType, UnrankedTensorType)
    if not isinstance(given, tensors) or not isinstance(declared, tensors):
        return given == declared
    a, b = cast(Any, given), cast(Any, declared)
    if a.element_type != b.element_type:
        return False
    if isinstance(given, UnrankedTensorType) or isinstance(declared, UnrankedTensorType):
        return True
    have, want = a.get_shape(), b.get_shape()
    return len(have) == len(want) and all(
        x == y or DYNAMIC_INDEX in (x, y) for x, y in zip(have, want, strict=True)
    )


def _count(number: int) -> str:
    return f"{number} result{'' if number == 1 else 's'}"
