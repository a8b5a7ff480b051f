"""How is a compiled model laid out in a file?

    0   magic number, 8 bytes
    8   format number, 4 bytes, little endian like all numbers here
    12  CRC-32 of the description, 4 bytes
    16  length of the description, 8 bytes
    24  length of the file, 8 bytes
    32  zeros up to 64
    64  the description: JSON, with place, length and CRC-32 of each section
    ... the sections, each at a multiple of 4096 bytes

Sections are read through a memory map: weights are used where they lie in the file. The checksums find
damage. They are no protection against somebody who means harm: the file holds machine code.
"""

from __future__ import annotations

import json
import mmap
import os
import struct
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias, cast

from onnxloom.errors import ArtifactError

MAGIC = b"onnxloom"
FORMAT = 2
"""Raise it when files of before cannot be run any more: other records, plan-time ops, or layout."""

Part: TypeAlias = "bytes | memoryview"

_HEAD = struct.Struct("<8sIIQQ")
_START = 64
_PAGE = 4096
_LARGEST_DESCRIPTION = 1 << 20


@dataclass(frozen=True)
class Container:
    """What a file says of itself, and its sections."""

    description: Mapping[str, Any]
    sections: Mapping[str, memoryview]


def is_artifact(source: Any) -> bool:
    """Whether a path or bytes hold a compiled model, damaged or not."""
    if isinstance(source, bytes | bytearray | memoryview):
        return bytes(cast("bytes", source)[: len(MAGIC)]) == MAGIC
    if not isinstance(source, str | os.PathLike):
        return False
    path = Path(cast("str", source))
    try:
        if not path.is_file():  # to open a pipe is to take from it what its reader needs
            return False
        with path.open("rb") as file:
            return file.read(len(MAGIC)) == MAGIC or path.suffix == ".loom"
    except OSError:
        return False


def write_container(
    path: str | os.PathLike[str], description: Mapping[str, Any], sections: Mapping[str, Sequence[Part]]
) -> None:
    """Writes a file, whole or not at all. A section is given in parts. Raises OSError."""
    from onnxloom.dialects.output_file import OutputFile

    places: dict[str, tuple[int, int, int]] = {}
    at = 0
    for name, parts in sections.items():
        size, checksum = 0, 0
        for part in parts:
            size, checksum = size + len(part), zlib.crc32(part, checksum)
        places[name] = (at, size, checksum)
        at = _rounded(at + size)
    text = json.dumps({**description, "sections": places}, separators=(",", ":")).encode()
    first = _rounded(_START + len(text))
    length = first + max((start + size for start, size, _ in places.values()), default=0)
    with OutputFile(path) as file:
        head = _HEAD.pack(MAGIC, FORMAT, zlib.crc32(text), len(text), length)
        file.write(head.ljust(_START, b"\0"))
        file.write(text)
        written = _START + len(text)
        for name, parts in sections.items():
            start, size, _ = places[name]
            file.write(b"\0" * (first + start - written))
            for part in parts:
                file.write(part)
            written = first + start + size
        file.write(b"\0" * (length - written))


def read_container(source: str | os.PathLike[str] | bytes) -> Container:
    """Reads and checks a file, or the bytes of one.

    Raises:
        ArtifactError: it is no compiled model, damaged, or of another format; the message has no name.
        OSError: it cannot be read.
    """
    return _parsed(memoryview(source if isinstance(source, bytes) else _mapped(source)))


def _mapped(path: str | os.PathLike[str]) -> mmap.mmap | bytes:
    with open(path, "rb") as file:
        if os.fstat(file.fileno()).st_size == 0:  # which cannot be mapped
            return b""
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)


def _parsed(data: memoryview) -> Container:
    if bytes(data[: len(MAGIC)]) != MAGIC:
        raise ArtifactError("is no compiled model: it does not start like one")
    if len(data) < _START:
        raise ArtifactError(f"is cut short: it has {len(data)} bytes")
    _, number, checksum, size, length = _HEAD.unpack_from(data)
    if number != FORMAT:
        raise ArtifactError(f"has format {number}; this version of onnxloom reads format {FORMAT}")
    if length != len(data):
        what = "is cut short" if length > len(data) else "is damaged"
        raise ArtifactError(f"{what}: it has {len(data)} bytes of {length}")
    text = data[_START : _START + size]
    if size > _LARGEST_DESCRIPTION or zlib.crc32(text) != checksum:
        raise ArtifactError("is damaged: its description does not have the checksum it should have")
    try:
        description: dict[str, Any] = json.loads(bytes(text))
        places: dict[str, tuple[int, int, int]] = description["sections"]
        first = _rounded(_START + size)
        sections = {name: _section(data, first, name, *place) for name, place in places.items()}
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
        raise ArtifactError(f"has a description that is not understood ({type(error).__name__})") from None
    return Container(description, sections)


def _section(data: memoryview, first: int, name: str, at: int, size: int, checksum: int) -> memoryview:
    start = first + at
    if min(at, size) < 0 or start + size > len(data):
        raise ArtifactError(f"is damaged: section {name!r} does not lie in the file")
    section = data[start : start + size]
    if zlib.crc32(section) != checksum:
        raise ArtifactError(f"is damaged: section {name!r} does not have the checksum it should have")
    return section


def _rounded(size: int) -> int:
    return -(-size // _PAGE) * _PAGE
