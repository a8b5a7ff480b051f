"""How does an expression say more than one op after another: alternatives, optional ops, free attributes?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeVar

from onnxloom.transforms.rewriting.declarative.expressions import (
    Choice,
    Given,
    Literal,
    Parameter,
    Result,
    Tensor,
    as_tensor,
)

_TensorT = TypeVar("_TensorT", bound=Tensor)


@dataclass(frozen=True)
class FreeAttribute:
    """An attribute that may have any value; the match knows it under `name`."""

    name: str


def one_of(*options: Given) -> Tensor:
    """Any of the expressions, tried in order: `one_of(x * x, op.Pow(x, 2))`."""
    if len(options) < 2:
        raise ValueError(f"one_of is given {len(options)} expressions; expected two or more")
    return Choice(tuple(as_tensor(option) for option in options))


def optional(value: Tensor) -> Tensor:
    """The op that makes `value`, or its first operand in its place: `optional(op.Cast(x, to=1))`."""
    if not isinstance(value, Result):
        raise TypeError(
            "optional is given what no op makes; expected an op, such as optional(op.Cast(x, to=1))"
        )
    operands = value.op.operands
    if value.index or not operands or not isinstance(operands[0], Tensor) or isinstance(operands[0], Literal):
        raise TypeError("optional takes an op whose first operand can stand in its place; use one_of instead")
    return Choice((value, operands[0]))


def capture(value: _TensorT, name: str) -> _TensorT:
    """Gives an inner value a name, so that `match[name]` is it; also the value itself."""
    _require_inner(value, "capture")
    if not isinstance(name, str) or not name.isidentifier():  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ValueError(f"capture is given the name {name!r}; expected an identifier")
    if value.capture_name is not None:
        raise ValueError(f"capture: this value is captured as {value.capture_name!r} already")
    value.capture_name = name
    return value


def shared(value: _TensorT) -> _TensorT:
    """Lets ops outside the pattern read an inner value: where they do, the op that makes it stays."""
    _require_inner(value, "shared")
    value.is_shared = True
    return value


def attribute(name: str) -> Any:
    """An attribute of any value, as in `op.LeakyRelu(x, alpha=attribute("slope"))`; see `Match.attribute`."""
    if not isinstance(name, str) or not name.isidentifier():  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ValueError(f"attribute is given the name {name!r}; expected an identifier")
    return FreeAttribute(name)


def _require_inner(value: object, what: str) -> None:
    if isinstance(value, Parameter):
        raise TypeError(
            f"{what} is given the parameter {value.name!r}, which needs none; expected an inner value"
        )
    if not isinstance(value, Result | Choice):
        raise TypeError(f"{what} is given {value!r}; expected the result of an op")
