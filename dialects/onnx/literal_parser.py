"""What array does the text between `dense<` and `>` stand for?

Numbers are decimal or hexadecimal bits, in nested brackets, one for all (a splat), or one hexadecimal
string of raw little-endian elements. A splat is a broadcast view: it takes no memory.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import Any, Final, cast

import numpy as np
from xdsl.dialects.builtin import ArrayAttr, IntegerType, Signedness, i1, i64
from xdsl.ir import Attribute

from onnxloom.dialects.onnx.dense import Array, DenseStringsAttr, bytes_to_array
from onnxloom.dialects.onnx.dtypes import DType, dtype_of_element
from onnxloom.dialects.onnx.literals import BITS
from onnxloom.dialects.onnx.narrow import AnyTensor, is_complex, is_integer
from onnxloom.dialects.onnx.quoting import LiteralError, unquote
from onnxloom.dialects.onnx.types import StringType

MAX_FILLED: Final = 1 << 26
"""A short text does not fill more elements than this (splats of numbers take no memory)."""
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[\[\](),]|[^\s\[\](),"]+')
_COMMENT = re.compile(r"//[^\n]*")


def parse_tensor(body: str, tensor_type: AnyTensor) -> Array | DenseStringsAttr:
    """The array the text stands for; a splat is a broadcast view. Raises LiteralError."""
    element = tensor_type.element_type
    shape = tensor_type.get_shape()
    if any(dim < 0 for dim in shape):
        raise LiteralError(f"a constant needs a static shape, not {tensor_type}")
    if isinstance(element, StringType):
        return _parse_strings(body, tensor_type)
    text = body.strip()
    if text.startswith('"'):
        return _parse_hex(text, tensor_type)
    if "//" in text:
        text = _COMMENT.sub("", text)
    tokens, found_shape = _flatten(text)
    size = math.prod(shape)
    if not tokens:
        if size:
            raise LiteralError(f"no elements for {tensor_type}")
        return np.empty(shape, dtype_of_element(element))
    if found_shape and tuple(found_shape) != tuple(shape):
        raise LiteralError(f"elements of shape {list(found_shape)} do not fit {tensor_type}")
    flat = _parse_elements(tokens, element)
    if not found_shape:
        return _splat(flat.reshape(()), tensor_type)
    return flat.reshape(shape)


def parse_sparse_tensor(body: str, tensor_type: AnyTensor) -> Array:
    """The dense array of `indices, values`. Raises LiteralError."""
    shape = tensor_type.get_shape()
    parts = _split_at_top(body)
    if len(parts) != 2 or any(dim < 0 for dim in shape):
        raise LiteralError(f"expected indices, values and a static shape, not {tensor_type}")
    tokens, found = _flatten(parts[0])
    if math.prod(shape) > MAX_FILLED or len(tokens) % max(1, len(shape)):
        raise LiteralError(f"indices do not fit {tensor_type}")
    indices = _parse_ints(tokens, i64).reshape(-1, max(1, len(shape)))
    values = _parse_elements(_flatten(parts[1])[0], tensor_type.element_type)
    if len(found) == 1 and len(shape) != 1:
        raise LiteralError(f"indices of shape {found} do not fit {tensor_type}")
    if values.size not in (1, len(indices)) or ((indices < 0) | (indices >= np.array(shape))).any():
        raise LiteralError(f"indices and values do not fit {tensor_type}")
    dense: Array = np.zeros(shape, values.dtype)
    dense[tuple(indices.T)] = values if values.size != 1 else values[0]
    return dense


def _split_at_top(body: str) -> list[str]:
    depth = 0
    for position, character in enumerate(body):
        depth += (character == "[") - (character == "]")
        if character == "," and depth == 0:
            return [body[:position], body[position + 1 :]]
    return [body]


def _splat(scalar: Array, tensor_type: AnyTensor) -> Array:
    try:
        return np.broadcast_to(scalar, tensor_type.get_shape())
    except ValueError:
        raise LiteralError(f"{tensor_type} has too many elements") from None


def _parse_hex(text: str, tensor_type: AnyTensor) -> Array:
    if not re.fullmatch(r'"0[xX](?:[0-9a-fA-F]{2})*"', text):
        raise LiteralError('expected a hexadecimal string "0x..." of whole bytes')
    data = bytes.fromhex(text[3:-1])
    size = math.prod(tensor_type.get_shape())
    if tensor_type.element_type == i1 and len(data) != size:
        data = _unpack_bits(data, size)
    width = dtype_of_element(tensor_type.element_type).itemsize
    if len(data) not in (width, width * size):
        raise LiteralError(f"{len(data)} bytes do not fit {tensor_type}, which takes {width * size}")
    return bytes_to_array(data, tensor_type)


def _unpack_bits(data: bytes, size: int) -> bytes:
    """Booleans packed eight to a byte, lowest bit first; one byte 00 or FF is a splat."""
    if len(data) == 1 and data[0] in (0x00, 0xFF):
        return data
    bits = np.unpackbits(np.frombuffer(data, np.uint8), bitorder="little")[:size]
    return bits.tobytes()


def _flatten(text: str) -> tuple[list[str], list[int]]:
    """Element tokens in order and the shape the brackets give; an element in parentheses is complex."""
    tokens = [token for token in _TOKEN.findall(text) if token != ","]
    stream = iter(tokens)
    elements: list[str] = []
    first = next(stream, None)
    if first is None:
        return [], []
    shape = _flatten_one(first, stream, elements)
    if next(stream, None) is not None:
        raise LiteralError("text after the last element")
    return elements, shape


def _flatten_one(token: str, stream: Iterator[str], elements: list[str]) -> list[int]:
    if token == "(":
        elements.append(_complex_token(stream))
        return []
    if token != "[":
        elements.append(token)
        return []
    rows: list[list[int]] = []
    for following in stream:
        if following == "]":
            return [len(rows), *(rows[0] if rows else [])]
        rows.append(_flatten_one(following, stream, elements))
        if rows[-1] != rows[0]:
            raise LiteralError("rows of different shapes")
    raise LiteralError("missing ]")


def _complex_token(stream: Iterator[str]) -> str:
    real, imag, end = next(stream, ""), next(stream, ""), next(stream, "")
    if end != ")":
        raise LiteralError("expected (real, imaginary)")
    return f"{real},{imag}"


def _parse_elements(tokens: list[str], element: Attribute) -> Array:
    if is_integer(element):
        return _parse_ints(tokens, element)
    if is_complex(element):
        part = dtype_of_element(cast(Attribute, element.element_type))
        parts = [piece for token in tokens for piece in token.split(",")]
        if len(parts) != 2 * len(tokens):
            raise LiteralError("expected (real, imaginary)")
        return _parse_floats(parts, part).view(dtype_of_element(element))
    return _parse_floats(tokens, dtype_of_element(element))


_INTEGER = re.compile(r"-?(?:0x[0-9a-fA-F]+|[0-9]+)")


def _parse_ints(tokens: list[str], element: IntegerType[Any, Any]) -> Array:
    if element == i1:
        words = {"true": True, "false": False, "1": True, "0": False, "-1": True}
        unknown = next((token for token in tokens if token not in words), None)
        if unknown is not None:
            raise LiteralError(f"{unknown} is not true or false")
        return np.array([words[token] for token in tokens], dtype=np.bool_)
    width = int(element.width.data)
    is_unsigned = element.signedness.data == Signedness.UNSIGNED
    low = 0 if is_unsigned else -(1 << (width - 1))
    values: list[int] = []
    for token in tokens:
        if _INTEGER.fullmatch(token) is None:
            raise LiteralError(f"{token} is not an integer")
        value = int(token, 0) if "x" in token else int(token)
        if not low <= value < 1 << width:
            raise LiteralError(f"{token} does not fit {element}")
        values.append(value if is_unsigned or value < 1 << (width - 1) else value - (1 << width))
    wide = np.array(values, dtype=np.uint64 if is_unsigned else np.int64)
    return wide.astype(dtype_of_element(element))


_NUMBER = re.compile(r"-?(?:[0-9]+(?:\.[0-9]*)?(?:[eE][+-]?[0-9]+)?)")


def _parse_floats(tokens: list[str], dtype: DType) -> Array:
    values = np.zeros(len(tokens), dtype=np.float64)
    raw: dict[int, int] = {}
    for index, token in enumerate(tokens):
        if token[:2] in ("0x", "0X"):
            raw[index] = _bits_of(token, dtype)
        elif _NUMBER.fullmatch(token):
            values[index] = float(token)
        else:
            raise LiteralError(f"{token} is not a number")
    with np.errstate(over="ignore", invalid="ignore"):
        flat: Array = values.astype(dtype)
    if raw:
        bits = flat.view(BITS[dtype.itemsize])
        for index, pattern in raw.items():
            bits[index] = pattern
    return flat


def _bits_of(token: str, dtype: DType) -> int:
    try:
        pattern = int(token, 16)
    except ValueError:
        raise LiteralError(f"{token} is not a number") from None
    if pattern >> (8 * dtype.itemsize):
        raise LiteralError(f"{token} has more bits than the element type")
    return pattern


def _parse_strings(body: str, tensor_type: AnyTensor) -> DenseStringsAttr:
    tokens, found_shape = _flatten(body)
    shape = tensor_type.get_shape()
    size = math.prod(shape)
    elements = [unquote(token) for token in tokens]
    if tokens and not found_shape:
        if size > MAX_FILLED:
            raise LiteralError(f"{tensor_type} has too many elements")
        elements = elements * size
    elif tokens and tuple(found_shape) != tuple(shape):
        raise LiteralError(f"elements of shape {list(found_shape)} do not fit {tensor_type}")
    if len(elements) != size:
        raise LiteralError(f"{len(elements)} elements do not fit {tensor_type}")
    return DenseStringsAttr(ArrayAttr(elements), tensor_type)
