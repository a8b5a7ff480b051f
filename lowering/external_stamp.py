"""What tells a model with external data from the same model with other weights beside it?

The state (size, times, place on the disk) of the files the model refers to, and of no others. The
locations are found in the serialized model without parsing it: this also runs where nothing of onnx
is loaded.
"""

from __future__ import annotations

import mmap
import os
from collections.abc import Iterator, Sequence

_LOCATION_KEY = b"\x0a\x08location"
"""How the key "location" of an external tensor stands in a serialized model."""
_VALUE_TAG = 0x12
"""Of the field that follows the key."""
_MAX_LOCATION = 4096


def external_stamp(data: bytes | mmap.mmap, folders: Sequence[str]) -> str | None:
    """Changes with any file of external data; empty for a model without. None when it cannot be told."""
    locations = set(_locations(data))
    if None in locations:
        return None
    names = sorted(os.fsdecode(location) for location in locations if location is not None)
    return "\n".join(_state(os.path.join(folder, name)) for name in names for folder in folders)


def refers_to_files(data: bytes | mmap.mmap) -> bool:
    """Whether a serialized model has, or seems to have, external data."""
    return next(_locations(data), b"") != b""


def _locations(data: bytes | mmap.mmap) -> Iterator[bytes | None]:
    """Locations; None for a key that is not followed by a value."""
    at = data.find(_LOCATION_KEY)
    while at >= 0:
        at += len(_LOCATION_KEY)
        yield _value(data, at)
        at = data.find(_LOCATION_KEY, at)


def _value(data: bytes | mmap.mmap, at: int) -> bytes | None:
    head = data[at : at + 4]
    if len(head) < 2 or head[0] != _VALUE_TAG:
        return None
    length = head[1] & 0x7F
    start = at + 2
    if head[1] >= 0x80:
        if len(head) < 3 or head[2] >= 0x80:
            return None
        length |= head[2] << 7
        start += 1
    if length > _MAX_LOCATION or start + length > len(data):
        return None
    return data[start : start + length]


def _state(path: str) -> str:
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return f"{path!r} is not there"
    return (
        f"{path!r} {status.st_dev} {status.st_ino} {status.st_size} {status.st_mtime_ns} {status.st_ctime_ns}"
    )
