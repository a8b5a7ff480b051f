"""What is a weights file? A mark, then the raw elements of arrays, each at a multiple of 64 bytes.

The mark keeps a key in a text from reading any other kind of file.
"""

from __future__ import annotations

import math
from pathlib import Path
from types import TracebackType
from typing import Final

import numpy as np
from xdsl.dialects.builtin import IntegerType

from onnxloom.dialects.onnx.dense import Array
from onnxloom.dialects.onnx.dtypes import dtype_of_element
from onnxloom.dialects.onnx.narrow import AnyTensor
from onnxloom.dialects.onnx.weights import WeightsPlace, sha256_of
from onnxloom.dialects.output_file import OutputFile
from onnxloom.errors import ModelError

MAGIC: Final = b"onnxloom weights 1\n".ljust(64, b"\0")
ALIGNMENT: Final = 64


class WeightsWriter:
    """Writes arrays to a weights file, equal ones once; a context manager.

    The file takes its name when all is written: an older one of that name may be in use until then.
    Only a weights file gives way to it: any other might be a model, or hold the data of one.
    """

    def __init__(self, path: str | Path) -> None:
        """Raises ModelError when a file of another kind has that name."""
        self.path = Path(path)
        if self.path.is_file() and not _is_weights_file(self.path):
            raise ModelError(f"{path} is there and is no weights file: it is not replaced by one")
        self._file = OutputFile(self.path)
        self._file.write(MAGIC)
        self._end = len(MAGIC)
        self._known: dict[tuple[str, int], WeightsPlace] = {}

    def add(self, array: Array) -> WeightsPlace:
        """Appends an array and says where it is."""
        key = (sha256_of(array), array.nbytes)
        if key not in self._known:
            self._known[key] = self._append(array)
        return self._known[key]

    def _append(self, array: Array) -> WeightsPlace:
        start = -(-self._end // ALIGNMENT) * ALIGNMENT
        self._file.write(b"\0" * (start - self._end))
        flat = np.ascontiguousarray(array).reshape(-1)
        step = max(1, (8 << 20) // max(1, flat.itemsize))
        for first in range(0, flat.size, step):
            self._file.write(flat[first : first + step].view(np.uint8).data)
        self._end = start + array.nbytes
        return WeightsPlace(str(self.path), (start, array.nbytes))

    def close(self) -> None:
        self._file.close()

    def discard(self) -> None:
        self._file.discard()

    def __enter__(self) -> WeightsWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            self.close()
        else:
            self.discard()


def _is_weights_file(path: Path) -> bool:
    """Whether the file holds weights of ours, or nothing yet."""
    with path.open("rb") as file:
        start = file.read(len(MAGIC))
    return start in (b"", MAGIC)


def read_range(path: Path, key: tuple[int, int], tensor_type: AnyTensor) -> Array:
    """A memory map of one array of a weights file."""
    offset, length = key
    dtype = dtype_of_element(tensor_type.element_type)
    shape = tensor_type.get_shape()
    with path.open("rb") as file:
        if file.read(len(MAGIC)) != MAGIC:
            raise ModelError(f"{path} is not a weights file of onnxloom")
    if dtype.hasobject or any(dim < 0 for dim in shape) or math.prod(shape) * dtype.itemsize != length:
        raise ModelError(f"{length} bytes of {path} do not fit {tensor_type}")
    if offset < len(MAGIC) or offset + length > path.stat().st_size:
        raise ModelError(f"{path} has no bytes {offset} to {offset + length}")
    if length == 0:
        return np.empty(shape, dtype)
    mapped: Array = np.memmap(path, np.uint8, "r", offset, (length,))
    if isinstance(tensor_type.element_type, IntegerType) and dtype == np.bool_ and mapped.max() > 1:
        raise ModelError(f"bytes {offset} to {offset + length} of {path} are not all true or false")
    return mapped.view(dtype).reshape(shape)
