"""Is a constant or an attribute of a model the one that a pattern says?"""

from __future__ import annotations

from typing import Any, Final, cast

import numpy as np
from xdsl.dialects.builtin import ArrayAttr, BytesAttr, FloatAttr, IntegerAttr, StringAttr
from xdsl.ir import Attribute

from onnxloom.dialects.onnx.attributes import text_of
from onnxloom.dialects.onnx.constant import constant_value
from onnxloom.dialects.onnx.dtypes import ELEMENT_TO_PROTO

Array = np.ndarray[Any, Any]

_ROUNDING: Final = {"float64": 1e-12, "float32": 1e-6, "float16": 1e-3, "bfloat16": 1e-2}
"""What one or two roundings change, by element type; narrower floats are compared after rounding."""


def is_close(array: Array, expected: Array, rtol: float | None) -> bool:
    """Whether the elements agree, shapes aside; both have as many elements.

    NaN agrees with NaN and an infinity with itself. Integers and bools agree exactly.
    """
    array, expected = array.reshape(-1), expected.reshape(-1)
    if array.dtype == np.object_ or array.dtype.kind == "c":
        return bool((array == expected).all())
    if not _is_float(array):
        return bool((array.astype(np.float64) == expected.astype(np.float64)).all())
    with np.errstate(over="ignore"):
        rounded = expected.astype(array.dtype)
    if rtol == 0:
        return rounded.tobytes() == array.tobytes()
    tolerance = _ROUNDING.get(array.dtype.name, 0.0) if rtol is None else rtol
    found, wanted = array.astype(np.float64), expected.astype(np.float64)
    with np.errstate(invalid="ignore"):
        close = (np.abs(found - wanted) <= tolerance * np.abs(wanted)) & np.isfinite(wanted)
    same = (found == rounded.astype(np.float64)) | (np.isnan(found) & np.isnan(wanted))
    return bool((close | same).all())


def _is_float(array: Array) -> bool:
    # The narrow types of ml_dtypes have kind "V", or "f" for some.
    return array.dtype.kind == "f" or "float" in array.dtype.name


def attribute_value(attribute: Attribute | None) -> Any:
    """An attribute as a Python value: a number, a string, a tuple of them, an array; None when absent."""
    if isinstance(attribute, IntegerAttr):
        return attribute.value.data
    if isinstance(attribute, FloatAttr):
        return attribute.value.data
    if isinstance(attribute, StringAttr | BytesAttr):
        return text_of(attribute)
    if isinstance(attribute, ArrayAttr):
        return tuple(attribute_value(element) for element in attribute.data)  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType, reportUnknownMemberType]
    if attribute in ELEMENT_TO_PROTO:
        return ELEMENT_TO_PROTO[attribute]  # `to = f32`, as other tools write it
    array = constant_value(attribute)
    return attribute if array is None else array


def is_same_attribute(found: Any, expected: Any, rtol: float | None) -> bool:
    """Whether two attribute values agree; floats are f32 and compared as such."""
    if isinstance(found, tuple) and isinstance(expected, tuple):
        left, right = cast(tuple[Any, ...], found), cast(tuple[Any, ...], expected)
        return len(left) == len(right) and all(
            is_same_attribute(a, b, rtol) for a, b in zip(left, right, strict=True)
        )
    if isinstance(found, float) and isinstance(expected, int | float):
        return is_close(np.asarray(found, np.float32), np.asarray(expected, np.float64), rtol)
    if isinstance(found, np.ndarray):
        return bool(np.array_equal(cast(Array, found), expected))
    return bool(found == expected)
