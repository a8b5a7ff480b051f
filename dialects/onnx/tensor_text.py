"""How is a tensor attribute read from text and written to it, by any xDSL parser and printer?"""

from __future__ import annotations

import re
from typing import Any, cast

from xdsl.dialects.builtin import BytesAttr, DenseIntOrFPElementsAttr, MemRefType, TensorType, VectorType
from xdsl.ir import Attribute, TypedAttribute
from xdsl.parser import AttrParser
from xdsl.printer import Printer

from onnxloom.dialects.onnx.dense import (
    Array,
    DenseStringsAttr,
    array_to_bytes,
    bytes_to_array,
    dense_array,
    dense_attr,
)
from onnxloom.dialects.onnx.dtypes import ELEMENT_TO_DTYPE
from onnxloom.dialects.onnx.literal_parser import parse_sparse_tensor, parse_tensor
from onnxloom.dialects.onnx.literals import format_tensor
from onnxloom.dialects.onnx.narrow import AnyDense, AnyTensor, is_dense_of_any_shape, is_ranked
from onnxloom.dialects.onnx.quoting import LiteralError
from onnxloom.dialects.onnx.weights import (
    RESOURCE,
    Weights,
    WeightsAttr,
    WeightsPlace,
    WeightsReference,
    weights_attr,
)
from onnxloom.errors import ModelError

_BODY = re.compile(r'<((?:[^<>"]|"(?:[^"\\]|\\.)*")*)>')
_DISPOSABLE = re.compile(r'<\s*(?:#?[0-9]+\s*:)?\s*("0[xX][0-9a-fA-F]*"|[A-Za-z_]\w*)\s*>')
_RESOURCE = re.compile(r'<\s*([A-Za-z_][\w$.]*|"(?:[^"\\]|\\.)*")\s*>')

TensorAttr = DenseIntOrFPElementsAttr | DenseStringsAttr | WeightsAttr


def parse_dense(parser: AttrParser, tensor_type: Attribute | None = None) -> TypedAttribute:
    """What follows the word `dense`: `<...> : type`."""
    start = parser.pos
    body = _take(parser, _BODY, "< and the elements of a tensor, then >")
    if tensor_type is None:
        parser.parse_punctuation(":", " after the elements of a tensor")
        tensor_type = parser.parse_type()
    as_tensor = _as_tensor(tensor_type)
    if as_tensor is None:
        return _stock_dense(parser, start, tensor_type)
    attr = _tensor_attr(parser, start, body, as_tensor)
    if is_ranked(tensor_type) or not isinstance(attr, DenseIntOrFPElementsAttr | WeightsAttr):
        return attr
    array = attr.array() if isinstance(attr, WeightsAttr) else dense_array(attr)
    data = BytesAttr(array_to_bytes(array, as_tensor.element_type))
    return DenseIntOrFPElementsAttr(cast(Any, tensor_type), data)


def _as_tensor(shaped: Attribute) -> AnyTensor | None:
    """The tensor type of the same shape and elements; None where arrays do not have such elements."""
    if is_ranked(shaped):
        return shaped if shaped.element_type in ELEMENT_TO_DTYPE else None
    if not isinstance(shaped, VectorType | MemRefType):
        return None
    element = cast(AnyTensor, shaped).element_type
    return TensorType(element, shaped.get_shape()) if element in ELEMENT_TO_DTYPE else None


def _stock_dense(parser: AttrParser, start: int, tensor_type: Attribute) -> TypedAttribute:
    """Elements that are no numbers of the ONNX standard (`index`, `i128`) are read by xDSL."""
    if not isinstance(tensor_type, TensorType | VectorType | MemRefType):
        parser.raise_error(f"elements in dense<...> have type {tensor_type}; expected a tensor", start)
    end = parser.pos
    parser._resume_from(start)  # pyright: ignore[reportPrivateUsage]
    try:
        attr = AttrParser.parse_dense_int_or_fp_elements_attr(parser, cast(Any, tensor_type))
    except (AttributeError, NotImplementedError, AssertionError, ValueError):
        parser.raise_error(f"{tensor_type} has no constants", start)
    parser._resume_from(end)  # pyright: ignore[reportPrivateUsage]
    return attr


