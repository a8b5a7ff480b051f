"""How is the key of a weight resolved to its data?

Text may name any file, so the same holds as for the external data of a model: a file is read when it
lies, symbolic links followed, in the folder of the text file that names it, or in a folder given by
`weights_source`. For text that is no file (stdin, a string) the working directory stands in. A path that
none of these contains is refused; a file of its name in one of them is taken for it.
"""

from __future__ import annotations

import os
import secrets
import stat
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

_MAX_FILE: Final = 4096
_ALLOW: Final = "--weights-dir (external_data_dirs= of compile) allows more folders"

_SOURCES: ContextVar[tuple[str, ...]] = ContextVar("weights_sources", default=())


@contextmanager
def weights_source(*paths: str | Path) -> Generator[None, None, None]:
    """Text parsed inside may read its weights from these folders or files too."""
    token = _SOURCES.set((*_SOURCES.get(), *(str(path) for path in paths)))
    try:
        yield
    finally:
        _SOURCES.reset(token)


def search_path(text_file: str) -> tuple[tuple[str, ...], bool]:
    """Folders and files that weights named in that text may be read from; whether the text is a file."""
    path = Path(text_file)
    is_file = path.is_file()
    own = str(path.resolve().parent) if is_file else os.getcwd()
    return (own, *_SOURCES.get()), is_file


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
    """The file of a key, symbolic links followed. Raises ModelError when it is not there or not allowed."""
    if place.folders is None:  # made by this process, not read from a text
        return _regular(Path(place.file), place)
    if place.file == "" or "\0" in place.file or len(place.file) > _MAX_FILE:
        raise ModelError(f"weights {place.key} are in a file of no possible name")
    roots = [Path(os.path.realpath(root)) for root in place.folders]
    outside = False
    for candidate in _candidates(place.file, roots):
        path = Path(os.path.realpath(candidate))
        holders = [index for index, root in enumerate(roots) if path.is_relative_to(root)]
        if not holders:
            outside = outside or os.path.lexists(candidate)
        elif os.path.exists(path):
            # In the folder of the text a file is read because of where it lies, not because somebody asked.
            return _regular(path, place, one_name=place.is_from_file and holders == [0])
    if outside or os.path.isabs(place.file):
        raise ModelError(
            f"weights {place.key} are in {place.file}, outside the folders that may be read; {_ALLOW}"
        )
    raise ModelError(f"weights {place.key} are in {place.file}, which is not there; {_ALLOW}")


def _candidates(file: str, roots: Sequence[Path]) -> Iterator[Path]:
    """A path that leads out of a folder is tried all the same: it may lead into another that is allowed."""
    path = Path(file)
    for root in roots:
        if root.is_file():
            if root.name == path.name:
                yield root
            continue
        yield root / path  # the path itself, if it is absolute
    for root in roots:
        if not root.is_file():
            yield root / path.name


def _regular(path: Path, place: WeightsPlace, *, one_name: bool = False) -> Path:
    try:
        status = path.stat()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "has no possible name"
        raise ModelError(f"weights {place.key} are in {place.file}, which is not there: {reason}") from None
    if not stat.S_ISREG(status.st_mode):
        raise ModelError(f"weights {place.key} are in {place.file}, which is not a regular file")
    if one_name and status.st_nlink > 1:
        raise ModelError(f"weights {place.key} are in {place.file}, which is a hard link; {_ALLOW}")
    return path


def _fitting(array: Array, place: WeightsPlace, tensor_type: AnyTensor) -> Array:
    if array.shape != tensor_type.get_shape() or array.dtype != dtype_of_element(tensor_type.element_type):
        found = f"{array.dtype}{list(array.shape)}"
        raise ModelError(f"weights {place.key} of {place.file} are {found}; expected {tensor_type}")
    return array
