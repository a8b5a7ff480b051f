"""What array does a `TensorProto` hold?

Raw little-endian data are viewed, not copied; the rest (typed fields, packed sub-byte elements,
strings) is small and is converted.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from onnx import SparseTensorProto, TensorProto, numpy_helper

from onnxloom.dialects.onnx.attributes import decode
from onnxloom.dialects.onnx.dtypes import DType, dtype_of_element, element_of_proto
from onnxloom.errors import ModelError

Array = np.ndarray[Any, Any]
Buffer = bytes | memoryview

MAX_RANK = 64
"""Of a numpy array."""
MAX_BYTES = 1 << 63
MAX_SPARSE_ELEMENTS = 1 << 28
"""Sparse tensors are made dense; a shape beyond this is refused."""

_TYPED_FIELDS = ("float_data", "int32_data", "int64_data", "double_data", "uint64_data")


def element_bits(dtype: DType) -> int:
    """Bits one element takes in raw data; sub-byte types are packed there."""
    name = dtype.name
    if name in ("int4", "uint4", "float4_e2m1fn"):
        return 4
    if name in ("float6_e2m3fn", "float6_e3m2fn"):
        return 6
    if name in ("int2", "uint2"):
        return 2
    return dtype.itemsize * 8


def checked_dims(tensor: TensorProto, what: str) -> tuple[int, ...]:
    dims = tuple(tensor.dims)
    if any(dim < 0 for dim in dims):
        raise ModelError(f"{what} has shape {list(dims)}; expected no negative dim")
    if len(dims) > MAX_RANK:
        raise ModelError(f"{what} has rank {len(dims)}; expected at most {MAX_RANK}")
    # An empty array has strides all the same.
    if math.prod(dim for dim in dims if dim) > MAX_BYTES // 16:
        raise ModelError(f"{what} has shape {list(dims)}, which no memory can hold")
    return dims


def raw_length(dims: Sequence[int], dtype: DType) -> int:
    """Bytes of raw data a tensor of that shape and dtype takes."""
    return -(-math.prod(dims) * element_bits(dtype) // 8)


def array_of_raw(data: Buffer, dims: tuple[int, ...], dtype: DType, what: str) -> Array:
    """An array over raw data: a view, except for packed sub-byte elements."""
    expected = raw_length(dims, dtype)
    if len(data) != expected:
        raise ModelError(f"{what} has {len(data)} bytes of data; expected {expected} for shape {list(dims)}")
    bits = element_bits(dtype)
    if bits < 8:
        return _unpacked(np.frombuffer(data, dtype=np.uint8), bits, dtype, dims)
    stored = dtype
    if sys.byteorder == "big" and dtype.kind in "iufc":
        stored = dtype.newbyteorder("<")
    array: Array = np.frombuffer(data, dtype=stored)
    return array.astype(dtype, copy=False).reshape(dims)


def _unpacked(packed: Array, bits: int, dtype: DType, dims: tuple[int, ...]) -> Array:
    """One element per byte from elements of 2, 4 or 6 bits, lowest bits first."""
    count = math.prod(dims)
    if bits == 6:
        loose = np.unpackbits(packed, bitorder="little")[: count * bits].reshape(count, bits)
        flat = np.packbits(loose, axis=1, bitorder="little").reshape(-1)
    else:
        shifts = np.arange(0, 8, bits, dtype=np.uint8)
        flat = ((packed[:, None] >> shifts) & ((1 << bits) - 1)).astype(np.uint8).reshape(-1)[:count]
    if dtype.name.startswith("float"):
        return flat.view(dtype).reshape(dims)
    if dtype.name.startswith("int"):
        sign = 1 << (bits - 1)
        return ((flat ^ sign).astype(np.int8) - sign).astype(dtype).reshape(dims)
    return flat.astype(dtype).reshape(dims)


def array_of_tensor(tensor: TensorProto, what: str, raw: Buffer | None = None) -> Array:
    """The array of a tensor whose data are in the proto, or in `raw`.

    `what` names the tensor in errors. Raises ModelError when data and shape do not fit.
    """
    dims = checked_dims(tensor, what)
    if tensor.data_type == TensorProto.STRING:
        return _strings(tensor, dims, what)
    dtype = dtype_of_element(element_of_proto(tensor.data_type))
    if raw is not None:
        return array_of_raw(raw, dims, dtype, what)
    if tensor.HasField("raw_data"):
        return array_of_raw(tensor.raw_data, dims, dtype, what)
    return _typed(tensor, dims, dtype, what)


def _strings(tensor: TensorProto, dims: tuple[int, ...], what: str) -> Array:
    if len(tensor.string_data) != math.prod(dims):
        raise ModelError(f"{what} has {len(tensor.string_data)} strings; expected shape {list(dims)}")
    flat = np.empty(len(tensor.string_data), dtype=object)
    flat[:] = [decode(text) for text in tensor.string_data]
    return flat.reshape(dims)


def _typed(tensor: TensorProto, dims: tuple[int, ...], dtype: DType, what: str) -> Array:
    count = max(len(getattr(tensor, field)) for field in _TYPED_FIELDS)
    expected = math.prod(dims)
    if dtype.kind == "c":
        expected *= 2
    if element_bits(dtype) < 8:
        expected = -(-expected * element_bits(dtype) // 8)
    if count != expected:
        raise ModelError(f"{what} has {count} stored numbers; expected {expected} for shape {list(dims)}")
    try:
        return numpy_helper.to_array(tensor)
    except (ValueError, TypeError, OverflowError) as error:
        raise ModelError(f"{what} holds data that do not fit its type: {error}") from None


def array_of_sparse(
    sparse: SparseTensorProto, what: str, array_of: Callable[[TensorProto, str], Array] = array_of_tensor
) -> Array:
    """A sparse tensor made dense. Raises ModelError on indices outside its shape."""
    dims = tuple(sparse.dims)
    if any(dim < 0 for dim in dims) or len(dims) > MAX_RANK or math.prod(dims) > MAX_SPARSE_ELEMENTS:
        raise ModelError(
            f"{what} has shape {list(dims)}; expected at most {MAX_RANK} dims and "
            f"{MAX_SPARSE_ELEMENTS} elements"
        )
    values = array_of(sparse.values, f"values of {what}").reshape(-1)
    indices = array_of(sparse.indices, f"indices of {what}").astype(np.int64)
    if indices.shape == (values.size, len(dims)):
        in_range = bool(((indices >= 0) & (indices < np.array(dims, dtype=np.int64))).all())
        flat = indices @ np.array([math.prod(dims[i + 1 :]) for i in range(len(dims))], dtype=np.int64)
    elif indices.shape == (values.size,):
        in_range = bool(((indices >= 0) & (indices < math.prod(dims))).all())
        flat = indices
    else:
        raise ModelError(f"{what} has indices of shape {list(indices.shape)} for {values.size} values")
    if not in_range:
        raise ModelError(f"{what} has an index outside its shape {list(dims)}")
    if values.dtype == object:
        dense = np.full(math.prod(dims), "", dtype=object)
    else:
        dense = np.zeros(math.prod(dims), dtype=values.dtype)
    dense[flat] = values
    return dense.reshape(dims)
