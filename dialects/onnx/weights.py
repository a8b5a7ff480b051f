"""How is a large tensor held in the IR? By reference to its array, never by value.

`WeightsAttr` is copied, hashed, compared and printed without touching the data. In text it is a key:

    #onnx.weights<"model.onnx", "conv1.weight" : tensor<64x3x7x7xf32>>   initializer of a model
    #onnx.weights<"extra.weights", [64, 4096] : tensor<1024xf32>>        offset and length in a weights file

A key is resolved when its data are first needed.
"""

from __future__ import annotations

import hashlib
import threading
from dataclasses import dataclass, field
from typing import ClassVar, Final, cast

import numpy as np
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, Data, TypedAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from onnxloom.dialects.onnx.dense import Array
from onnxloom.dialects.onnx.dtypes import tensor_type_of
from onnxloom.dialects.onnx.narrow import AnyTensor
from onnxloom.dialects.onnx.quoting import quote
from onnxloom.errors import ModelError

MEMORY: Final = "memory"
"""File name in the key of weights that exist in this process only."""

RESOURCE: Final = "dense_resource"
"""File name of weights whose data the text left out; printed as MLIR does."""

Key = str | tuple[int, int]
"""Name of an initializer, or (offset, length) in bytes."""


@dataclass(frozen=True)
class WeightsPlace:
    """Where the data of a weight can be read again."""

    file: str
    key: Key
    folders: tuple[str, ...] | None = field(default=None, compare=False)
    """Folders and files that `file` may be read from; None when this process named the file itself."""

    is_from_file: bool = field(default=False, compare=False)
    """Whether the key stood in a text file, whose folder is the first of `folders`."""

    digest: str | None = field(default=None, compare=False)
    """SHA-256 the data must have, when the text gave one."""


class Weights:
    """The data of one weight: an array in memory, or a place to read it from, or both.

    Equal when it is the same memory or the same place: never compares elements.
    """

    __slots__ = ("_array", "_digest", "_identity", "_lock", "memory_key", "place")

    def __init__(self, array: Array | None, place: WeightsPlace | None = None) -> None:
        self.place = place
        self.memory_key: str | None = None
        """What text calls data that no file holds, once they were printed."""
        self._array = None if array is None else _read_only(array)
        self._digest: str | None = None
        self._lock = threading.Lock()
        self._identity = _identity(self._array, place)

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Weights) and self._identity == other._identity)

    def __hash__(self) -> int:
        return hash(self._identity)

    def __repr__(self) -> str:
        return f"Weights({self.place or 'memory'})"

    @property
    def memory(self) -> Array:
        """The array of weights that no file holds."""
        assert self._array is not None
        return self._array

    def array(self, tensor_type: AnyTensor) -> Array:
        """The read-only data; reads them on first use. Raises ModelError when the key leads nowhere."""
        if self._array is not None:
            return self._array
        from onnxloom.dialects.onnx.weights_source import resolve

        with self._lock:
            if self._array is None:
                assert self.place is not None
                self._array = _read_only(self._checked(resolve(self.place, tensor_type)))
        return self._array

    def _checked(self, array: Array) -> Array:
        assert self.place is not None
        expected = self.place.digest
        if expected is None:
            return array
        self._digest = sha256_of(array)
        if self._digest != expected:
            raise ModelError(
                f"weights {self.place.key} of {self.place.file} are not those the text was made from"
            )
        return array

    def fill(self, array: Array) -> None:
        """Gives the data of a resource that stood at the end of the text; it is memory from then on."""
        self._array = _read_only(array)
        self.place = None

    @property
    def known_digest(self) -> str | None:
        """The digest if somebody asked for it before."""
        return self._digest

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


def _identity(array: Array | None, place: WeightsPlace | None) -> object:
    if place is not None and place.file != RESOURCE:
        return place
    if array is None:
        return object()  # data that the text left out are equal to nothing else
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
        printer.print_string("#onnx.weights")
        self.print_parameters(printer)

    def print_parameters(self, printer: Printer) -> None:
        from onnxloom.dialects.onnx.weights_source import place_in_memory

        place = self.place or place_in_memory(self.reference.data)
        key = quote(place.key) if isinstance(place.key, str) else f"[{place.key[0]}, {place.key[1]}]"
        digest = self.reference.data.known_digest or place.digest
        check = f', "sha256:{digest}"' if digest is not None and place.file != MEMORY else ""
        printer.print_string(f"<{quote(place.file)}, {key}{check} : ")
        printer.print_attribute(self.type)
        printer.print_string(">")

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> list[Attribute]:
        from onnxloom.dialects.onnx.weights_source import search_path

        with parser.in_angle_brackets():
            file = parser.parse_str_literal(" in onnx.weights")
            parser.parse_punctuation(",")
            key = _parse_key(parser)
            digest = _parse_digest(parser)
            parser.parse_punctuation(":")
            tensor_type = parser.parse_type()
        folders, is_from_file = search_path(parser.lexer.input.name)
        place = WeightsPlace(file, key, folders, is_from_file, digest)
        return [WeightsReference(Weights(None, place)), tensor_type]


def _parse_key(parser: AttrParser) -> Key:
    name = parser.parse_optional_str_literal()
    if name is not None:
        return name
    with parser.in_square_brackets():
        offset = parser.parse_integer(allow_boolean=False, allow_negative=False)
        parser.parse_punctuation(",")
        length = parser.parse_integer(allow_boolean=False, allow_negative=False)
    return offset, length


def _parse_digest(parser: AttrParser) -> str | None:
    if parser.parse_optional_punctuation(",") is None:
        return None
    text = parser.parse_str_literal(" in onnx.weights")
    digest = text.removeprefix("sha256:")
    if digest == text or len(digest) != 64:
        parser.raise_error('expected the digest of the weights: "sha256:..."')
    return digest


def weights_attr(
    array: Array, place: WeightsPlace | None = None, tensor_type: AnyTensor | None = None
) -> WeightsAttr:
    """Wraps an array (kept by reference, do not write to it) that can be read again at `place`."""
    tensor_type = tensor_type if tensor_type is not None else tensor_type_of(array)
    return WeightsAttr(WeightsReference(Weights(array, place)), tensor_type)
