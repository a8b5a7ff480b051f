"""How does the text of `-p 'a,b{flag size=2 rate=1}'` become pass objects?

xDSL's own conversion wants `flag=true` for a bool and `1.0` for a float; here `flag` and `1` do.
Everything wrong with the text is a CommandLineError that names the pass, the option and the choices.
"""

from __future__ import annotations

import dataclasses
import difflib
from collections.abc import Callable, Iterable, Mapping
from types import UnionType
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

from xdsl.passes import ModulePass
from xdsl.utils.arg_spec import (
    ArgSpec,
    ArgSpecConvertible,
    ParameterListType,
    parse_pipeline,
    parse_spec,
)
from xdsl.utils.exceptions import ArgSpecParseError
from xdsl.utils.hints import type_repr

from onnxloom.tools.failures import CommandLineError

_Built = TypeVar("_Built", bound=ArgSpecConvertible)


def build_pipeline(text: str, available: Mapping[str, Callable[[], type[ModulePass]]]) -> list[ModulePass]:
    """The passes that `text` names, in order."""
    try:
        specs = list(parse_pipeline(text))
    except ArgSpecParseError as error:
        raise CommandLineError(f"pass pipeline '{text}': {_syntax_error(error)}") from None
    return [build(spec, look_up(spec.name, available, "pass")(), "pass") for spec in specs]


def parse_one(text: str, what: str) -> ArgSpec:
    """`name{options}` of a target or front end."""
    try:
        return parse_spec(text)
    except ArgSpecParseError as error:
        raise CommandLineError(f"{what} '{text}': {_syntax_error(error)}") from None


def look_up(name: str, available: Mapping[str, Any], what: str) -> Any:
    """The entry of that name, or a CommandLineError with the nearest names."""
    if name in available:
        return available[name]
    raise CommandLineError(f"unknown {what} '{name}'{_suggestion(name, available)}")


def build(spec: ArgSpec, cls: type[_Built], what: str) -> _Built:
    """An object of `cls` with the options of `spec`."""
    label = f"{what} '{spec.name}'"
    types: dict[str, Any] = get_type_hints(cls)
    options = {field.name: types[field.name] for field in dataclasses.fields(cls) if field.init}
    converted: dict[str, ParameterListType] = {}
    typed: dict[str, str] = {}
    for text, value in spec.parameters.items():
        name = text.replace("-", "_")
        if name not in options:
            raise CommandLineError(f"{label} has no option '{text}'{_options(options)}")
        converted[name] = _tolerant(value, options[name])
        typed[name] = text
    missing = [name for name in cls.required_fields() if name in options and name not in converted]
    if missing:
        raise CommandLineError(f"{label} needs option '{_shown(missing[0])}'")
    try:
        return cls.from_spec(ArgSpec(cls.name, converted))
    except ValueError as error:
        for name, value in converted.items():
            if not _fits(cls, name, value):
                shown = ",".join(str(item) for item in value) or "nothing"
                raise CommandLineError(
                    f"option '{typed[name]}' of {label} expects {type_repr(options[name])}, got {shown}"
                ) from None
        raise CommandLineError(f"{label}: {error}") from None


def option_help(cls: type[ArgSpecConvertible]) -> str:
    """`{kinds=str,... size=int max-trips=16}`: defaults where there are some; nothing without options."""
    types: dict[str, Any] = get_type_hints(cls)
    fields = [field for field in dataclasses.fields(cls) if field.init and field.name != "name"]
    parts = [f"{_shown(field.name)}={_value_help(field.default, types[field.name])}" for field in fields]
    return "{" + " ".join(parts) + "}" if parts else ""


def _value_help(default: Any, wanted: Any) -> str:
    if isinstance(default, bool):
        return str(default).lower()
    if isinstance(default, str | int | float) and default != "":
        return str(default)
    return type_repr(wanted).removesuffix("|None").replace("tuple[str, ...]", "str,...")


def _tolerant(value: ParameterListType, wanted: Any) -> ParameterListType:
    members = get_args(wanted) if get_origin(wanted) in (Union, UnionType) else (wanted,)
    if not value and bool in members:
        return (True,)
    if _holds_float(members) and int not in members:
        return tuple(float(item) if type(item) is int else item for item in value)
    return value


def _holds_float(members: Iterable[Any]) -> bool:
    return any(member is float or float in get_args(member) for member in members)


def _fits(cls: type[ArgSpecConvertible], name: str, value: ParameterListType) -> bool:
    from xdsl.utils.arg_spec import _convert_arg_to_type  # pyright: ignore[reportPrivateUsage]

    try:
        _convert_arg_to_type(value, get_type_hints(cls)[name])
    except ValueError:
        return False
    return True


def _shown(name: str) -> str:
    """A field as its option is written."""
    return name.replace("_", "-")


def _options(options: Mapping[str, Any]) -> str:
    return f" (it has {', '.join(map(_shown, options))})" if options else " (it has none)"


def _suggestion(name: str, available: Iterable[str]) -> str:
    near = difflib.get_close_matches(name, list(available), n=3)
    return f" (did you mean {' or '.join(near)}?)" if near else ""


def _syntax_error(error: ArgSpecParseError) -> str:
    """The sentence of xDSL's message, without its drawing of the place."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    said = lines[-1].strip("^ ") if lines else ""
    return said[:1].lower() + said[1:] or "not a list of pass names with options"
