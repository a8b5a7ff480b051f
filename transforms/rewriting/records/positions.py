"""How does a record say where in a module an op, a block or a value is?

A position lists, from the module inwards, `region.block.op` per level: `0.0.1.0.0.7` is op 7 of the only
block of op 1 of the module. A block's path ends with the block: `0.0.1.0.0`. The module itself is `module`.
A value is `was_<place>#i` or `new_<place>#i`: result i of the op, or argument i of the block, at that place
before or after the rewrite.
"""

from __future__ import annotations

import re
from typing import Final, Literal

from onnxloom.errors import PassError

Position = tuple[int, ...]
"""Of an op: a multiple of three numbers. Of a block: two more."""

When = Literal["was", "new"]

_ROOT: Final = "module"
_NUMBERS: Final = re.compile(r"(?:0|[1-9][0-9]{0,8})(?:\.(?:0|[1-9][0-9]{0,8})){0,999}")
_VALUE: Final = re.compile(r"(was|new)_([0-9.]+)#([0-9]{1,9})")


def format_position(position: Position) -> str:
    return ".".join(map(str, position)) if position else _ROOT


def op_position(text: str) -> Position:
    """Raises PassError unless the text is the position of an op."""
    return _parse(text, 0, "an op")


def block_path(text: str) -> Position:
    """Raises PassError unless the text is the path of a block."""
    return _parse(text, 2, "a block")


def _parse(text: str, rest: int, what: str) -> Position:
    if text == _ROOT and rest == 0:
        return ()
    if _NUMBERS.fullmatch(text) is not None:
        position = tuple(map(int, text.split(".")))
        if len(position) % 3 == rest:
            return position
    raise PassError(f"{text[:80]!r} is not the position of {what}")


def format_value(when: When, place: Position, index: int) -> str:
    return f"{when}_{format_position(place)}#{index}"


def parse_value(text: str) -> tuple[When, Position, int]:
    """Raises PassError unless the text names a value."""
    match = _VALUE.fullmatch(text)
    if match is not None and _NUMBERS.fullmatch(match[2]) is not None:
        place = tuple(map(int, match[2].split(".")))
        if len(place) % 3 != 1:
            return ("was" if match[1] == "was" else "new"), place, int(match[3])
    raise PassError(f"{text[:80]!r} does not name a value")
