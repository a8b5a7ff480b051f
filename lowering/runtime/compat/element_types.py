"""How do numpy, ONNX and onnxruntime's texts call the same element type?"""

from __future__ import annotations

from typing import Any, Final, cast

import numpy as np

from onnxloom.errors import InputError
from onnxloom.lowering.plan.program import numpy_dtype

_TYPES: Final = (
    (1, "float", "float32"),
    (2, "uint8", "uint8"),
    (3, "int8", "int8"),
    (4, "uint16", "uint16"),
    (5, "int16", "int16"),
    (6, "int32", "int32"),
    (7, "int64", "int64"),
    (8, "string", "object"),
    (9, "bool", "bool"),
    (10, "float16", "float16"),
    (11, "double", "float64"),
    (12, "uint32", "uint32"),
    (13, "uint64", "uint64"),
    (14, "complex64", "complex64"),
    (15, "complex128", "complex128"),
    (16, "bfloat16", "bfloat16"),
    (17, "float8e4m3fn", "float8_e4m3fn"),
    (18, "float8e4m3fnuz", "float8_e4m3fnuz"),
    (19, "float8e5m2", "float8_e5m2"),
    (20, "float8e5m2fnuz", "float8_e5m2fnuz"),
    (21, "uint4", "uint4"),
    (22, "int4", "int4"),
    (23, "float4e2m1", "float4_e2m1fn"),
    (24, "float8e8m0", "float8_e8m0fnu"),
    (25, "uint2", "uint2"),
    (26, "int2", "int2"),
)
"""Number in TensorProto, ONNX's name, numpy's or ml_dtypes' name."""

_BY_NUMBER: Final = {number: name for number, _, name in _TYPES}
_BY_NAME: Final = {name: (number, text) for number, text, name in _TYPES}


def dtype_of(element_type: Any) -> np.dtype[Any]:
    """The dtype of a number of TensorProto, or of anything that numpy takes for a dtype.

    Raises:
        InputError: there is no such type.
    """
    if isinstance(element_type, int) and not isinstance(element_type, bool):
        name = _BY_NUMBER.get(element_type)
        if name is None:
            raise InputError(f"there is no element type {element_type}")
        return numpy_dtype(name)
    try:
        found: np.dtype[Any] = np.dtype(cast(Any, element_type))
    except TypeError:
        raise InputError(f"{element_type!r} is no element type") from None
    return np.dtype(object) if found.kind in "US" else found


def number_of(dtype: np.dtype[Any]) -> int:
    """The number of a dtype in TensorProto. Raises InputError."""
    return _known(dtype)[0]


def tensor_text(dtype: np.dtype[Any]) -> str:
    """`tensor(float)`. Raises InputError."""
    return f"tensor({_known(dtype)[1]})"


def _known(dtype: np.dtype[Any]) -> tuple[int, str]:
    found = _BY_NAME.get("object" if dtype.kind in "US" else dtype.name)
    if found is None:
        raise InputError(f"tensors have no elements of dtype {dtype}")
    return found
