"""How is the key of a weight resolved to its data?

A file is looked for beside the text that names it, in the working directory, and in the folders or
files given by `weights_source`.
"""

from __future__ import annotations

import secrets
import weakref
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from importlib import import_module
from itertools import count
from pathlib import Path
from typing import Final, cast

from onnxloom.dialects.onnx.dense import Array
from onnxloom.dialects.onnx.dtypes import dtype_of_element
from onnxloom.dialects.onnx.narrow import AnyTensor
from onnxloom.dialects.onnx.weights import MEMORY, RESOURCE, Weights, WeightsPlace
from onnxloom.errors import ModelError

MODEL_READER: Final = "onnxloom.conversion.onnx_import.read_weight"
"""Module whose `read_weight(path, name)` gives an initializer of a model file; loaded when needed."""

_IN_MEMORY: weakref.WeakValueDictionary[str, Array] = weakref.WeakValueDictionary()
"""Weights by the key they were printed with; an entry goes with its array."""

_PROCESS: Final = secrets.token_hex(4)
_SERIAL: Final = count(1)

_SOURCES: ContextVar[tuple[str, ...]] = ContextVar("weights_sources", default=())


@contextmanager
def weights_source(*paths: str | Path) -> Generator[None, None, None]:
    """Text parsed inside may find its weights in these folders or files too."""
    token = _SOURCES.set((*_SOURCES.get(), *(str(path) for path in paths)))
    try:
        yield
    finally:
        _SOURCES.reset(token)


def search_path(text_file: str) -> tuple[str, ...]:
    """Where weights named in that text file are looked for."""
    path = Path(text_file)
    beside = (str(path.resolve().parent),) if path.is_file() else ()
    return (*beside, *_SOURCES.get())


def place_in_memory(weights: Weights) -> WeightsPlace:
    """A key for data that no file holds; it resolves in this process while the data live."""
    if weights.memory_key is None:
        # Not the address: the next array at it would answer to the name of one that is gone.
        weights.memory_key = f"{_PROCESS}-{next(_SERIAL)}"
    _IN_MEMORY[weights.memory_key] = weights.memory
    return WeightsPlace(MEMORY, weights.memory_key)


def resolve(place: WeightsPlace, tensor_type: AnyTensor) -> Array:
    """The data a key stands for. Raises ModelError, in one line, when there are none."""
    if place.file == MEMORY:
        return _fitting(_from_memory(place), place, tensor_type)
    if place.file == RESOURCE:
        raise ModelError(f"the data of dense_resource<{place.key}> are not in the text that names them")
    path = find_file(place)
    if isinstance(place.key, tuple):
        from onnxloom.dialects.onnx.weights_file import read_range

        return read_range(path, place.key, tensor_type)
    read_weight = cast(Callable[[Path, str], Array], import_module(MODEL_READER).read_weight)
    return _fitting(read_weight(path, place.key), place, tensor_type)


def is_in_memory(place: WeightsPlace) -> bool:
    """Whether the key names data that this process holds."""
    return place.file == MEMORY and str(place.key) in _IN_MEMORY


def _from_memory(place: WeightsPlace) -> Array:
    found = _IN_MEMORY.get(str(place.key))
    if found is None:
        raise ModelError(f"weights {place.key} were in the memory of a process that let go of them")
    return found


def find_file(place: WeightsPlace) -> Path:
    """The file of a key. Raises ModelError when it is not there."""
    for candidate in _candidates(place.file, place.folders):
        if candidate.is_file():
            return candidate
    raise ModelError(f"weights {place.key} are in {place.file}, which is not there")


def _candidates(file: str, folders: Sequence[str]) -> Iterator[Path]:
    path = Path(file)
    if path.is_absolute():
        yield path
    for folder in ("", *folders):
        source = Path(folder)
        if folder and source.is_file():
            if source.name == path.name:
                yield source
            continue
        yield source / path
        yield source / path.name


def _fitting(array: Array, place: WeightsPlace, tensor_type: AnyTensor) -> Array:
    if array.shape != tensor_type.get_shape() or array.dtype != dtype_of_element(tensor_type.element_type):
        found = f"{array.dtype}{list(array.shape)}"
        raise ModelError(f"weights {place.key} of {place.file} are {found}; expected {tensor_type}")
    return array
