"""How is a compiled model written to bytes, and read back without the libraries that made it?

A JSON header describes the objects; arrays and object code follow as raw, aligned bytes. Weights that
are views of the model's own bytes are not stored: only where they lie.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import mmap
from collections.abc import Sequence
from typing import Any, TypeAlias, cast

import numpy as np

from onnxloom.lowering.plan import program as plain
from onnxloom.lowering.plan.program import Array, is_array, numpy_dtype

Part: TypeAlias = "bytes | memoryview"

_ALIGNMENT = 64
_CLASSES: dict[str, type[Any]] = {
    name: value
    for name, value in vars(plain).items()
    if isinstance(value, type) and dataclasses.is_dataclass(value)
}


class Unstorable(Exception):
    """A value that is no plain data."""


def register(cls: type[Any]) -> type[Any]:
    """Makes a dataclass of another module storable."""
    _CLASSES[cls.__name__] = cls
    return cls


def classes_digest() -> str:
    """Changes with the classes that can be stored, and with their fields."""
    classes = sorted(_CLASSES.items())
    text = repr([(name, [f.name for f in dataclasses.fields(cls)]) for name, cls in classes])
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def dumps(value: Any, source: memoryview | None = None) -> bytes:
    """`value` as bytes. Arrays that lie in `source` are stored as positions in it. Raises Unstorable."""
    return b"".join(parts(value, source))


def parts(value: Any, source: memoryview | None = None) -> Sequence[Part]:
    """What `dumps` gives, in parts; those of arrays are no copies. Raises Unstorable."""
    writer = _Writer(source)
    header = json.dumps(writer.encode(value), separators=(",", ":")).encode()
    start = _rounded(8 + len(header))
    return [len(header).to_bytes(8, "little"), header, b"\0" * (start - 8 - len(header)), *writer.blobs]


def loads(data: bytes | memoryview, source: memoryview | None = None) -> Any:
    """What `dumps` was given; arrays are read-only views of `data` and `source`."""
    length = int.from_bytes(data[:8], "little")
    header = json.loads(bytes(data[8 : 8 + length]))
    return _Reader(memoryview(data)[_rounded(8 + length) :], source).decode(header)


def _rounded(size: int) -> int:
    return -(-size // _ALIGNMENT) * _ALIGNMENT


class _Writer:
    def __init__(self, source: memoryview | None) -> None:
        self.blobs: list[Part] = []
        self._size = 0
        self._start, self._end = 0, 0
        if source is not None and source.nbytes:
            self._start = np.frombuffer(source, np.uint8).__array_interface__["data"][0]
            self._end = self._start + source.nbytes

    def encode(self, value: Any) -> Any:
        if value is None or isinstance(value, bool | int | float | str):
            return value
        if isinstance(value, bytes):
            return {"b": self._blob(value)}
        if is_array(value):
            return self._array(value)
        if isinstance(value, tuple):
            return {"t": [self.encode(v) for v in cast(tuple[Any, ...], value)]}
        if isinstance(value, list):
            return [self.encode(v) for v in cast(list[Any], value)]
        if isinstance(value, dict):
            pairs = cast(dict[Any, Any], value).items()
            return {"d": [[self.encode(k), self.encode(v)] for k, v in pairs]}
        name = type(value).__name__
        if _CLASSES.get(name) is type(value):
            fields = [self.encode(getattr(value, f.name)) for f in dataclasses.fields(value)]
            return {"c": name, "v": fields}
        raise Unstorable(f"a {name} cannot be stored")

    def _array(self, array: Array) -> Any:
        if array.dtype == object:
            return {"o": self.encode(array.ravel().tolist()), "s": list(array.shape)}
        kind = [array.dtype.name, list(array.shape)]
        address = array.__array_interface__["data"][0]
        if array.flags.c_contiguous and self._start <= address and address + array.nbytes <= self._end:
            return {"x": address - self._start, "k": kind}
        return {"a": self._blob(_bytes_of(array)), "k": kind}

    def _blob(self, data: Part) -> list[int]:
        at = self._size
        padded = _rounded(len(data))
        self.blobs += [data, b"\0" * (padded - len(data))]
        self._size += padded
        return [at, len(data)]


def _bytes_of(array: Array) -> Part:
    """The elements in order; no copy where they lie so."""
    if not array.nbytes:
        return b""
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8).data


class _Reader:
    def __init__(self, blobs: memoryview, source: memoryview | None) -> None:
        self._blobs = blobs
        self._source = source

    def decode(self, value: Any) -> Any:
        if isinstance(value, list):
            return [self.decode(v) for v in cast(list[Any], value)]
        if not isinstance(value, dict):
            return value
        parts = cast(dict[str, Any], value)
        if "t" in parts:
            return tuple([self.decode(v) for v in cast("list[Any]", parts["t"])])
        if "c" in parts:
            return _CLASSES[parts["c"]](*[self.decode(v) for v in parts["v"]])
        if "d" in parts:
            return {self.decode(k): self.decode(v) for k, v in parts["d"]}
        if "b" in parts:
            at, size = parts["b"]
            return bytes(self._blobs[at : at + size])
        return self._array(parts)

    def _array(self, parts: dict[str, Any]) -> Array:
        if "o" in parts:
            array = np.empty(len(parts["o"]), object)
            array[:] = self.decode(parts["o"])
            return array.reshape(cast("list[int]", parts["s"]))
        name, dims = parts["k"]
        shape = tuple(map(int, dims))
        dtype = numpy_dtype(name)
        size = dtype.itemsize * int(np.prod(shape, dtype=np.int64))
        if "x" in parts:
            if self._source is None:
                raise ValueError("the model's bytes are not there")
            data = self._source[parts["x"] : parts["x"] + size]
        else:
            at, size = parts["a"]
            data = self._blobs[at : at + size]
        if not size:
            return np.empty(shape, dtype)
        array = np.frombuffer(data, np.uint8).view(dtype).reshape(shape)
        array.flags.writeable = False
        return array


def same_bytes(a: memoryview, b: memoryview, chunk: int = 1 << 24) -> bool:
    """Whether two blocks of memory have the same contents (`memoryview` compares byte by byte in Python)."""
    if a.nbytes != b.nbytes:
        return False
    x, y = np.frombuffer(a, np.uint8), np.frombuffer(b, np.uint8)
    return all(np.array_equal(x[at : at + chunk], y[at : at + chunk]) for at in range(0, x.size, chunk))


def source_of(arrays: list[Any]) -> memoryview | None:
    """The memory-mapped file or bytes that most of `arrays` are views of."""
    largest: tuple[int, memoryview | None] = (0, None)
    for array in arrays:
        base: Any = array
        while is_array(base):
            base = base.base
        if isinstance(base, memoryview):
            base = base.obj
        if isinstance(base, mmap.mmap | bytes) and array.nbytes > largest[0]:
            largest = (array.nbytes, memoryview(base))
    return largest[1]
