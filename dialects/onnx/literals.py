"""How is a tensor written between `dense<` and `>`, so that reading it gives the same bits?

Finite numbers are decimal (as MLIR prints them where that is exact); everything else, and every
tensor with more elements than `LIST_LIMIT`, is hexadecimal bits.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Final, cast

import numpy as np
from xdsl.dialects.builtin import i1
from xdsl.ir import Attribute

from onnxloom.dialects.onnx.dense import Array, array_to_bytes
from onnxloom.dialects.onnx.dtypes import DType, dtype_of_element
from onnxloom.dialects.onnx.narrow import is_complex, is_integer

LIST_LIMIT: Final = 128
"""Tensors with more elements are written as one hexadecimal string."""

BITS: Final[dict[int, DType]] = {size: np.dtype(f"<u{size}") for size in (1, 2, 4, 8)}
"""Bytes of a number -> dtype of its bits."""


def format_tensor(array: Array, element: Attribute) -> str:
    """The text between `dense<` and `>`."""
    if array.size == 0:
        return ""
    flat = array.reshape(-1) if not _is_broadcast(array) else array[(0,) * array.ndim].reshape(1)
    if flat.size == 1 or _all_same(flat):
        return _formatter(element)(flat[:1])[0]
    if array.size > LIST_LIMIT and element != i1:
        return f'"0x{array_to_bytes(flat, element).hex().upper()}"'
    return _nested(_formatter(element)(flat), array.shape)


def _is_broadcast(array: Array) -> bool:
    return array.ndim > 0 and not any(array.strides)


def _all_same(flat: Array) -> bool:
    raw = np.ascontiguousarray(flat).view(np.uint8).reshape(flat.size, -1)
    return bool((raw == raw[0]).all())


def _nested(elements: Sequence[str], shape: Sequence[int]) -> str:
    if not shape:
        return elements[0]
    if len(shape) == 1:
        return "[" + ", ".join(elements) + "]"
    step = len(elements) // shape[0]
    parts = (_nested(elements[i : i + step], shape[1:]) for i in range(0, len(elements), step))
    return "[" + ", ".join(parts) + "]"


def _formatter(element: Attribute) -> Callable[[Array], list[str]]:
    if element == i1:
        return lambda flat: ["true" if value else "false" for value in flat.tolist()]
    if is_integer(element):
        return lambda flat: [str(int(value)) for value in flat]
    if is_complex(element):
        part = dtype_of_element(cast(Attribute, element.element_type))
        return lambda flat: _format_complex(np.ascontiguousarray(flat).view(part))
    return format_floats


def _format_complex(parts: Array) -> list[str]:
    texts = format_floats(parts)
    return [f"({real}, {imag})" for real, imag in zip(texts[::2], texts[1::2], strict=True)]


def format_floats(flat: Array) -> list[str]:
    """Each number as text that `parse` turns into the same bits."""
    bits = np.ascontiguousarray(flat).view(BITS[flat.dtype.itemsize])
    with np.errstate(invalid="ignore"):
        wide = flat.astype(np.float64)
    return [format_float(float(value), int(raw), flat.dtype) for value, raw in zip(wide, bits, strict=True)]


def format_float(value: float, bits: int, dtype: DType) -> str:
    """`1.000000e+00` where exact, else the shortest exact decimal; bits for inf and NaN."""
    if not math.isfinite(value):
        return f"0x{bits:0{2 * dtype.itemsize}X}"
    short = f"{value:.5e}"
    mantissa, exponent = short.split("e")
    short = f"{mantissa}0e{exponent}"
    if float(np.float64(short).astype(dtype)) == value:
        return short
    text = f"{value:.9g}" if dtype == np.float32 else repr(value)
    if "." in text:
        return text
    mantissa, _, exponent = text.partition("e")
    return f"{mantissa}.0e{exponent}" if exponent else f"{mantissa}.0"
