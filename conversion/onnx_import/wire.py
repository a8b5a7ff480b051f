"""How is a serialized model parsed without copying its weights?

The wire format is walked only where something large is inside: raw data of tensors are cut out and
replaced by a mark, what remains (the skeleton) is parsed by protobuf, and each mark leads back to
a byte range of the original buffer. Field numbers are those of onnx.proto.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from onnx import StringStringEntryProto

from onnxloom.errors import ModelError

LARGE: Final = 1024
"""Raw data of at least this many bytes are cut out."""

_CHILDREN: Final[dict[str, dict[int, str]]] = {
    "model": {7: "graph", 25: "function"},
    "graph": {1: "node", 5: "tensor", 15: "sparse"},
    "function": {7: "node"},
    "node": {5: "attribute"},
    "attribute": {5: "tensor", 6: "graph", 10: "tensor", 11: "graph", 22: "sparse", 23: "sparse"},
    "sparse": {1: "tensor", 2: "tensor"},
    "tensor": {9: "raw_data"},
}
_LISTS: Final[dict[str, tuple[int, ...]]] = {"attribute": (7, 8, 9)}
"""A list of numbers may have a million fields; an attribute that has one holds no tensors."""
_EXTERNAL_DATA = 13
_VARINT, _FIXED64, _LENGTH, _FIXED32 = 0, 1, 2, 5
_MAX_DEPTH = 100


@dataclass(frozen=True)
class Skeleton:
    """A model without its large raw data."""

    data: bytes
    ranges: tuple[tuple[int, int], ...]
    """(start, end) in the original buffer of each piece that was cut out."""


def cut_raw_data(buffer: memoryview, mark: str) -> Skeleton:
    """Raises ModelError when the buffer is not a protobuf message."""
    cutter = _Cutter(buffer, mark)
    return Skeleton(b"".join(cutter.message(0, len(buffer), "model", 0)), tuple(cutter.ranges))


class _Cutter:
    def __init__(self, buffer: memoryview, mark: str) -> None:
        self.buffer = buffer
        self.mark = mark
        self.ranges: list[tuple[int, int]] = []

    def message(self, start: int, end: int, kind: str, depth: int) -> list[bytes]:
        """The bytes of one message, its large raw data replaced by marks."""
        if depth > _MAX_DEPTH:
            raise ModelError("graphs are nested too deep")
        children, lists = _CHILDREN[kind], _LISTS.get(kind, ())
        pieces: list[bytes] = []
        copied = at = start
        while at < end:
            field_start = at
            key, at = self.varint(at, end)
            if key >> 3 in lists:
                break
            wire_type = key & 7
            if wire_type != _LENGTH:
                at = self.skip(at, end, wire_type)
                continue
            length, at = self.varint(at, end)
            content, at = at, at + length
            if at > end:
                raise ModelError("the data end in the middle of a field")
            child = children.get(key >> 3)
            if child is None or length < LARGE:
                continue
            pieces.append(bytes(self.buffer[copied:field_start]))
            copied = at
            if child == "raw_data":
                pieces.append(self.cut(content, at))
                continue
            inner = self.message(content, at, child, depth + 1)
            pieces += [encode_varint(key), encode_varint(sum(map(len, inner))), *inner]
        pieces.append(bytes(self.buffer[copied:end]))
        return pieces

    def cut(self, start: int, end: int) -> bytes:
        """The mark of a piece, as one more entry of the tensor's external_data."""
        entry = StringStringEntryProto(key=self.mark, value=str(len(self.ranges))).SerializeToString()
        self.ranges.append((start, end))
        return encode_varint(_EXTERNAL_DATA << 3 | _LENGTH) + encode_varint(len(entry)) + entry

    def varint(self, at: int, end: int) -> tuple[int, int]:
        value = 0
        for shift in range(0, 70, 7):
            if at >= end:
                break
            byte = self.buffer[at]
            at += 1
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value, at
        raise ModelError("the data end in the middle of a number")

    def skip(self, at: int, end: int, wire_type: int) -> int:
        if wire_type == _VARINT:
            return self.varint(at, end)[1]
        if wire_type not in (_FIXED64, _FIXED32):
            raise ModelError(f"a field has wire type {wire_type}")
        at += 8 if wire_type == _FIXED64 else 4
        if at > end:
            raise ModelError("the data end in the middle of a field")
        return at


def encode_varint(value: int) -> bytes:
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)
