"""Which arrays does `onnxloom run` feed? Those given, and seeded random ones for the rest."""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from typing import Any, Protocol
from zipfile import BadZipFile

import numpy as np
import numpy.typing as npt

from onnxloom.errors import InputError
from onnxloom.tools.failures import CommandLineError

Array = npt.NDArray[Any]

MAX_DIM = (1 << 31) - 1
"""Of an input that is made up."""

_DTYPES = {
    "float": "float32",
    "double": "float64",
    "float16": "float16",
    "bfloat16": "bfloat16",
    "bool": "bool",
    "string": "object",
    **{name: name for name in ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")},
    "complex64": "complex64",
    "complex128": "complex128",
}


class ValueInfo(Protocol):
    """An input of a session: `type` is `tensor(float)`, a dim is an int, a name or None."""

    @property
    def name(self) -> str: ...
    @property
    def type(self) -> str: ...
    @property
    def shape(self) -> Sequence[int | str | None]: ...


@dataclass(frozen=True)
class Feeds:
    """Arrays (lists of arrays, for sequences) by input name, and the names of those that were made up."""

    arrays: dict[str, Any]
    made_up: tuple[str, ...]


def load_npz(path: str) -> dict[str, Array]:
    """All arrays of an `.npz` file. Raises InputError."""
    loaded = _load(path)
    if not isinstance(loaded, np.lib.npyio.NpzFile):
        raise InputError(f"{path}: is a single array; expected an .npz file (or use --input NAME={path})")
    with loaded:
        return {name: _member(loaded, name, path) for name in loaded.files}


def load_named(text: str) -> tuple[str, Array]:
    """`NAME=file.npy`. Raises CommandLineError for another form, InputError for another file."""
    name, separator, path = text.partition("=")
    if not separator or not name or not path:
        raise CommandLineError(f"--input {text}: expected NAME=FILE.npy")
    loaded = _load(path)
    if isinstance(loaded, np.lib.npyio.NpzFile):
        raise InputError(f"{path}: holds several arrays; expected one .npy array (or use --inputs {path})")
    return name, loaded


def parse_dims(items: Sequence[str]) -> dict[str, int]:
    """`NAME=SIZE` pairs; NAME is that of a dim, or `input:axis`. Raises CommandLineError."""
    sizes: dict[str, int] = {}
    for item in items:
        name, _, size = item.rpartition("=")
        if not name or not (size.isascii() and size.isdigit()):
            raise CommandLineError(f"--dim {item}: expected NAME=SIZE with a size of 0 or more")
        if int(size) > MAX_DIM:
            raise CommandLineError(f"--dim {item}: expected a size of at most {MAX_DIM}")
        sizes[name] = int(size)
    return sizes


def complete(
    infos: Sequence[ValueInfo], given: Mapping[str, Array], dims: Mapping[str, int], seed: int
) -> Feeds:
    """The given arrays, and random ones for the inputs that were not given.

    A symbolic dim takes its size from `dims`, from a given array that has it, or is 1. A dim without a
    name is called `input:axis`. Raises InputError.
    """
    sizes = dict(dims)
    named = {info.name: info for info in infos}
    given = as_saved(infos, given)
    for name, array in given.items():
        if name not in named:
            raise InputError(f"the model has no input '{name}' (it has {', '.join(named)})")
        _learn_sizes(named[name], array, sizes)
    symbols = sorted({dim for info in infos for dim in _open_dims(info) if dim})
    unknown = set(dims).difference(symbols)
    if unknown:
        raise InputError(f"no input has a dim '{min(unknown)}' (there are: {', '.join(symbols) or 'none'})")
    generator = np.random.default_rng(seed)
    arrays: dict[str, Any] = dict(given)
    made_up: list[str] = []
    for info in infos:
        if info.name not in arrays:
            arrays[info.name] = random_array(info, sizes, generator)
            made_up.append(info.name)
    return Feeds({info.name: arrays[info.name] for info in infos}, tuple(made_up))


def as_saved(infos: Sequence[ValueInfo], given: Mapping[str, Array]) -> dict[str, Any]:
    """The arrays as a file of outputs holds them: `s.0`, `s.1` are a sequence `s`; bfloat16 is raw bytes."""
    values: dict[str, Any] = dict(given)
    for info in infos:
        if info.type.startswith("seq(") and info.name not in values:
            names = [f"{info.name}.{index}" for index in range(len(given))]
            names = list(takewhile(values.__contains__, names))
            if names:
                values[info.name] = [values.pop(name) for name in names]
        elif info.type == "tensor(bfloat16)" and getattr(values.get(info.name), "dtype", None) == "V2":
            values[info.name] = values[info.name].view(_bfloat16())
    return values


def _bfloat16() -> np.dtype[Any]:
    import ml_dtypes

    return np.dtype(ml_dtypes.bfloat16)


def random_array(info: ValueInfo, sizes: Mapping[str, int], generator: np.random.Generator) -> Array:
    """Values that most models accept: floats from a normal distribution, integers 0 and 1."""
    element = info.type.removeprefix("tensor(").removesuffix(")")
    if element not in _DTYPES or not info.type.startswith("tensor("):
        raise InputError(f"input '{info.name}' is a {info.type}: give it with --input {info.name}=FILE.npy")
    names = _open_dims(info)
    shape = [
        dim if isinstance(dim, int) else sizes.get(name, 1)
        for dim, name in zip(info.shape, names, strict=True)
    ]
    name = _DTYPES[element]
    try:
        return _random_values(name, shape, generator)
    except (MemoryError, ValueError):
        raise InputError(
            f"input '{info.name}' of shape {shape} does not fit into memory (sizes come from --dim)"
        ) from None


def _random_values(name: str, shape: Sequence[int], generator: np.random.Generator) -> Array:
    if name == "object":
        return np.full(shape, "text", dtype=object)
    if name == "bfloat16":
        return generator.standard_normal(shape, dtype=np.float32).astype(_bfloat16())
    dtype = np.dtype(name)
    if dtype.kind in "fc":
        return generator.standard_normal(shape).astype(dtype)
    return generator.integers(0, 2, shape).astype(dtype)


def _open_dims(info: ValueInfo) -> list[str]:
    """What `--dim` calls each dim: its name, `input:axis` if it has none, "" if the model says its size."""
    return [
        "" if isinstance(dim, int) else dim or f"{info.name}:{axis}" for axis, dim in enumerate(info.shape)
    ]


def _learn_sizes(info: ValueInfo, value: Any, sizes: dict[str, int]) -> None:
    for dim, size in zip(info.shape, getattr(value, "shape", ()), strict=False):
        if isinstance(dim, str):
            sizes.setdefault(dim, size)


def _load(path: str) -> Any:
    try:
        return np.load(Path(path), allow_pickle=False)
    except FileNotFoundError:
        raise InputError(f"{path}: no such file") from None
    except (OSError, ValueError, EOFError, BadZipFile) as error:
        if isinstance(error, ValueError) and "pickle" in str(error):
            # What numpy takes for pickled data is anything it does not know.
            raise InputError(f"{path}: is not a numpy file, or holds Python objects") from None
        raise InputError(f"{path}: is not a numpy file ({' '.join(str(error).split())})") from None


def _member(loaded: Any, name: str, path: str) -> Array:
    try:
        return loaded[name]
    except (ValueError, OSError, EOFError, BadZipFile, zlib.error) as error:
        raise InputError(f"{path}: array '{name}': {' '.join(str(error).split())}") from None
