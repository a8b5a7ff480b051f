"""Which files may a model read its weights from, and how?

A location is accepted when it resolves, symbolic links followed, to a regular file with one name
inside the folder of the (resolved) model file, or inside a folder of `external_data_dirs`. Everything
else would let a model read any file of its user.
"""

from __future__ import annotations

import mmap
import os
import stat
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath, PureWindowsPath

from onnxloom.errors import ModelError

_OPEN_FLAGS = (
    os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
)
MAX_LOCATION = 4096
"""No system has longer paths."""
ALLOW = "external_data_dirs= allows more folders"


class ExternalData:
    """Maps the external data files of one model, each once."""

    def __init__(self, folder: Path | None, allowed: Sequence[Path] = ()) -> None:
        self.folder = None if folder is None else _resolved(folder)
        self.allowed = tuple(_resolved(path) for path in allowed)
        self._maps: dict[Path, memoryview] = {}

    def read(self, entries: Mapping[str, str], expected: int, what: str) -> memoryview:
        """The bytes of one tensor. Raises ModelError naming the tensor and the location."""
        location = entries.get("location", "")
        if len(location) > MAX_LOCATION:
            raise ModelError(
                f"{what} has its data at a location of {len(location)} characters ({location[:40]!r}...)"
            )
        data = self._map(self._resolve(location, what), location, what)
        offset = _number(entries, "offset", 0, what)
        length = _number(entries, "length", expected, what)
        if length != expected:
            raise ModelError(
                f"{what} has external length {length}; expected {expected} for its shape and type"
            )
        if offset + length > len(data):
            raise ModelError(
                f"{what} needs bytes {offset} to {offset + length} of {location}, which has {len(data)} bytes"
            )
        return data[offset : offset + length]

    def _resolve(self, location: str, what: str) -> Path:
        if not location or "\0" in location:
            raise ModelError(f"{what} has external data without a location")
        posix, windows = PurePosixPath(location), PureWindowsPath(location)
        is_absolute = posix.is_absolute() or windows.is_absolute() or bool(windows.drive or windows.root)
        if is_absolute and not self._in_allowed(Path(location)):
            raise ModelError(f"{what} has its data at the absolute path {location!r}; {ALLOW}")
        if self.folder is None and not self.allowed:
            raise ModelError(f"{what} has its data in {location!r}, but the model is not a file; {ALLOW}")
        folders = (*([self.folder] if self.folder is not None else []), *self.allowed)
        candidates = [_resolved(folder / location) for folder in folders]
        inside = [path for path in candidates if any(path.is_relative_to(folder) for folder in folders)]
        if not inside:
            raise ModelError(f"{what} has its data in {location!r}, outside the model's folder; {ALLOW}")
        return next((path for path in inside if os.path.exists(path)), inside[0])

    def _in_allowed(self, path: Path) -> bool:
        resolved = _resolved(path)
        return any(resolved.is_relative_to(folder) for folder in self.allowed)

    def _map(self, path: Path, location: str, what: str) -> memoryview:
        found = self._maps.get(path)
        if found is not None:
            return found
        try:
            descriptor = os.open(path, _OPEN_FLAGS)
        except OSError as error:
            raise ModelError(f"{what} needs the file {location!r}: {error.strerror}") from None
        try:
            data = self._mapped(descriptor, path, location, what)
        finally:
            os.close(descriptor)
        self._maps[path] = data
        return data

    def _mapped(self, descriptor: int, path: Path, location: str, what: str) -> memoryview:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise ModelError(f"{what} has its data in {location!r}, which is not a regular file")
        if status.st_nlink > 1 and not any(path.is_relative_to(folder) for folder in self.allowed):
            raise ModelError(f"{what} has its data in {location!r}, which is a hard link; {ALLOW}")
        if status.st_size == 0:
            return memoryview(b"")
        return memoryview(mmap.mmap(descriptor, 0, access=mmap.ACCESS_READ))


def _resolved(path: Path) -> Path:
    """Symbolic links followed; a loop of them ends somewhere in it, and cannot be opened."""
    return Path(os.path.realpath(path))


def _number(entries: Mapping[str, str], key: str, default: int, what: str) -> int:
    text = entries.get(key)
    if text is None or text == "":
        return default
    if not (text.isascii() and text.isdigit()) or len(text) > 18:
        raise ModelError(f"{what} has external {key} {text[:40]!r}; expected a number that is not negative")
    return int(text)
