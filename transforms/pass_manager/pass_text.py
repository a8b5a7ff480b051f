"""How is a list of passes written as text, and read again?

`a,b{size=2 kinds=x,y}`: what `onnxloom-opt -p` takes. Options that have their default are left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from xdsl.passes import ModulePass
from xdsl.utils.arg_spec import ParameterListType, ParameterType, parse_pipeline
from xdsl.utils.exceptions import ArgSpecParseError

from onnxloom.transforms.pass_manager.environment import split_names
from onnxloom.transforms.pass_manager.pass_table import pass_class

_BARE: Final = re.compile(r"(?!true$|false$)[A-Za-z_-][A-Za-z0-9_-]*")
"""Strings that need no quotes."""


def passes_text(passes: Iterable[ModulePass]) -> str:
    """The passes as text that gives the same ones when it is read."""
    return ",".join(pass_text(step) for step in passes)


def pass_text(step: ModulePass) -> str:
    """One pass with the options that differ from their defaults."""
    options = " ".join(_option(name, values) for name, values in step.spec().parameters.items())
    return f"{step.name}{{{options}}}" if options else step.name


def parse_passes(text: str) -> tuple[ModulePass, ...]:
    """The passes over onnx IR that a text names. Raises ValueError."""
    try:
        specs = list(parse_pipeline(text))
    except ArgSpecParseError as error:
        raise ValueError(f"'{text}' is no list of passes with options") from error
    return tuple(pass_class(spec.name).from_spec(spec) for spec in specs)


def listed(option: Iterable[str] | None) -> tuple[str, ...] | None:
    """The names that an option of a pass lists, one string for several with commas; None as it is."""
    return None if option is None else tuple(split_names(option))


def flattened(passes: Iterable[ModulePass]) -> Iterator[ModulePass]:
    """The passes, and those that run inside others."""
    for step in passes:
        yield step
        yield from flattened(getattr(step, "passes", ()))


def _option(name: str, values: ParameterListType) -> str:
    name = name.replace("_", "-")
    return f"{name}={','.join(map(_value, values))}" if values else name


def _value(value: ParameterType) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str) and _BARE.fullmatch(value) is None:
        quoted = value.replace("\\", "\\\\").replace('"', '\\"')
        return f'"{quoted}"'
    return str(value)