def _tensor_attr(parser: AttrParser, start: int, body: str, tensor_type: AnyTensor) -> TensorAttr:
    try:
        parsed = parse_tensor(body, tensor_type)
    except (LiteralError, ModelError) as error:
        parser.raise_error(str(error), start)
    if isinstance(parsed, DenseStringsAttr):
        return parsed
    return attr_of(parsed, tensor_type)


def parse_sparse(parser: AttrParser) -> TensorAttr:
    """What follows the word `sparse`: `<indices, values> : type`, given dense."""
    start = parser.pos
    body = _take(parser, _BODY, "< and the indices and values of a sparse tensor, then >")
    parser.parse_punctuation(":", " after the elements of a sparse tensor")
    tensor_type = _tensor_type(parser)
    try:
        return attr_of(parse_sparse_tensor(body, tensor_type), tensor_type)
    except LiteralError as error:
        parser.raise_error(str(error), start)


def attr_of(array: Array, tensor_type: AnyTensor) -> TensorAttr:
    """Inline when small, by reference when not; the type (its encoding too) is kept."""
    if array.size <= WeightsAttr.INLINE_LIMIT:
        return dense_attr(array, tensor_type)
    return weights_attr(array, tensor_type=tensor_type)


def parse_disposable(parser: AttrParser) -> TensorAttr:
    """What follows `dense_disposable`: `<#7:"0x0000803F"> : type`; the number has no meaning."""
    start = parser.pos
    body = _take(parser, _DISPOSABLE, '<#number:"0x..."> of a dense_disposable')
    parser.parse_punctuation(":", " after dense_disposable")
    tensor_type = _tensor_type(parser)
    if body.startswith('"'):
        return _tensor_attr(parser, start, body, tensor_type)
    return _resource_attr("__elided__", tensor_type)


def parse_resource(parser: AttrParser) -> WeightsAttr:
    """What follows `dense_resource`: `<name> : type`; the data come at the end of the file, or never."""
    name = _take(parser, _RESOURCE, "<name> of a dense_resource").strip('"')
    parser.parse_punctuation(":", " after dense_resource")
    return _resource_attr(name, _tensor_type(parser))


def _tensor_type(parser: AttrParser) -> AnyTensor:
    tensor_type = parser.parse_type()
    if not isinstance(tensor_type, TensorType):
        parser.raise_error(f"a tensor constant has type {tensor_type}; expected a ranked tensor")
    return cast(AnyTensor, tensor_type)


def _resource_attr(name: str, tensor_type: AnyTensor) -> WeightsAttr:
    return WeightsAttr(WeightsReference(Weights(None, WeightsPlace(RESOURCE, name))), tensor_type)


def tensor_of_bytes(parser: AttrParser, data: bytes, tensor_type: AnyTensor) -> Array:
    try:
        return bytes_to_array(data, tensor_type)
    except (ModelError, ValueError) as error:
        parser.raise_error(str(error))


def _take(parser: AttrParser, pattern: re.Pattern[str], expected: str) -> str:
    """The first group of a raw match at the current token, which is consumed."""
    text = parser.lexer.input.content
    match = pattern.match(text, parser.pos)
    if match is None:
        parser.raise_error(f"expected {expected}")
    parser._resume_from(match.end())  # pyright: ignore[reportPrivateUsage]
    return match.group(1)


def print_tensor(printer: Printer, attr: TypedAttribute) -> None:
    """`dense<...> : type`, bit for bit; weights as their key."""
    if is_dense_of_any_shape(attr):
        print_dense_attr(printer, attr)
    else:
        printer.print_attribute(attr)


def print_dense_attr(printer: Printer, attr: AnyDense) -> None:
    tensor_type = _as_tensor(attr.type)
    if tensor_type is None:
        attr.print_builtin(printer)
    else:
        print_dense(printer, bytes_to_array(attr.data.data, tensor_type), attr.type, tensor_type.element_type)


def print_dense(printer: Printer, array: Array, shaped: Attribute, element: Attribute) -> None:
    printer.print_string(f"dense<{format_tensor(array, element)}> : ")
    printer.print_attribute(shaped)
