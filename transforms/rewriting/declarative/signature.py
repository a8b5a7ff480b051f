"""What does an op of the standard take? The names of its operands and attributes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from typing import Any

from xdsl.ir import Attribute
from xdsl.irdl import OptPropertyDef, VarOperandDef, VarResultDef

from onnxloom.dialects.onnx.access import to_attribute
from onnxloom.dialects.onnx.constraints import AttributeKind, TypeSet
from onnxloom.dialects.onnx.dtypes import ELEMENT_TO_PROTO
from onnxloom.dialects.onnx.op import OnnxOp


@dataclass(frozen=True)
class Operand:
    """One formal operand."""

    name: str
    types: TypeSet
    is_optional: bool
    is_variadic: bool


@dataclass(frozen=True)
class Signature:
    """The operands, results and attributes of one op class."""

    op_name: str
    """As the standard spells it."""

    operands: tuple[Operand, ...]
    results: tuple[str, ...]
    has_variadic_results: bool
    attributes: tuple[str, ...]
    required: frozenset[str]
    """Attributes that must be there."""

    has_graphs: bool

    def operand(self, index: int) -> Operand:
        """The formal operand that stands for actual operand `index`."""
        return self.operands[min(index, len(self.operands) - 1)]

    def check_count(self, count: int) -> None:
        """Raises TypeError when the op does not take `count` operands."""
        is_open = bool(self.operands) and self.operands[-1].is_variadic
        least = sum(not (o.is_optional or o.is_variadic) for o in self.operands)
        most = len(self.operands)
        if count >= least and (is_open or count <= most):
            return
        names = ", ".join(o.name + ("?" if o.is_optional else "*" * o.is_variadic) for o in self.operands)
        raise TypeError(f"op.{self.op_name} is given {count} operands; it takes ({names})")

    def check_attributes(self, given: Sequence[str]) -> None:
        """Raises TypeError when the op has no such attribute, or needs one that is not given."""
        for name in given:
            if name in self.attributes:
                continue
            close = get_close_matches(name, self.attributes, 1)
            known = ", ".join(self.attributes) or "none"
            hint = f"did you mean {close[0]!r}?" if close else f"it has {known}"
            raise TypeError(f"op.{self.op_name} has no attribute {name!r}; {hint}")
        for name in sorted(self.required):
            if name not in given:
                raise TypeError(
                    f"op.{self.op_name} needs the attribute {name!r}: a value, or attribute({name!r}) for any"
                )


@cache
def signature_of(op_class: type[OnnxOp]) -> Signature:
    """What `op_class` takes."""
    definition = op_class.get_irdl_definition()
    operands = tuple(
        _operand(name, isinstance(operand, VarOperandDef), operand.constr)
        for name, operand in definition.operands
    )
    return Signature(
        op_class.onnx_name,
        operands,
        tuple(name for name, _ in definition.results),
        any(isinstance(result, VarResultDef) for _, result in definition.results),
        tuple(sorted(definition.properties)),
        frozenset(n for n, p in definition.properties.items() if not isinstance(p, OptPropertyDef)),
        bool(definition.regions),
    )


def _operand(name: str, is_variadic: bool, constraint: object) -> Operand:
    types = _type_set(constraint)
    return Operand(name, types, types.allows_none and not is_variadic, is_variadic)


def _type_set(constraint: object) -> TypeSet:
    """The set of types inside xDSL's wrappers for how many there may be."""
    inner: Any = constraint
    while not isinstance(inner, TypeSet):
        inner = inner.constraint if hasattr(inner, "constraint") else inner.constr
    return inner


def attribute_kind(op_class: type[OnnxOp], name: str) -> AttributeKind:
    """Which of the standard's kinds an attribute is of."""
    kind = op_class.get_irdl_definition().properties[name].constr
    assert isinstance(kind, AttributeKind)
    return kind


def checked_attribute(op_class: type[OnnxOp], name: str, value: Any) -> Any:
    """An attribute's value as given; an element type (`to=f32`) as the standard's number for it.

    Raises:
        TypeError: it is not of the attribute's kind.
    """
    if isinstance(value, Attribute) and value in ELEMENT_TO_PROTO:
        return ELEMENT_TO_PROTO[value]
    kind = attribute_kind(op_class, name)
    try:
        made = to_attribute(value, op_class, name)
    except (TypeError, ValueError):
        made = None
    if made is None or not kind.accepts(made):
        raise TypeError(f"op.{op_class.onnx_name}: attribute {name} is {value!r}; expected {kind.expected}")
    return value


@cache
def default_of(op_class: type[OnnxOp], name: str) -> Attribute | None:
    """The schema's default of an attribute."""
    return op_class.get_irdl_definition().properties[name].default_value
