"""What can a model be imported from? A path, bytes, an open file, or a `ModelProto`."""

from __future__ import annotations

import mmap
import os
import secrets
import stat
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, runtime_checkable

from google.protobuf.message import DecodeError
from onnx import GraphProto, ModelProto, TensorProto

from onnxloom.conversion.onnx_import.payloads import Payload, Payloads
from onnxloom.conversion.onnx_import.wire import LARGE, cut_raw_data
from onnxloom.errors import DamagedModelError, ModelError, NoSuchModelError


@runtime_checkable
class Readable(Protocol):
    def read(self) -> object: ...


Source = str | os.PathLike[str] | bytes | bytearray | memoryview | Readable | ModelProto


@dataclass(frozen=True)
class LoadedModel:
    """A model whose large tensors are empty in `proto`; `payloads` finds their data."""

    proto: ModelProto
    payloads: Payloads
    name: str
    """For messages: the path as given, or "model"."""
    file: str | None
    """Path as given, when there is one."""


def load(
    source: Source, external_data_dirs: str | os.PathLike[str] | Sequence[str | os.PathLike[str]] = ()
) -> LoadedModel:
    """Reads a model. Raises ModelError in one line that names the file."""
    if isinstance(external_data_dirs, str | os.PathLike):
        external_data_dirs = [external_data_dirs]
    dirs = [Path(path) for path in external_data_dirs]
    mark = f"onnxloom-{secrets.token_hex(8)}"
    if isinstance(source, ModelProto):
        if not source.HasField("graph"):
            raise ModelError("model: is not a valid ONNX model: it has no graph")
        proto, taken = without_large_data(source, mark)
        return LoadedModel(proto, Payloads(mark, taken, None, dirs), "model", None)
    if isinstance(source, bytes | bytearray | memoryview):
        # Weights are views of the data, so the data must not change.
        return _from_buffer(memoryview(bytes(source)), mark, "model", None, dirs)
    if isinstance(source, Readable):
        name = getattr(source, "name", "model")
        file = name if isinstance(name, str) else None
        try:
            data = source.read()
        except (OSError, ValueError) as error:  # closed, or open for writing
            raise ModelError(f"{file or 'model'}: cannot be read: {error}") from None
        if not isinstance(data, bytes):
            raise ModelError(
                f"{file or 'model'}: gives {type(data).__name__}; expected a file opened as binary"
            )
        return _from_buffer(memoryview(data), mark, file or "model", file, dirs)
    if not isinstance(source, str | os.PathLike):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ModelError(
            f"model: got {type(source).__name__}; expected a path, bytes, an open file or a ModelProto"
        )
    file = os.fspath(source)
    if not isinstance(file, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ModelError(f"{file!r}: is a path of bytes; expected one of text")
    return _from_buffer(_mapped(file), mark, file, file, dirs)


def _mapped(file: str) -> memoryview:
    try:
        descriptor = os.open(file, os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0))
    except (OSError, ValueError) as error:
        kind = NoSuchModelError if isinstance(error, FileNotFoundError) else ModelError
        raise kind(f"{file}: {getattr(error, 'strerror', None) or error}") from None
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise ModelError(f"{file}: is not a regular file; expected an ONNX model")
        if status.st_size == 0:
            raise ModelError(f"{file}: is empty; expected an ONNX model")
        return memoryview(mmap.mmap(descriptor, 0, access=mmap.ACCESS_READ))
    finally:
        os.close(descriptor)


def _from_buffer(
    buffer: memoryview, mark: str, name: str, file: str | None, dirs: Sequence[Path]
) -> LoadedModel:
    buffer = buffer.cast("B") if buffer.format != "B" else buffer
    try:
        skeleton = cut_raw_data(buffer, mark)
        proto = ModelProto.FromString(skeleton.data)
        if not proto.HasField("graph"):
            raise ModelError("it has no graph")
    except (ModelError, DecodeError) as error:
        reason = str(error) if isinstance(error, ModelError) else "the data are damaged"
        text = f"{name}: is not a valid ONNX model: {_other_kind(buffer) or reason}"
        raise DamagedModelError(text) from None
    folder = None if file is None else Path(file).resolve().parent
    pieces = [buffer[start:end] for start, end in skeleton.ranges]
    return LoadedModel(proto, Payloads(mark, pieces, folder, dirs), name, file)


def _other_kind(buffer: memoryview) -> str:
    """What data that are no model are instead, where that can be seen."""
    head = bytes(buffer[:512])
    if not head:
        return "it is empty"
    if head.startswith((b"\x1f\x8b", b"PK\x03\x04", b"BZh", b"\xfd7zXZ", b"\x28\xb5\x2f\xfd")):
        return "it is compressed; expected the file inside"
    if head.startswith(b"onnxloom"):
        return "it is a compiled model (.loom), which is run, not imported"
    if head.startswith(b"version https://git-lfs"):
        return "it is a Git LFS pointer; expected the file it stands for"
    if all(byte >= 32 or byte in b"\t\n\r\f" for byte in head):
        return "it is text (IR is read from files whose names end in .mlir, by `onnxloom export` too)"
    return ""


def without_large_data(model: ModelProto, mark: str) -> tuple[ModelProto, list[Payload]]:
    """A copy in which large initializers are marks; the rest (nodes, small tensors) is copied."""
    taken: list[Payload] = []
    copy = ModelProto()
    for field, value in model.ListFields():
        if field.name != "graph":
            _copy_field(copy, field.name, value)
    for field, value in model.graph.ListFields():
        if field.name != "initializer":
            _copy_field(copy.graph, field.name, value)
    _copy_initializers(copy.graph, model.graph.initializer, mark, taken)
    return copy, taken


def _copy_field(message: ModelProto | GraphProto, name: str, value: object) -> None:
    if isinstance(value, str | bytes | int | float):
        setattr(message, name, value)
    else:
        getattr(message, name).MergeFrom(value)


def _copy_initializers(
    graph: GraphProto, tensors: Iterable[TensorProto], mark: str, taken: list[Payload]
) -> None:
    for tensor in tensors:
        # Reading raw_data copies it, so the size is judged from the shape.
        if not tensor.HasField("raw_data") or _elements(tensor) * 16 < LARGE:
            graph.initializer.append(tensor)
            continue
        marked = graph.initializer.add(name=tensor.name, data_type=tensor.data_type, dims=tensor.dims)
        marked.external_data.add(key=mark, value=str(len(taken)))
        taken.append(tensor)


def _elements(tensor: TensorProto) -> int:
    count = 1
    for dim in tensor.dims:
        count *= dim
    return count
