"""How does a Python value become the attribute that holds it?

Strings are StringAttr; bytes that are not UTF-8 are BytesAttr, and read as text with lone surrogates
(`surrogateescape`), so that `encode` gives the same bytes back.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from math import copysign

from xdsl.dialects.builtin import ArrayAttr, BytesAttr, FloatAttr, IntegerAttr, StringAttr, f32, i64

from onnxloom.dialects.onnx.element_types import si64

# Tree models have arrays of 100,000 elements, mostly the same few.


@lru_cache(maxsize=1 << 14)
def _i64(value: int) -> IntegerAttr:
    return IntegerAttr(int(value), i64)


@lru_cache(maxsize=1 << 14)
def _f32(value: float, sign: float) -> FloatAttr:
    """`sign` tells -0.0 from 0.0, which are equal as keys."""
    return FloatAttr(value, f32)


def int_value(value: int) -> IntegerAttr:
    return IntegerAttr(value, si64)


def float_value(value: float) -> FloatAttr:
    return FloatAttr(value, f32)


def string_value(value: str | bytes) -> StringAttr | BytesAttr:
    data = value if isinstance(value, bytes) else encode(value)
    try:
        return StringAttr(data.decode("utf-8"))
    except UnicodeDecodeError:
        return BytesAttr(data)


def text_of(attr: StringAttr | BytesAttr) -> str:
    """The string an attribute holds; bytes that are not UTF-8 as lone surrogates."""
    return attr.data if isinstance(attr, StringAttr) else decode(attr.data)


def ints_value(values: Iterable[int]) -> ArrayAttr[IntegerAttr]:
    return ArrayAttr([_i64(value) for value in values])


def floats_value(values: Iterable[float]) -> ArrayAttr[FloatAttr]:
    return ArrayAttr([_f32(value, copysign(1.0, value)) for value in values])


def strings_value(values: Iterable[str | bytes]) -> ArrayAttr[StringAttr | BytesAttr]:
    return ArrayAttr([string_value(value) for value in values])


def decode(data: bytes) -> str:
    """Any bytes as text; `encode` gives the same bytes back."""
    return data.decode("utf-8", "surrogateescape")


def encode(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")
