"""Which `AttributeProto` or `TensorProto` stands for an IR attribute?"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any, cast

import numpy as np
from onnx import AttributeProto, TensorProto
from xdsl.dialects.builtin import (
    ArrayAttr,
    BytesAttr,
    DenseIntOrFPElementsAttr,
    FloatAttr,
    IntegerAttr,
    StringAttr,
)
from xdsl.ir import Attribute, TypeAttribute

from onnxloom.conversion.onnx_export.types import proto_of_type
from onnxloom.conversion.onnx_import.tensors import element_bits
from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.attributes import encode, text_of
from onnxloom.dialects.onnx.dtypes import element_of_dtype, proto_of_element
from onnxloom.errors import PassError

Array = np.ndarray[Any, Any]
_LISTS = {
    AttributeProto.INTS: "ints",
    AttributeProto.FLOATS: "floats",
    AttributeProto.STRINGS: "strings",
    AttributeProto.TENSORS: "tensors",
}


def attribute_proto(name: str, attr: Attribute, kind: int | None = None) -> AttributeProto:
    """`kind` is what the op's schema says; it decides for empty lists. Raises PassError."""
    proto = AttributeProto(name=name)
    if isinstance(attr, IntegerAttr):
        proto.i = attr.value.data
        proto.type = AttributeProto.INT
    elif isinstance(attr, FloatAttr):
        proto.f = attr.value.data
        proto.type = AttributeProto.FLOAT
    elif isinstance(attr, StringAttr | BytesAttr):
        proto.s = encode(text_of(attr))
        proto.type = AttributeProto.STRING
    elif isinstance(attr, ArrayAttr):
        _write_list(proto, cast(ArrayAttr[Attribute], attr).data, kind)
    elif is_tensor(attr):
        proto.t.CopyFrom(tensor_proto(tensor_array(attr)))
        proto.type = AttributeProto.TENSOR
    elif isinstance(attr, TypeAttribute):
        proto.tp.CopyFrom(proto_of_type(attr))
        proto.type = AttributeProto.TYPE_PROTO
    else:
        raise PassError(f"onnx export: attribute {name} is {str(attr)[:60]}; expected one ONNX has")
    return proto


def _write_list(proto: AttributeProto, elements: Sequence[Attribute], kind: int | None) -> None:
    first = elements[0] if elements else None
    if isinstance(first, IntegerAttr):
        proto.ints.extend(cast(IntegerAttr, e).value.data for e in elements)
        proto.type = AttributeProto.INTS
    elif isinstance(first, FloatAttr):
        proto.floats.extend(cast(FloatAttr, e).value.data for e in elements)
        proto.type = AttributeProto.FLOATS
    elif isinstance(first, StringAttr | BytesAttr):
        proto.strings.extend(encode(text_of(cast(StringAttr, e))) for e in elements)
        proto.type = AttributeProto.STRINGS
    elif first is not None and is_tensor(first):
        proto.tensors.extend(tensor_proto(tensor_array(e)) for e in elements)
        proto.type = AttributeProto.TENSORS
    elif first is None:
        proto.type = kind if kind in _LISTS else AttributeProto.INTS  # pyright: ignore[reportAttributeAccessIssue]
    else:
        raise PassError(f"onnx export: attribute {proto.name} is a list of {str(first)[:40]}")


def is_tensor(attr: Attribute) -> bool:
    return isinstance(attr, DenseIntOrFPElementsAttr | onnx.DenseStringsAttr | onnx.WeightsAttr)


def tensor_array(attr: Attribute) -> Array:
    array = onnx.constant_value(attr)
    if array is None:
        raise PassError(f"onnx export: {str(attr)[:60]} is not a tensor constant")
    return array


def tensor_proto(array: Array, name: str = "") -> TensorProto:
    """A tensor with raw little-endian data (strings as such)."""
    element = element_of_dtype(array.dtype)
    tensor = TensorProto(name=name, data_type=proto_of_element(element), dims=array.shape)
    if tensor.data_type == TensorProto.STRING:
        tensor.string_data.extend(encode(text) for text in array.reshape(-1).tolist())
    else:
        tensor.raw_data = raw_bytes(array)
    return tensor


def raw_bytes(array: Array) -> bytes:
    """Little-endian elements in row-major order, sub-byte ones packed lowest bits first."""
    bits = element_bits(array.dtype)
    if bits < 8:
        return _packed(array, bits)
    if sys.byteorder == "big" and array.dtype.kind in "iufc":
        array = array.astype(array.dtype.newbyteorder("<"))
    return array.tobytes()


def _packed(array: Array, bits: int) -> bytes:
    is_float = array.dtype.name.startswith("float")
    flat = np.ascontiguousarray(array).reshape(-1)
    codes = flat.view(np.uint8) if is_float else flat.astype(np.int8).view(np.uint8)
    codes = codes & np.uint8((1 << bits) - 1)
    if bits == 6:
        loose = np.unpackbits(codes.reshape(-1, 1), axis=1, count=bits, bitorder="little")
        return np.packbits(loose.reshape(-1), bitorder="little").tobytes()
    per_byte = 8 // bits
    padded = np.zeros(-(-codes.size // per_byte) * per_byte, dtype=np.uint8)
    padded[: codes.size] = codes
    shifts = np.arange(0, 8, bits, dtype=np.uint8)
    return np.bitwise_or.reduce(padded.reshape(-1, per_byte) << shifts, axis=1).astype(np.uint8).tobytes()
