"""Which functions of users run ops that nobody here knows, and which say what their results look like?"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, NamedTuple, TypeAlias

CustomOpFunction: TypeAlias = Callable[..., Any]
"""(*inputs, **attributes) -> an array, or a tuple of arrays. An input that is left out is None."""

ShapeFunction: TypeAlias = Callable[..., Any]
"""(*TensorInfo or None, **attributes) -> a TensorInfo or pair (dtype, shape), or a list of them."""


class TensorInfo(NamedTuple):
    """What is known of a tensor while a model is compiled."""

    dtype: Any
    """A numpy dtype."""
    shape: tuple[Any, ...] | None
    """Numbers and symbolic dims, which can be added, subtracted, multiplied and compared for equality; None
    where the rank is not known."""


@dataclass(frozen=True)
class RegisteredOp:
    """An op and what runs it."""

    domain: str
    name: str
    function: CustomOpFunction
    shape_function: ShapeFunction | None = None


_NONE: Mapping[tuple[str, str], RegisteredOp] = MappingProxyType({})

_current: ContextVar[Mapping[tuple[str, str], RegisteredOp]] = ContextVar(
    "onnxloom_custom_ops", default=_NONE
)


def registered_op(domain: str, name: str) -> RegisteredOp | None:
    """What runs an op, among what is registered for this block of code."""
    return _current.get().get((domain, name))


def registered_ops() -> Mapping[tuple[str, str], RegisteredOp]:
    """All that is registered for this block of code."""
    return _current.get()


@contextmanager
def use_custom_ops(ops: Iterable[RegisteredOp]) -> Generator[None]:
    """Registers ops on top of what is registered, for this thread and a block of code."""
    token = _current.set({**_current.get(), **{(op.domain, op.name): op for op in ops}})
    try:
        yield
    finally:
        _current.reset(token)
