"""Which ops of other domains are there? Those of users: functions run them, and say what results look like.

They are given to a call of the compiler, or are objects in a plug-in.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from types import MappingProxyType, ModuleType
from typing import Any, Final, NamedTuple, TypeAlias

from onnxloom.errors import InputError

CustomOpFunction: TypeAlias = Callable[..., Any]
"""(*inputs, **attributes) -> an array, or a tuple of arrays. An input that is left out is None."""

ShapeFunction: TypeAlias = Callable[..., Any]
"""(*TensorInfo or None, **attributes) -> a TensorInfo or pair (dtype, shape), or a list of them."""


STANDARD_DOMAINS: Final = frozenset(
    {"", "ai.onnx", "ai.onnx.ml", "ai.onnx.preview", "ai.onnx.preview.training", "ai.onnx.training"}
)
"""What the standard keeps for its ops."""

RUN_BY_CALLER: Final = "a function of the caller runs it"
"""Why such an op has no kernel."""


class TensorInfo(NamedTuple):
    """What is known of a tensor while a model is compiled."""

    dtype: Any
    """What numpy takes for a dtype; None where a shape function leaves it open."""
    shape: tuple[Any, ...] | None
    """Numbers and symbolic dims, which can be added, subtracted, multiplied and compared for equality (in
    results also None, for a dim that is not known); None where the rank is not known."""


@dataclass(frozen=True)
class CustomOp:
    """An op of another domain than the standard's, and what runs it."""

    domain: str
    name: str
    function: CustomOpFunction
    shape_function: ShapeFunction | None = None

    def __post_init__(self) -> None:
        """Raises InputError: the op is one of the standard, or what is to run it is no function."""
        named: tuple[Any, Any] = (self.domain, self.name)
        if not all(isinstance(text, str) for text in named) or not self.name:
            raise InputError(
                f"custom op {self.domain!r}, {self.name!r}: expected a domain and a name as texts"
            )
        title = f"custom op {self.domain or 'ai.onnx'}.{self.name}"
        if self.domain in STANDARD_DOMAINS:
            raise InputError(f"{title}: ops of the standard cannot be taken over; expected another domain")
        for function in (self.function, self.shape_function or self.function):
            if not callable(function):
                raise InputError(f"{title}: got {function!r}; expected a function")


_NONE: Mapping[tuple[str, str], CustomOp] = MappingProxyType({})

_given: ContextVar[Mapping[tuple[str, str], CustomOp]] = ContextVar("onnxloom_custom_ops", default=_NONE)


def custom_op(domain: str, name: str) -> CustomOp | None:
    """What runs an op, among what is in use in this block of code."""
    return _given.get().get((domain, name))


def custom_ops() -> Mapping[tuple[str, str], CustomOp]:
    """All that are in use in this block of code."""
    return _given.get()


def ops_of_module(module: ModuleType) -> list[CustomOp]:
    """Those that are objects of a module, as of a plug-in."""
    values: list[Any] = list(vars(module).values())
    return [value for value in values if isinstance(value, CustomOp)]


@contextmanager
def use_custom_ops(ops: Iterable[CustomOp]) -> Generator[None]:
    """Ops on top of what is in use, for this thread and a block of code."""
    token = _given.set({**_given.get(), **{(op.domain, op.name): op for op in ops}})
    try:
        yield
    finally:
        _given.reset(token)
