"""How is a tensor attribute read from text and written to it, by any xDSL parser and printer?"""

from __future__ import annotations

import re
from pathlib import Path
from typing import cast

from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, TensorType
from xdsl.ir import Attribute, TypedAttribute
from xdsl.parser import AttrParser
from xdsl.printer import Printer

from onnxloom.dialects.onnx.dense import (
    Array,
    DenseStringsAttr,
    bytes_to_array,
    dense_array,
    dense_attr,
)
from onnxloom.dialects.onnx.literals import LiteralError, format_tensor, parse_sparse_tensor, parse_tensor
from onnxloom.dialects.onnx.narrow import AnyTensor, is_dense
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
    if not isinstance(tensor_type, TensorType):
        return _stock_dense(parser, start, tensor_type)
    return _tensor_attr(parser, start, body, cast(AnyTensor, tensor_type))


def _stock_dense(parser: AttrParser, start: int, tensor_type: Attribute) -> TypedAttribute:
    """vector<...> and memref<...> are xDSL's own business."""
    end = parser.pos
    parser._resume_from(start)  # pyright: ignore[reportPrivateUsage]
    attr = AttrParser.parse_dense_int_or_fp_elements_attr(parser, tensor_type)  # pyright: ignore[reportArgumentType]
    parser._resume_from(end)  # pyright: ignore[reportPrivateUsage]
    return attr


def _tensor_attr(parser: AttrParser, start: int, body: str, tensor_type: AnyTensor) -> TensorAttr:
    try:
        parsed = parse_tensor(body, tensor_type)
    except LiteralError as error:
        parser.raise_error(str(error), start)
    except ModelError as error:
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


def folder_of(parser: AttrParser) -> str:
    """Folder of the file being read; empty for text without a file."""
    name = parser.lexer.input.name
    return str(Path(name).parent) if Path(name).exists() else ""


def print_tensor(printer: Printer, attr: TypedAttribute) -> None:
    """`dense<...> : type`, bit for bit; weights as their key."""
    if is_dense(attr):
        print_dense(printer, dense_array(attr), cast(AnyTensor, attr.type))
    else:
        printer.print_attribute(attr)


def print_dense(printer: Printer, array: Array, tensor_type: AnyTensor) -> None:
    printer.print_string(f"dense<{format_tensor(array, tensor_type.element_type)}> : ")
    printer.print_attribute(tensor_type)
