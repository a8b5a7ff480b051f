"""How does an op say which types an operand, a result or an attribute may have?

The objects here are shared by all generated op classes. Each raises one readable phrase, which
`OnnxOp` turns into a sentence that names the op and the operand.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import ClassVar, Final

from typing_extensions import TypeVar
from xdsl.dialects.builtin import (
    BytesAttr,
    NoneType,
    StringAttr,
    TensorType,
    f32,
    i64,
)
from xdsl.ir import Attribute, TypeAttribute, TypedAttribute
from xdsl.irdl import AttrConstraint, IntConstraint, VerificationContext
from xdsl.utils.exceptions import VerifyException

from onnxloom.dialects.onnx.element_types import ELEMENT_TYPES, si64
from onnxloom.dialects.onnx.narrow import is_array, is_float_attr, is_int_attr, is_tensor
from onnxloom.dialects.onnx.types import MapType, OptType, SeqType


@dataclass(frozen=True, eq=False)
class TypeSet(AttrConstraint[Attribute]):
    """The types one type parameter of the standard allows."""

    elements: frozenset[Attribute]
    """Allowed tensor element types."""

    sequence_elements: frozenset[Attribute]
    """Allowed element types of the tensors of a sequence."""

    has_optional: bool
    """Any `!onnx.Opt<...>` is allowed."""

    has_map: bool
    """Any `!onnx.Map<...>`, or a sequence of them, is allowed."""

    allows_none: bool = False
    """The operand or result may be left out (type `none`)."""

    parameter: str | None = None
    """Tensors with the same parameter name in one op share their element type."""

    @staticmethod
    def of(*types: str) -> TypeSet:
        """From the standard's spelling: `tensor(float)`, `seq(tensor(int64))`, ..."""
        return TypeSet(
            _elements(types, "tensor("),
            _elements(types, "seq(tensor("),
            any(t.startswith("optional(") for t in types),
            any("map(" in t for t in types),
        )

    def of_parameter(self, parameter: str) -> TypeSet:
        return replace(self, parameter=parameter)

    def or_none(self) -> TypeSet:
        return replace(self, allows_none=True)

    def verify(self, attr: Attribute, constraint_context: VerificationContext) -> None:
        if is_tensor(attr):
            element = attr.element_type
            if element not in self.elements:
                raise VerifyException(f"has type {attr}; expected {self.describe()}")
            if self.parameter is not None:
                self._verify_parameter(attr, element, constraint_context)
            return
        if not self._allows_other(attr):
            raise VerifyException(f"has type {attr}; expected {self.describe()}")

    def _verify_parameter(self, attr: Attribute, element: Attribute, context: VerificationContext) -> None:
        assert self.parameter is not None
        bound = context.get_variable(self.parameter)
        if bound is None:
            context.set_attr_variable(self.parameter, element)
        elif bound != element:
            raise VerifyException(
                f"has type {attr}; expected element type {bound} like the others of type {self.parameter}"
            )

    def _allows_other(self, attr: Attribute) -> bool:
        if isinstance(attr, NoneType):
            return self.allows_none
        if isinstance(attr, SeqType):
            return self._allows_sequence_of(attr.element_type)
        if isinstance(attr, OptType):
            return self.has_optional
        return isinstance(attr, MapType) and self.has_map

    def _allows_sequence_of(self, element: Attribute) -> bool:
        if is_tensor(element):
            return element.element_type in self.sequence_elements
        return isinstance(element, MapType) and self.has_map

    def describe(self) -> str:
        """`tensor of bf16, f16, f32 or f64`, for messages."""
        parts: list[str] = []
        if self.elements:
            parts.append(f"a tensor of {_any_of(self.elements)}")
        if self.sequence_elements:
            parts.append("a sequence")
        if self.has_optional:
            parts.append("an optional")
        if self.has_map:
            parts.append("a map")
        if self.allows_none:
            parts.append("none")
        return " or ".join(parts)

    def mapping_type_vars(
        self, type_var_mapping: Mapping[TypeVar, AttrConstraint | IntConstraint]
    ) -> TypeSet:
        return self


def _elements(types: Iterable[str], prefix: str) -> frozenset[Attribute]:
    names = (t.removeprefix(prefix).rstrip(")") for t in types if t.startswith(prefix))
    return frozenset(ELEMENT_TYPES[name] for name in names)


def _any_of(elements: frozenset[Attribute]) -> str:
    if len(elements) == len(ELEMENT_TYPES):
        return "any element type"
    *head, last = sorted(str(element) for element in elements)
    return f"{', '.join(head)} or {last}" if head else last


@dataclass(frozen=True, eq=False)
class AttributeKind(AttrConstraint[Attribute]):
    """One of the attribute kinds of the standard (INT, FLOATS, TENSOR, ...)."""

    PROBLEM: ClassVar[str] = "an attribute is"

    expected: str
    accepts: Callable[[Attribute], bool]

    def verify(self, attr: Attribute, constraint_context: VerificationContext) -> None:
        if not self.accepts(attr):
            raise VerifyException(f"{self.PROBLEM} {_shortened(attr)}; expected {self.expected}")

    def mapping_type_vars(
        self, type_var_mapping: Mapping[TypeVar, AttrConstraint | IntConstraint]
    ) -> AttributeKind:
        return self


def _shortened(attr: Attribute) -> str:
    text = str(attr)
    return text if len(text) <= 80 else text[:77] + "..."


_ELEMENTS = frozenset(ELEMENT_TYPES.values())


def _is_int(attr: Attribute) -> bool:
    if is_int_attr(attr):
        return attr.type in (si64, i64)
    return attr in _ELEMENTS  # a data type written as a type: `to = f32`


def _is_float(attr: Attribute) -> bool:
    return is_float_attr(attr) and attr.type == f32


def _is_string(attr: Attribute) -> bool:
    return isinstance(attr, StringAttr | BytesAttr)


def _array_of(accepts: Callable[[Attribute], bool]) -> Callable[[Attribute], bool]:
    def check(attr: Attribute) -> bool:
        return is_array(attr) and all(accepts(element) for element in attr.data)

    return check


def _is_tensor(attr: Attribute) -> bool:
    return isinstance(attr, TypedAttribute) and isinstance(attr.get_type(), TensorType)


def _is_type(attr: Attribute) -> bool:
    return isinstance(attr, TypeAttribute)


INT_ATTR: Final = AttributeKind("an si64 integer", _is_int)
FLOAT_ATTR: Final = AttributeKind("an f32 number", _is_float)
STRING_ATTR: Final = AttributeKind("a string", _is_string)
INTS_ATTR: Final = AttributeKind("an array of i64 integers", _array_of(_is_int))
FLOATS_ATTR: Final = AttributeKind("an array of f32 numbers", _array_of(_is_float))
STRINGS_ATTR: Final = AttributeKind("an array of strings", _array_of(_is_string))
TENSOR_ATTR: Final = AttributeKind("a tensor constant", _is_tensor)
SPARSE_TENSOR_ATTR: Final = AttributeKind("a sparse tensor constant", _is_tensor)
TYPE_PROTO_ATTR: Final = AttributeKind("a type", _is_type)
