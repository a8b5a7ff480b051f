"""Which boundary inputs does a pattern function declare? Its parameters, by their annotations."""

from __future__ import annotations

import inspect
import types
from typing import Any, Final, Union, get_args, get_origin, get_type_hints

from onnxloom.transforms.rewriting.declarative.expressions import (
    Constant,
    Ints,
    Parameter,
    PatternFunction,
    Scalar,
    Tensor,
    Tensors,
)

_KINDS: Final = (Tensor, Constant, Scalar, Ints, Tensors)
_KIND_NAMES: Final = ", ".join(kind.__name__ for kind in _KINDS)


def parameters_of(where: str, function: PatternFunction) -> tuple[Parameter, ...]:
    try:
        hints = get_type_hints(function)
    except NameError as error:
        raise TypeError(f"{where}: {error}; annotations must be names that the module can see") from None
    found: list[Parameter] = []
    for parameter in inspect.signature(function).parameters.values():
        if parameter.name == "self":
            raise TypeError(
                f"{where}: a pattern function has no 'self'; its parameters are the boundary inputs"
            )
        if parameter.kind is not parameter.POSITIONAL_OR_KEYWORD or parameter.default is not parameter.empty:
            raise TypeError(
                f"{where}: parameter {parameter.name!r} must be plain, without default or '*'; "
                "an input that may be left out is 'Tensor | None', any number of them 'Tensors'"
            )
        found.append(_parameter(where, parameter.name, hints.get(parameter.name)))
    if not found:
        raise TypeError(f"{where}: has no parameter; expected one for each boundary input")
    return tuple(found)


def _parameter(where: str, name: str, hint: Any) -> Parameter:
    kinds = [hint]
    if get_origin(hint) in (Union, types.UnionType):
        kinds = [kind for kind in get_args(hint) if kind is not type(None)]
    if len(kinds) != 1 or kinds[0] not in _KINDS:
        shown = "no annotation" if hint is None else f"the annotation {getattr(hint, '__name__', hint)}"
        raise TypeError(
            f"{where}: parameter {name!r} has {shown}; expected one of {_KIND_NAMES}, or one of them '| None'"
        )
    may_be_absent = kinds[0] is not hint
    if may_be_absent and kinds[0] is Tensors:
        raise TypeError(f"{where}: parameter {name!r}: Tensors may be empty already; leave '| None' out")
    return Parameter(name, kinds[0], may_be_absent)
