"""How does a Python value become the attribute that holds it?

Bytes that are not UTF-8 keep their identity as lone surrogates (`surrogateescape`).
"""

from __future__ import annotations

from collections.abc import Iterable

from xdsl.dialects.builtin import ArrayAttr, FloatAttr, IntegerAttr, StringAttr, f32, i64

from onnxloom.dialects.onnx.element_types import si64


def int_value(value: int) -> IntegerAttr:
    return IntegerAttr(value, si64)


def float_value(value: float) -> FloatAttr:
    return FloatAttr(value, f32)


def string_value(value: str | bytes) -> StringAttr:
    return StringAttr(value if isinstance(value, str) else decode(value))


def ints_value(values: Iterable[int]) -> ArrayAttr[IntegerAttr]:
    return ArrayAttr([IntegerAttr(value, i64) for value in values])


def floats_value(values: Iterable[float]) -> ArrayAttr[FloatAttr]:
    return ArrayAttr([FloatAttr(value, f32) for value in values])


def strings_value(values: Iterable[str | bytes]) -> ArrayAttr[StringAttr]:
    return ArrayAttr([string_value(value) for value in values])


def decode(data: bytes) -> str:
    """Any bytes as text; `encode` gives the same bytes back."""
    return data.decode("utf-8", "surrogateescape")


def encode(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")
