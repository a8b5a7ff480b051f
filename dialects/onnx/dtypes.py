"""How do the standard's TensorProto data types, xDSL element types and numpy dtypes correspond?

Sub-byte types and 8-bit floats are `ml_dtypes`; numpy keeps one element per byte, as xDSL's dense
attributes do. Strings are object arrays of `str`.
"""

from __future__ import annotations

from typing import Any, Final

import ml_dtypes
import numpy as np
from onnx import TensorProto
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute

from onnxloom.dialects.onnx.element_types import ELEMENT_TYPES
from onnxloom.errors import ModelError

DType = np.dtype[Any]

_NUMPY: Final[dict[str, Any]] = {
    "float": np.float32,
    "double": np.float64,
    "float16": np.float16,
    "bfloat16": ml_dtypes.bfloat16,
    "bool": np.bool_,
    "int2": ml_dtypes.int2,
    "int4": ml_dtypes.int4,
    "int8": np.int8,
    "int16": np.int16,
    "int32": np.int32,
    "int64": np.int64,
    "uint2": ml_dtypes.uint2,
    "uint4": ml_dtypes.uint4,
    "uint8": np.uint8,
    "uint16": np.uint16,
    "uint32": np.uint32,
    "uint64": np.uint64,
    "string": np.object_,
    "complex64": np.complex64,
    "complex128": np.complex128,
    "float8e4m3fn": ml_dtypes.float8_e4m3fn,
    "float8e4m3fnuz": ml_dtypes.float8_e4m3fnuz,
    "float8e5m2": ml_dtypes.float8_e5m2,
    "float8e5m2fnuz": ml_dtypes.float8_e5m2fnuz,
    "float8e8m0": ml_dtypes.float8_e8m0fnu,
    "float6e2m3": ml_dtypes.float6_e2m3fn,
    "float6e3m2": ml_dtypes.float6_e3m2fn,
    "float4e2m1": ml_dtypes.float4_e2m1fn,
}

ELEMENT_TO_DTYPE: Final[dict[Attribute, DType]] = {
    ELEMENT_TYPES[name]: np.dtype(scalar) for name, scalar in _NUMPY.items()
}
DTYPE_TO_ELEMENT: Final[dict[DType, Attribute]] = {
    dtype: element for element, dtype in ELEMENT_TO_DTYPE.items()
}

_PROTO_CODES: Final[dict[str, int]] = {
    name.lower(): code for name, code in TensorProto.DataType.items() if name != "UNDEFINED"
}
"""Data type name in the standard's enum (lower case) -> code; an older `onnx` lacks the newest."""

PROTO_TO_ELEMENT: Final[dict[int, Attribute]] = {
    _PROTO_CODES[name]: element for name, element in ELEMENT_TYPES.items() if name in _PROTO_CODES
}
ELEMENT_TO_PROTO: Final[dict[Attribute, int]] = {element: code for code, element in PROTO_TO_ELEMENT.items()}


def element_of_proto(code: int) -> Attribute:
    """xDSL element type of a `TensorProto.DataType` code."""
    element = PROTO_TO_ELEMENT.get(code)
    if element is None:
        raise ModelError(f"tensor data type {code} is not one of the ONNX standard's")
    return element


def proto_of_element(element: Attribute) -> int:
    """`TensorProto.DataType` code of an xDSL element type."""
    code = ELEMENT_TO_PROTO.get(element)
    if code is None:
        raise ModelError(f"element type {element} has no ONNX data type")
    return code


def dtype_of_element(element: Attribute) -> DType:
    """numpy dtype of an xDSL element type."""
    dtype = ELEMENT_TO_DTYPE.get(element)
    if dtype is None:
        raise ModelError(f"element type {element} has no numpy dtype")
    return dtype


def element_of_dtype(dtype: DType) -> Attribute:
    """xDSL element type of a numpy dtype, of any byte order; numpy's own string dtypes count as strings."""
    if dtype.kind in "USTO":
        return ELEMENT_TYPES["string"]
    element = DTYPE_TO_ELEMENT.get(dtype.newbyteorder("=") if dtype.kind in "iufc" else dtype)
    if element is None:
        raise ModelError(f"numpy dtype {dtype} has no ONNX data type")
    return element


def tensor_type_of(array: np.ndarray[Any, Any]) -> TensorType[Attribute]:
    """`tensor<2x3xf32>` for a float32 array of that shape."""
    return TensorType(element_of_dtype(array.dtype), array.shape)
