"""Which symbols a compiled object needs from outside.

LLVM ends the whole process when it links an object with a symbol it cannot find, so the loader asks
first.
"""

from __future__ import annotations

import struct

_ELF64_LITTLE = b"\x7fELF\x02\x01"
_SYMBOL_TABLE = 2
_PROVIDED_BY_THE_LINKER = ("", "_GLOBAL_OFFSET_TABLE_")


def undefined_symbols(data: bytes) -> list[str] | None:
    """Names an ELF object refers to and does not define; None for other object formats.

    Raises:
        ValueError: the object is damaged.
    """
    if data[:6] != _ELF64_LITTLE:
        return None
    try:
        return _undefined(data)
    except (struct.error, IndexError, UnicodeDecodeError) as error:
        raise ValueError(f"damaged ELF object: {error}") from error


def _undefined(data: bytes) -> list[str]:
    (table,) = struct.unpack_from("<Q", data, 0x28)
    size, count = struct.unpack_from("<HH", data, 0x3A)
    # Per section header: name, type, flags, address, offset, size, link, info, alignment, entry size.
    sections = [struct.unpack_from("<IIQQQQIIQQ", data, table + i * size) for i in range(count)]
    names: list[str] = []
    for _, kind, _, _, offset, length, link, _, _, entry in sections:
        if kind != _SYMBOL_TABLE:
            continue
        strings = sections[link][4]
        for at in range(offset, offset + length, entry):
            name, _, _, section = struct.unpack_from("<IBBH", data, at)
            if section == 0:
                start = strings + name
                names.append(data[start : data.index(b"\0", start)].decode())
    return [name for name in names if name not in _PROVIDED_BY_THE_LINKER]
