"""How is a value handed around without its contents being looked at? As an `OrtValue`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np

from onnxloom.errors import InputError, UnsupportedFeatureError, UsageError
from onnxloom.lowering.plan.program import Array, is_array
from onnxloom.lowering.runtime.compat.device import OrtDevice, check_cpu
from onnxloom.lowering.runtime.compat.element_types import dtype_of, number_of, tensor_text


class OrtValue:
    """A tensor (a numpy array), a sequence (a list) or a map (a dict); None for an empty optional."""

    def __init__(self, ortvalue: Any, numpy_obj: Any = None, session: Any = None) -> None:
        """`numpy_obj` and `session`, which onnxruntime keeps alive with a value, have no effect."""
        self._value = ortvalue._value if isinstance(ortvalue, OrtValue) else ortvalue

    @classmethod
    def ortvalue_from_numpy(
        cls, numpy_obj: Any, /, device_type: str | OrtDevice = "cpu", device_id: int = 0, vendor_id: int = -1
    ) -> OrtValue:
        """A tensor that shares the array's memory if that is contiguous.

        Raises:
            UsageError: it is no array.
            UnsupportedFeatureError: the device is not the CPU.
        """
        check_cpu(device_type)
        if not is_array(numpy_obj):
            raise UsageError(f"an OrtValue is made from a numpy array, not a {type(numpy_obj).__name__}")
        tensor_text(numpy_obj.dtype)
        return cls(numpy_obj if numpy_obj.flags.c_contiguous else np.array(numpy_obj, order="C"))

    @classmethod
    def ortvalue_from_numpy_with_onnx_type(cls, data: Any, /, onnx_element_type: int) -> OrtValue:
        """A tensor of an ONNX element type whose bits are those of `data` (bfloat16 in uint16, say).

        Raises:
            UsageError: `data` is no array, or elements of the two types differ in size.
        """
        dtype = dtype_of(int(onnx_element_type))
        if not is_array(data):
            raise UsageError(f"an OrtValue is made from a numpy array, not a {type(data).__name__}")
        if dtype.itemsize != data.dtype.itemsize:
            raise UsageError(f"elements of {data.dtype} do not have the size of those of {dtype}")
        return cls.ortvalue_from_numpy(np.ascontiguousarray(data).view(dtype).reshape(data.shape))

    @classmethod
    def ortvalue_from_shape_and_type(
        cls,
        shape: Sequence[int],
        element_type: Any = None,
        device_type: str | OrtDevice = "cpu",
        device_id: int = 0,
        vendor_id: int = -1,
        memory_info: Any = None,
    ) -> OrtValue:
        """A tensor of zeros or empty texts; the element type is a numpy dtype or a number of TensorProto.

        Raises:
            UsageError: there is no tensor of that shape.
        """
        check_cpu(device_type)
        dtype = dtype_of(np.float32 if element_type is None else element_type)
        try:
            return cls(np.full(tuple(shape), "", dtype) if dtype.hasobject else np.zeros(tuple(shape), dtype))
        except (TypeError, ValueError) as error:
            raise UsageError(f"no tensor has the shape {shape!r}: {error}") from None

    @classmethod
    def from_dlpack(cls, data: Any, /) -> OrtValue:
        """A tensor that shares memory with a tensor of another library. Raises UsageError."""
        try:
            return cls(np.from_dlpack(data))
        except (AttributeError, TypeError, BufferError, RuntimeError) as error:
            raise UsageError(f"a {type(data).__name__} cannot be taken through DLPack: {error}") from None

    @staticmethod
    def ort_value_from_sparse_tensor(sparse_tensor: Any) -> OrtValue:
        """Raises UnsupportedFeatureError."""
        raise UnsupportedFeatureError("OrtValue: sparse tensors are not supported")

    def as_sparse_tensor(self) -> Any:
        """Raises UnsupportedFeatureError."""
        raise UnsupportedFeatureError("OrtValue: sparse tensors are not supported")

    @property
    def value(self) -> Any:
        """The array, list or dict itself."""
        return self._value

    @property
    def _ortvalue(self) -> OrtValue:
        return self

    def _get_c_value(self) -> OrtValue:
        return self

    def numpy(self) -> Any:
        """The array, whose memory is that of this value; a sequence or map as list or dict."""
        return self._value

    def shape(self) -> list[int]:
        return list(self._tensor("shape").shape)

    def data_type(self) -> str:
        """`tensor(float)`, `seq(tensor(int64))`, `map(int64,tensor(float))`."""
        return _text_of(self._value)

    def element_type(self) -> int:
        """The number in TensorProto of the elements of a tensor, or of the tensors of a sequence."""
        value = self._value
        if isinstance(value, list):
            value = next(iter(cast("list[Any]", value)), None)
        if not is_array(value):
            raise UsageError(f"a {self.data_type()} has no elements of one type")
        return number_of(value.dtype)

    def device_name(self) -> str:
        return "cpu"

    def data_ptr(self) -> int:
        """The address of the first element."""
        return self._tensor("address").__array_interface__["data"][0]

    def tensor_size_in_bytes(self) -> int:
        return self._tensor("size").nbytes

    def has_value(self) -> bool:
        return self._value is not None

    def is_tensor(self) -> bool:
        return is_array(self._value)

    def is_tensor_sequence(self) -> bool:
        value = self._value
        return isinstance(value, list) and all(map(is_array, cast("list[Any]", value)))

    def is_sparse_tensor(self) -> bool:
        return False

    def update_inplace(self, data: Any) -> None:
        """Copies an array, or the tensor of another value, into the memory of this one.

        Raises:
            TypeError: it is neither.
            UsageError: it has another dtype or number of elements; nothing can be written to the memory.
        """
        array = data._value if isinstance(data, OrtValue) else data
        if not is_array(array):
            raise TypeError(f"data is a {type(data).__name__}; expected numpy.ndarray or OrtValue")
        mine = self._tensor("memory")
        if array.dtype != mine.dtype or array.size != mine.size:
            raise UsageError(
                f"a tensor of {array.size} elements of {array.dtype} does not fit into one of "
                f"{mine.size} elements of {mine.dtype}"
            )
        if not mine.flags.writeable:
            raise UsageError("the memory of the tensor is read-only")
        np.copyto(mine, array.reshape(mine.shape))

    def take(self, result: Any) -> None:
        """A result of a run: a tensor is copied into the memory of this one, which has its type and shape."""
        if is_array(result):
            np.copyto(self._value, result)
        else:
            self._value = result

    def to_dlpack(self) -> Any:
        """The tensor as a DLPack capsule that shares its memory."""
        return self._tensor("memory").__dlpack__()

    def __dlpack__(self, **options: Any) -> Any:
        return self._tensor("memory").__dlpack__(**options)

    def __dlpack_device__(self) -> Any:
        return self._tensor("memory").__dlpack_device__()

    def _tensor(self, what: str) -> Array:
        if not is_array(self._value):
            raise UsageError(f"a {self.data_type()} has no {what}; only a tensor has")
        return self._value


def unwrapped(value: Any) -> Any:
    """What an OrtValue holds; anything else as it is."""
    return value.value if isinstance(value, OrtValue) else value


def _text_of(value: Any) -> str:
    if isinstance(value, list):
        elements = cast("list[Any]", value)
        return f"seq({_text_of(elements[0])})" if elements else "seq()"
    if isinstance(value, dict):
        key, item = next(iter(cast("dict[Any, Any]", value).items()), ("", 0.0))
        return f"map({'string' if isinstance(key, str) else 'int64'},{_text_of(np.asarray(item))})"
    if is_array(value):
        try:
            return tensor_text(value.dtype)
        except InputError:
            return f"tensor({value.dtype})"
    return "none" if value is None else type(value).__name__
