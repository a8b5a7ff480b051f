"""How do frozen dataclasses become JSON and come back, checked against their annotations?

Fields hold `str`, `int`, `None`, tuples of these, or further dataclasses. Fields at their default are left
out.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from functools import cache
from types import NoneType, UnionType
from typing import Any, TypeVar, cast, get_args, get_origin, get_type_hints

from onnxloom.errors import PassError

T = TypeVar("T")


def encode(value: Any) -> Any:
    """What `json.dumps` takes."""
    if isinstance(value, tuple):
        return [encode(item) for item in cast(tuple[Any, ...], value)]
    if not dataclasses.is_dataclass(value):
        return value
    fields = ((field, getattr(value, field.name)) for field in dataclasses.fields(value))
    return {field.name: encode(held) for field, held in fields if held != field.default}


def decode(cls: type[T], data: object, where: str) -> T:
    """An object of `cls`. Raises PassError that names the field that is not as annotated."""
    return cast(T, _decode(cls, data, where))


def _decode(wanted: Any, data: object, where: str) -> object:
    if dataclasses.is_dataclass(wanted):
        return _decode_object(cast(type[Any], wanted), data, where)
    if get_origin(wanted) is tuple:
        return _decode_tuple(get_args(wanted), data, where)
    members = get_args(wanted) if isinstance(wanted, UnionType) else (wanted,)
    if type(data) not in members:
        expected = " or ".join("nothing" if m is NoneType else m.__name__ for m in members)
        raise PassError(f"{where} is {str(data)[:40]!r}; expected {expected}")
    return data


def _decode_object(wanted: type[Any], data: object, where: str) -> object:
    if not isinstance(data, dict):
        raise PassError(f"{where} is {str(data)[:40]!r}; expected an object")
    given = cast(Mapping[str, object], data)
    types = _types(wanted)
    for name in given:
        if name not in types:
            raise PassError(f"{where}: there is no field {name[:40]!r}")
    for field in dataclasses.fields(wanted):
        if field.default is dataclasses.MISSING and field.name not in given:
            raise PassError(f"{where}: {field.name} is missing")
    return wanted(**{name: _decode(types[name], held, f"{where}.{name}") for name, held in given.items()})


def _decode_tuple(members: tuple[Any, ...], data: object, where: str) -> object:
    if not isinstance(data, list):
        raise PassError(f"{where} is {str(data)[:40]!r}; expected a list")
    items = cast(list[object], data)
    if members[1:] == (Ellipsis,):
        members = members[:1] * len(items)
    if len(members) != len(items):
        raise PassError(f"{where} has {len(items)} items; expected {len(members)}")
    pairs = zip(members, items, strict=True)
    return tuple(_decode(member, item, f"{where}[{number}]") for number, (member, item) in enumerate(pairs))


@cache
def _types(wanted: type[Any]) -> Mapping[str, Any]:
    return get_type_hints(wanted)
