"""How is a large tensor held in the IR? By reference to its array, never by value.

`WeightsAttr` is copied, hashed, compared and printed without touching the data. In text it is a key:

    #onnx.weights<"model.onnx", "conv1.weight" : tensor<64x3x7x7xf32>>   initializer of a model
    #onnx.weights<"extra.weights", [64, 4096] : tensor<1024xf32>>        offset and length in a weights file

A key is resolved when its data are first needed.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar, cast

import numpy as np
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, Data, TypedAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from onnxloom.dialects.onnx.dense import AnyTensor, Array
from onnxloom.dialects.onnx.dtypes import tensor_type_of

Key = str | tuple[int, int]
"""Name of an initializer, or (offset, length) in bytes."""


@dataclass(frozen=True)
class WeightsPlace:
    """Where the data of a weight can be read again."""

    file: str
    key: Key
    base: str = field(default="", compare=False)
    """Folder that relative file names start from, besides the working directory."""


class Weights:
    """The data of one weight: an array in memory, or a place to read it from, or both.

    Equal when it is the same memory or the same place: never compares elements.
    """

    __slots__ = ("_array", "_digest", "_identity", "_lock", "place")

    def __init__(self, array: Array | None, place: WeightsPlace | None = None) -> None:
        self.place = place
        self._array = None if array is None else _read_only(array)
        self._digest: str | None = None
        self._lock = threading.Lock()
        self._identity: object = place if place is not None else _memory_identity(cast(Array, array))

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Weights) and self._identity == other._identity)

    def __hash__(self) -> int:
        return hash(self._identity)

    def __repr__(self) -> str:
        return f"Weights({self.place or 'memory'})"

    @property
    def is_loaded(self) -> bool:
        return self._array is not None

    def array(self, tensor_type: AnyTensor) -> Array:
        """The read-only data; reads them on first use. Raises ModelError when the key leads nowhere."""
        if self._array is not None:
            return self._array
        from onnxloom.dialects.onnx.weights_source import resolve

        with self._lock:
            if self._array is None:
                assert self.place is not None
                self._array = _read_only(resolve(self.place, tensor_type))
        return self._array

    def digest(self, tensor_type: AnyTensor) -> str:
        """SHA-256 of the raw elements (about 1 s per GB, computed once)."""
        if self._digest is None:
            self._digest = sha256_of(self.array(tensor_type))
        return self._digest


def sha256_of(array: Array) -> str:
    """SHA-256 of the elements in row-major order, streamed: a memory map stays on disk."""
    digest = hashlib.sha256()
    flat = array.reshape(-1) if array.flags.c_contiguous else np.ascontiguousarray(array).reshape(-1)
    step = max(1, (8 << 20) // max(1, flat.itemsize))
    for start in range(0, flat.size, step):
        digest.update(flat[start : start + step].view(np.uint8).data)
    return digest.hexdigest()


def _read_only(array: Array) -> Array:
    view = array.view()
    view.flags.writeable = False
    return view


def _memory_identity(array: Array) -> object:
    address = array.__array_interface__["data"][0]
    return (address, array.shape, array.strides, array.dtype.str, array.dtype.name)


class WeightsReference(Data[Weights]):
    """Makes `Weights` a parameter of an attribute."""

    name = "onnx.weights_reference"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> Weights:
        parser.raise_error("onnx.weights_reference is not written on its own")

    def print_parameter(self, printer: Printer) -> None:
        printer.print_string(repr(self.data))


@irdl_attr_definition
class WeightsAttr(TypedAttribute):
    """A tensor constant held by reference."""

    name = "onnx.weights"
    reference: WeightsReference
    type: Attribute

    INLINE_LIMIT: ClassVar[int] = 128
    """Constants with more elements than this become weights."""

    def array(self) -> Array:
        """The read-only data. Raises ModelError when they cannot be read."""
        return self.reference.data.array(self.tensor_type)

    def digest(self) -> str:
        return self.reference.data.digest(self.tensor_type)

    @property
    def place(self) -> WeightsPlace | None:
        return self.reference.data.place

    @property
    def tensor_type(self) -> AnyTensor:
        return cast(AnyTensor, self.type)

    def verify(self) -> None:
        if not isinstance(self.type, TensorType):
            raise VerifyException(f"onnx.weights has type {self.type}; expected a ranked tensor")

    def print_without_type(self, printer: Printer) -> None:
        printer.print_string("#onnx.weights<")
        self._print_key(printer)
        printer.print_string(">")

    def print_parameters(self, printer: Printer) -> None:
        printer.print_string("<")
        self._print_key(printer)
        printer.print_string(" : ")
        printer.print_attribute(self.type)
        printer.print_string(">")

    def _print_key(self, printer: Printer) -> None:
        from onnxloom.dialects.onnx.weights_source import place_in_memory

        place = self.place or place_in_memory(self.reference.data)
        printer.print_string_literal(place.file)
        printer.print_string(", ")
        if isinstance(place.key, str):
            printer.print_string_literal(place.key)
        else:
            printer.print_string(f"[{place.key[0]}, {place.key[1]}]")
        digest = self.reference.data._digest  # pyright: ignore[reportPrivateUsage]
        if digest is not None and place.file != MEMORY:
            printer.print_string(", ")
            printer.print_string_literal(f"sha256:{digest}")


MEMORY = "memory"
"""File name in the key of weights that exist in this process only."""


def weights_attr(
    array: Array, place: WeightsPlace | None = None, tensor_type: AnyTensor | None = None
) -> WeightsAttr:
    """Wraps an array (kept by reference, do not write to it) that can be read again at `place`."""
    tensor_type = tensor_type if tensor_type is not None else tensor_type_of(array)
    return WeightsAttr(WeightsReference(Weights(array, place)), tensor_type)
