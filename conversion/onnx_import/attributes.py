"""Which IR attribute stands for an `AttributeProto`?"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from onnx import AttributeProto, TensorProto
from xdsl.dialects.builtin import ArrayAttr
from xdsl.ir import Attribute

from onnxloom.conversion.onnx_import.payloads import Payloads
from onnxloom.conversion.onnx_import.tensors import array_of_sparse
from onnxloom.conversion.onnx_import.types import type_of_proto
from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.attributes import (
    float_value,
    floats_value,
    int_value,
    ints_value,
    string_value,
    strings_value,
)
from onnxloom.errors import ModelError

_KINDS: Final = AttributeProto.AttributeType

_PLAIN: Final[dict[int, Callable[[AttributeProto], Attribute]]] = {
    AttributeProto.INT: lambda a: int_value(a.i),
    AttributeProto.FLOAT: lambda a: float_value(a.f),
    AttributeProto.STRING: lambda a: string_value(a.s),
    AttributeProto.INTS: lambda a: ints_value(a.ints),
    AttributeProto.FLOATS: lambda a: floats_value(a.floats),
    AttributeProto.STRINGS: lambda a: strings_value(a.strings),
}

_FIELDS: Final = (
    ("g", AttributeProto.GRAPH),
    ("t", AttributeProto.TENSOR),
    ("s", AttributeProto.STRING),
    ("f", AttributeProto.FLOAT),
    ("i", AttributeProto.INT),
)
_LISTS: Final = (
    ("floats", AttributeProto.FLOATS),
    ("ints", AttributeProto.INTS),
    ("strings", AttributeProto.STRINGS),
    ("tensors", AttributeProto.TENSORS),
    ("graphs", AttributeProto.GRAPHS),
)


def kind_of(attribute: AttributeProto) -> int:
    """The attribute's type; the oldest models leave it out, then it is that of the field which is set."""
    if attribute.type:
        return attribute.type
    for field, kind in _FIELDS:
        if attribute.HasField(field):
            return kind
    return next((kind for field, kind in _LISTS if len(getattr(attribute, field))), AttributeProto.INTS)


def kind_name(kind: int) -> str:
    return _KINDS.Name(kind) if kind in _KINDS.values() else str(kind)


def attribute_of_proto(attribute: AttributeProto, payloads: Payloads, where: str) -> Attribute:
    """The IR attribute; graphs are not attributes in the IR and are refused here."""
    kind = kind_of(attribute)
    plain = _PLAIN.get(kind)
    if plain is not None:
        return plain(attribute)
    what = f"attribute {attribute.name} of {where}"
    if kind == AttributeProto.TENSOR:
        return tensor_attribute(attribute.t, payloads, what)
    if kind == AttributeProto.TENSORS:
        return ArrayAttr([tensor_attribute(tensor, payloads, what) for tensor in attribute.tensors])
    if kind == AttributeProto.SPARSE_TENSOR:
        return onnx.constant_attr(array_of_sparse(attribute.sparse_tensor, what, payloads.array))
    if kind == AttributeProto.TYPE_PROTO:
        found = type_of_proto(attribute.tp)
        if found is None:
            raise ModelError(f"{what} is a type without an element type")
        return found
    raise ModelError(f"{what} has kind {kind_name(kind)}, which is not supported here")


def tensor_attribute(
    tensor: TensorProto, payloads: Payloads, what: str, place: onnx.WeightsPlace | None = None
) -> Attribute:
    """A dense attribute, or for large tensors a weight that refers to its array."""
    array = payloads.array(tensor, what)
    if place is None or array.dtype == object or array.size <= onnx.WeightsAttr.INLINE_LIMIT:
        return onnx.constant_attr(array)
    return onnx.weights_attr(array, place)
