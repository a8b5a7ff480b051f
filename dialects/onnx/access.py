"""How is an op's attribute read as a Python value, and an op made from Python values?

All readers give the schema's default when the attribute is absent, without building anything.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, TypeVar, cast

from xdsl.dialects.builtin import ArrayAttr, BytesAttr, FloatAttr, IntegerAttr, NoneType, StringAttr
from xdsl.ir import Attribute, Operation, Region, SSAValue
from xdsl.irdl import IRDLOperation, OptPropertyDef, PropertyDef

from onnxloom.dialects.onnx.attributes import (
    float_value,
    floats_value,
    int_value,
    ints_value,
    string_value,
    strings_value,
    text_of,
)
from onnxloom.dialects.onnx.constraints import FLOAT_ATTR, FLOATS_ATTR, INTS_ATTR, STRINGS_ATTR
from onnxloom.dialects.onnx.dtypes import ELEMENT_TO_PROTO
from onnxloom.errors import ModelError

AttributeValue = (
    Attribute
    | bool
    | int
    | float
    | str
    | bytes
    | Sequence[int]
    | Sequence[float]
    | Sequence[str | bytes]
    | None
)
_OpT = TypeVar("_OpT", bound=Operation)


def is_none(value: SSAValue) -> bool:
    """Whether an optional input or output is left out."""
    return isinstance(value.type, NoneType)


@cache
def _definitions(op_class: type[Operation]) -> Mapping[str, PropertyDef | OptPropertyDef]:
    if not issubclass(op_class, IRDLOperation):
        return {}
    return op_class.get_irdl_definition().properties


def attr(op: Operation, name: str) -> Attribute | None:
    """The attribute as it stands: property, discardable attribute, or the schema's default."""
    found = op.properties.get(name)
    if found is not None:
        return found
    found = op.attributes.get(name)
    if found is not None:
        return found
    definition = _definitions(type(op)).get(name)
    return None if definition is None else definition.default_value


def _wrong(op: Operation, name: str, found: Attribute | None, expected: str) -> ModelError:
    have = "is missing" if found is None else f"is {str(found)[:80]}"
    return ModelError(f"{op.name}: attribute {name} {have}; expected {expected}")


def int_attr(op: Operation, name: str, default: int | None = None) -> int:
    """An INT attribute; `default` where the schema has none."""
    found = attr(op, name)
    if isinstance(found, IntegerAttr):
        return found.value.data
    if found is None and default is not None:
        return default
    if found in ELEMENT_TO_PROTO:
        return ELEMENT_TO_PROTO[found]  # `to = f32`, as other tools write it
    raise _wrong(op, name, found, "an integer")


def bool_attr(op: Operation, name: str, default: bool | None = None) -> bool:
    """An INT attribute that is a flag."""
    return int_attr(op, name, None if default is None else int(default)) != 0


def float_attr(op: Operation, name: str, default: float | None = None) -> float:
    """A FLOAT attribute; `default` where the schema has none."""
    found = attr(op, name)
    if isinstance(found, FloatAttr):
        return found.value.data
    if found is None and default is not None:
        return default
    raise _wrong(op, name, found, "a number")


def str_attr(op: Operation, name: str, default: str | None = None) -> str:
    """A STRING attribute; `default` where the schema has none."""
    found = attr(op, name)
    if isinstance(found, StringAttr | BytesAttr):
        return text_of(found)
    if found is None and default is not None:
        return default
    raise _wrong(op, name, found, "a string")


def opt_int_attr(op: Operation, name: str) -> int | None:
    """An INT attribute that may be absent and has no default."""
    return None if attr(op, name) is None else int_attr(op, name)


def opt_float_attr(op: Operation, name: str) -> float | None:
    return None if attr(op, name) is None else float_attr(op, name)


def _elements(op: Operation, name: str, expected: str) -> Sequence[Attribute] | None:
    found = attr(op, name)
    if found is None:
        return None
    if not isinstance(found, ArrayAttr):
        raise _wrong(op, name, found, expected)
    return cast(ArrayAttr[Attribute], found).data


def ints_attr(op: Operation, name: str) -> tuple[int, ...] | None:
    """An INTS attribute, None when absent."""
    elements = _elements(op, name, "an array of integers")
    if elements is None:
        return None
    if not all(isinstance(e, IntegerAttr) for e in elements):
        raise _wrong(op, name, attr(op, name), "an array of integers")
    return tuple(cast(IntegerAttr, e).value.data for e in elements)


def floats_attr(op: Operation, name: str) -> tuple[float, ...] | None:
    """A FLOATS attribute, None when absent."""
    elements = _elements(op, name, "an array of numbers")
    if elements is None:
        return None
    if not all(isinstance(e, FloatAttr) for e in elements):
        raise _wrong(op, name, attr(op, name), "an array of numbers")
    return tuple(cast(FloatAttr, e).value.data for e in elements)


def strs_attr(op: Operation, name: str) -> tuple[str, ...] | None:
    """A STRINGS attribute, None when absent."""
    elements = _elements(op, name, "an array of strings")
    if elements is None:
        return None
    if not all(isinstance(e, StringAttr | BytesAttr) for e in elements):
        raise _wrong(op, name, attr(op, name), "an array of strings")
    return tuple(text_of(cast(StringAttr | BytesAttr, e)) for e in elements)


def to_attribute(value: AttributeValue, op_class: type[Operation] | None = None, name: str = "") -> Attribute:
    """Attribute for a Python value; the op's schema decides between INT and FLOAT where Python cannot."""
    definition = None if op_class is None else _definitions(op_class).get(name)
    kind = None if definition is None else definition.constr
    if isinstance(value, Attribute):
        return value
    if isinstance(value, str | bytes):
        return string_value(value)
    if isinstance(value, float) or kind is FLOAT_ATTR:
        return float_value(float(cast(float, value)))
    if isinstance(value, int):
        return int_value(int(value))
    if value is None:
        raise ModelError(f"attribute {name} has no value")
    items = list(cast(Sequence[Any], value))
    if kind is STRINGS_ATTR or (items and isinstance(items[0], str | bytes)):
        return strings_value(items)
    if kind is FLOATS_ATTR or (kind is not INTS_ATTR and any(isinstance(item, float) for item in items)):
        return floats_value(float(item) for item in items)
    return ints_value(int(item) for item in items)


def make(
    op_class: type[_OpT],
    operands: Sequence[SSAValue],
    result_types: Sequence[Attribute],
    *,
    regions: Sequence[Region] = (),
    attributes: Mapping[str, Attribute] | None = None,
    **values: AttributeValue,
) -> _OpT:
    """An op built without verification; `values` become properties, those that are None are left out.

    `make(TransposeOp, [x], [y_type], perm=[1, 0])`
    """
    properties = {
        name: to_attribute(values[name], op_class, name)
        for name in sorted(values)
        if values[name] is not None
    }
    return op_class.create(
        operands=operands,
        result_types=result_types,
        properties=properties,
        attributes=attributes or {},
        regions=regions,
    )
