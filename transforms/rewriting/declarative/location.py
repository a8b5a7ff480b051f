"""Where does an author's expression stand? The line of the call that made it, outside this package."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_HERE: Final = str(Path(__file__).parent)


@dataclass(frozen=True)
class Location:
    """A line of a source file."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{Path(self.file).name}:{self.line}"


def callers_location() -> Location:
    """The nearest call on the stack that is not part of this package."""
    frame = sys._getframe(1)  # pyright: ignore[reportPrivateUsage] (inspect reads source files)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_HERE):
        frame = frame.f_back
    return Location(frame.f_code.co_filename, frame.f_lineno)
