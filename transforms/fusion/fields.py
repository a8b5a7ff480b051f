"""How do a kind's parameters become named attributes of the fused op, and how are they read back?

The fields of the helper's dataclass are the parameters. Supported types: `int` (si64), `bool` (i1),
`float` (f64), `str`, enums (by member name), tuples of those, and `X | None` (absent means None). A
field at its default is left out.
"""

from __future__ import annotations

import dataclasses
import types
from collections.abc import Callable
from enum import Enum
from functools import cache
from typing import Any, TypeAlias, Union, cast, get_args, get_origin, get_type_hints

from xdsl.dialects.builtin import ArrayAttr, FloatAttr, IntegerAttr, IntegerType, StringAttr, f64, i1, i64
from xdsl.ir import Attribute

from onnxloom.dialects.onnx.element_types import si64

Read: TypeAlias = Callable[[Attribute], Any]
"""From attribute to value; raises ValueError naming what was expected."""

Write: TypeAlias = Callable[[Any], Attribute]


@dataclasses.dataclass(frozen=True)
class Codec:
    """How values of one Python type are written and read."""

    expected: str
    write: Write
    read: Read


@dataclasses.dataclass(frozen=True)
class Parameter:
    """One field of a kind."""

    name: str
    codec: Codec
    default: Any
    """`dataclasses.MISSING` when the attribute must be there."""


def _number_type(attr: Attribute) -> tuple[Attribute, Any] | None:
    """Type and value of an integer or float attribute."""
    if isinstance(attr, IntegerAttr | FloatAttr):
        number = cast("IntegerAttr[IntegerType] | FloatAttr[Any]", attr)
        return number.type, number.value.data
    return None


def _number_codec(expected: str, write: Write, types: tuple[Attribute, ...]) -> Codec:
    def read(attr: Attribute) -> Any:
        found = _number_type(attr)
        if found is None or found[0] not in types:
            raise ValueError(expected)
        return found[1]

    return Codec(expected, write, read)


def _read_bool(attr: Attribute) -> bool:
    found = _number_type(attr)
    if found is None or found[0] != i1:
        raise ValueError("true or false")
    return found[1] != 0


def _read_str(attr: Attribute) -> str:
    if not isinstance(attr, StringAttr):
        raise ValueError("a string")
    return attr.data


_INT = _number_codec("an si64 integer", lambda v: IntegerAttr(v, si64), (si64, i64))
_ELEMENT_INT = _number_codec("an i64 integer", lambda v: IntegerAttr(v, i64), (si64, i64))
_BOOL = Codec("true or false", lambda v: IntegerAttr(int(v), i1), _read_bool)
_FLOAT = _number_codec("an f64 number", lambda v: FloatAttr(v, f64), (f64,))
_STR = Codec("a string", StringAttr, _read_str)


def _enum_codec(enum: type[Enum]) -> Codec:
    expected = f"one of {', '.join(enum.__members__)}"

    def read(attr: Attribute) -> Enum:
        if not isinstance(attr, StringAttr) or attr.data not in enum.__members__:
            raise ValueError(expected)
        return enum[attr.data]

    return Codec(expected, lambda v: StringAttr(cast(Enum, v).name), read)


def _tuple_codec(elements: list[Codec], variadic: bool) -> Codec:
    if variadic:
        expected = f"an array, each element {elements[0].expected}"
    else:
        expected = f"an array of {len(elements)} elements"

    def pick(values: tuple[Any, ...]) -> list[tuple[Codec, Any]]:
        codecs = elements * len(values) if variadic else elements
        if len(codecs) != len(values):
            raise ValueError(expected)
        return list(zip(codecs, values, strict=True))

    def write(values: Any) -> Attribute:
        return ArrayAttr([codec.write(value) for codec, value in pick(tuple(values))])

    def read(attr: Attribute) -> Any:
        if not isinstance(attr, ArrayAttr):
            raise ValueError(expected)
        return tuple(codec.read(value) for codec, value in pick(cast(ArrayAttr[Attribute], attr).data))

    return Codec(expected, write, read)


def codec_of(hint: Any, *, nested: bool = False) -> Codec:
    """The codec of a type annotation. Raises TypeError for a type that has none."""
    if hint is bool:
        return _BOOL
    if hint is int:
        return _ELEMENT_INT if nested else _INT
    if hint is float:
        return _FLOAT
    if hint is str:
        return _STR
    if isinstance(hint, type) and issubclass(hint, Enum):
        return _enum_codec(hint)
    args = get_args(hint)
    if get_origin(hint) is tuple and args:
        variadic = len(args) == 2 and args[1] is Ellipsis
        kept = args[:1] if variadic else args
        return _tuple_codec([codec_of(arg, nested=True) for arg in kept], variadic)
    raise TypeError(f"{hint} is not int, bool, float, str, an enum, a tuple of those, or one of them or None")


def _without_none(hint: Any) -> tuple[Any, bool]:
    if get_origin(hint) not in (Union, types.UnionType):
        return hint, False
    others = [arg for arg in get_args(hint) if arg is not type(None)]
    if len(others) != 1:
        raise TypeError(f"{hint} is not one type or None")
    return others[0], True


@cache
def parameters_of(cls: type) -> tuple[Parameter, ...]:
    """The parameters of a kind, in order. Raises TypeError naming a field of unsupported type."""
    try:
        hints = get_type_hints(cls)
    except NameError as error:
        raise TypeError(f"{cls.__name__}: an annotation does not resolve in its module: {error}") from None
    found: list[Parameter] = []
    for field in dataclasses.fields(cls):
        try:
            hint, is_optional = _without_none(hints[field.name])
            codec = codec_of(hint)
        except TypeError as error:
            raise TypeError(f"{cls.__name__}.{field.name}: {error}") from None
        default = None if field.default is dataclasses.MISSING and is_optional else field.default
        if is_optional and default is not None:
            both = f"None and the default {default!r} are both left out"
            raise TypeError(f"{cls.__name__}.{field.name}: {both}")
        found.append(Parameter(field.name, codec, default))
    return tuple(found)


def write_fields(helper: object) -> dict[str, Attribute]:
    """The named attributes of a helper instance."""
    written: dict[str, Attribute] = {}
    for parameter in parameters_of(type(helper)):
        value = getattr(helper, parameter.name)
        # By repr: 1 and True, 0.0 and -0.0 are equal but not the same parameter.
        if value is not None and repr(value) != repr(parameter.default):
            written[parameter.name] = parameter.codec.write(value)
    return written


def read_fields(cls: type, attributes: dict[str, Attribute]) -> dict[str, Any]:
    """Field values from named attributes. Raises ValueError naming the attribute that is missing or wrong."""
    values: dict[str, Any] = {}
    for parameter in parameters_of(cls):
        attr = attributes.get(parameter.name)
        if attr is None:
            if parameter.default is dataclasses.MISSING:
                raise ValueError(
                    f"attribute {parameter.name} is missing; expected {parameter.codec.expected}"
                )
            values[parameter.name] = parameter.default
            continue
        try:
            values[parameter.name] = parameter.codec.read(attr)
        except ValueError as error:
            raise ValueError(f"attribute {parameter.name} is {str(attr)[:60]}; expected {error}") from None
    return values
