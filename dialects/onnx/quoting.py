"""How is a string of any bytes written between quotes, and read back?"""

from __future__ import annotations

import re
from typing import Final

from xdsl.dialects.builtin import BytesAttr, StringAttr

from onnxloom.dialects.onnx.attributes import encode, string_value


class LiteralError(ValueError):
    """The text between `dense<` and `>` does not fit its type."""


_ESCAPES: Final[dict[str, bytes]] = {"n": b"\n", "t": b"\t", "\\": b"\\", '"': b'"', "r": b"\r"}


def unquote(token: str) -> StringAttr | BytesAttr:
    """The string a quoted literal stands for."""
    if len(token) < 2 or token[0] != '"':
        raise LiteralError(f"{token} is not a string")
    return string_value(unquote_bytes(token))


def unquote_bytes(token: str) -> bytes:
    text = token[1:-1]
    if "\\" not in text:
        return encode(text)
    out = bytearray()
    position = 0
    while position < len(text):
        if text[position] != "\\":
            end = text.find("\\", position)
            end = len(text) if end < 0 else end
            out += encode(text[position:end])
            position = end
            continue
        escape = text[position + 1 : position + 2]
        pair = text[position + 1 : position + 3]
        if re.fullmatch("[0-9a-fA-F]{2}", pair):
            out.append(int(pair, 16))
            position += 3
        elif escape in _ESCAPES:
            out += _ESCAPES[escape]
            position += 2
        else:
            raise LiteralError(f"unknown escape \\{escape} in a string")
    return bytes(out)


def quote(data: str | bytes) -> str:
    """A string literal: printable ASCII as it is, other bytes as \\HH."""
    raw = data if isinstance(data, bytes) else encode(data)
    pieces = [
        "\\\\" if byte == 0x5C else chr(byte) if 0x20 <= byte <= 0x7E and byte != 0x22 else f"\\{byte:02X}"
        for byte in raw
    ]
    return '"' + "".join(pieces) + '"'
