"""How do small tensor constants and numpy arrays turn into one another, bit for bit?

Numbers are xDSL's own dense attribute (raw little-endian bytes, one element per byte or more);
strings need an attribute of their own, printed the same way: `dense<["a"]> : tensor<1x!onnx.String>`.
"""

from __future__ import annotations

import math
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import (
    ArrayAttr,
    BytesAttr,
    DenseIntOrFPElementsAttr,
    Signedness,
    StringAttr,
    TensorType,
    i1,
)
from xdsl.ir import Attribute, BuiltinAttribute, TypedAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.printer import Printer

from onnxloom.dialects.onnx.attributes import string_value, text_of
from onnxloom.dialects.onnx.dtypes import DType, dtype_of_element, tensor_type_of
from onnxloom.dialects.onnx.narrow import AnyDense, AnyTensor, is_integer
from onnxloom.dialects.onnx.types import STRING_TYPE
from onnxloom.errors import ModelError

Array = np.ndarray[Any, Any]


@irdl_attr_definition
class DenseStringsAttr(TypedAttribute, BuiltinAttribute):
    """A tensor of strings: as many elements as the type has, in row-major order."""

    name = "onnx.dense_strings"
    elements: ArrayAttr[StringAttr | BytesAttr]
    type: Attribute

    def print_without_type(self, printer: Printer) -> None:
        printer.print_string("dense<")
        shape = cast(AnyTensor, self.type).get_shape()
        _print_nested(printer, self.elements.data, shape)
        printer.print_string(">")

    def print_builtin(self, printer: Printer) -> None:
        self.print_without_type(printer)
        printer.print_string(" : ")
        printer.print_attribute(self.type)


def _print_nested(
    printer: Printer, elements: tuple[StringAttr | BytesAttr, ...], shape: tuple[int, ...]
) -> None:
    if not shape:
        printer.print_attribute(elements[0])
        return
    if not elements:
        return
    step = len(elements) // shape[0]
    printer.print_string("[")
    printer.print_list(
        (elements[i : i + step] for i in range(0, len(elements), step)),
        lambda part: _print_nested(printer, part, shape[1:]),
    )
    printer.print_string("]")


def strings_to_attr(array: Array) -> DenseStringsAttr:
    elements = [string_value(_text(element)) for element in array.reshape(-1).tolist()]
    return DenseStringsAttr(ArrayAttr(elements), TensorType(STRING_TYPE, array.shape))


def _text(element: object) -> str | bytes:
    return element if isinstance(element, bytes) else str(element)


def strings_to_array(attr: DenseStringsAttr) -> Array:
    """A read-only object array of `str`."""
    shape = cast(AnyTensor, attr.type).get_shape()
    array = np.empty(len(attr.elements.data), dtype=object)
    array[:] = [text_of(element) for element in attr.elements.data]
    array.flags.writeable = False
    return array.reshape(shape)


def _stored_dtype(element: Attribute, dtype: DType) -> DType:
    """How xDSL stores an element where that differs from numpy: true is 0xFF, -1 of i4 is 0xFF."""
    if not is_integer(element) or element.width.data >= 8:
        return dtype
    is_unsigned = element.signedness.data == Signedness.UNSIGNED
    return np.dtype(np.uint8) if is_unsigned else np.dtype(np.int8)


def array_to_bytes(array: Array, element: Attribute) -> bytes:
    """The bytes of xDSL's dense attribute."""
    dtype = dtype_of_element(element)
    native = array.astype(dtype, copy=False)
    stored = _stored_dtype(element, dtype)
    if element == i1:
        return (-native.astype(np.int8)).tobytes()
    if stored != dtype:
        return native.astype(stored).tobytes()
    return native.tobytes()


def bytes_to_array(data: bytes, tensor_type: AnyTensor) -> Array:
    """A read-only array over the bytes of a dense attribute; one element stands for all (a splat)."""
    element = tensor_type.element_type
    dtype = dtype_of_element(element)
    stored = _stored_dtype(element, dtype)
    shape = tensor_type.get_shape()
    flat: Array = np.frombuffer(data, dtype=stored)
    if stored != dtype:
        flat = (flat != 0) if element == i1 else flat.astype(dtype)
        flat.flags.writeable = False
    if any(dim < 0 for dim in shape):
        raise ModelError(f"a constant has type {tensor_type}; expected a static shape")
    if flat.size == 1 and math.prod(shape) != 1:
        return np.broadcast_to(flat.reshape(()), shape)
    if flat.size != math.prod(shape):
        raise ModelError(
            f"a constant of type {tensor_type} has {flat.size} elements; expected {math.prod(shape)}"
        )
    return flat.reshape(shape)


def dense_attr(
    array: Array, tensor_type: AnyTensor | None = None
) -> DenseIntOrFPElementsAttr | DenseStringsAttr:
    """An inline dense attribute, whatever the size."""
    if array.dtype.kind in "USTO":
        return strings_to_attr(array)
    tensor_type = tensor_type if tensor_type is not None else tensor_type_of(array)
    data = BytesAttr(array_to_bytes(array, tensor_type.element_type))
    return DenseIntOrFPElementsAttr(cast(Any, tensor_type), data)


def dense_array(attr: AnyDense | DenseStringsAttr) -> Array:
    """A read-only array with the values of an inline dense attribute."""
    if isinstance(attr, DenseStringsAttr):
        return strings_to_array(attr)
    return bytes_to_array(attr.data.data, cast(AnyTensor, attr.type))
