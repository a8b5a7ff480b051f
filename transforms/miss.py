"""Why was something not done? A reason, and the line where that was decided.

`Miss` is the answer of every check that declines: of a fusion kind, a rewrite pattern, a folding rule.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Final

from xdsl.ir import Operation

_ROOT: Final = Path(__file__).resolve().parents[1]


@dataclass(frozen=True, init=False)
class Miss:
    """A declined match, or a fused op that is not what its attributes say.

    Made where the check stands: the file and line of the call are kept (a frame look-up, no stack
    walk, so that a miss costs about a microsecond).
    """

    reason: str
    owner: Operation | None = field(compare=False)
    """The op that starts the match this anchor would belong to, when that is why there is none here."""

    _file: str = field(compare=False, repr=False)
    line: int = field(compare=False, repr=False)

    def __init__(self, reason: str, *, owner: Operation | None = None, depth: int = 1):
        """`depth` counts the calls between here and the check: 1 for the caller itself."""
        frame = sys._getframe(depth)  # pyright: ignore[reportPrivateUsage] (inspect walks the stack)
        object.__setattr__(self, "reason", reason)
        object.__setattr__(self, "owner", owner)
        object.__setattr__(self, "_file", frame.f_code.co_filename)
        object.__setattr__(self, "line", frame.f_lineno)

    @staticmethod
    def at(reason: str, file: str, line: int) -> Miss:
        """A miss that was decided at a line known otherwise."""
        miss = Miss(reason)
        object.__setattr__(miss, "_file", file)
        object.__setattr__(miss, "line", line)
        return miss

    @property
    def file(self) -> str:
        """Path of the check's source file: below the project's root where it is one of its own."""
        return _shown_path(self._file)

    def within(self, context: str) -> Miss:
        """The same check's answer to a wider question: `context: reason`."""
        wider = Miss.at(f"{context}: {self.reason}", self._file, self.line)
        object.__setattr__(wider, "owner", self.owner)
        return wider

    def __str__(self) -> str:
        return f"{self.reason} ({self.file}:{self.line})"


@cache
def _shown_path(file: str) -> str:
    path = Path(file).resolve()
    return path.relative_to(_ROOT).as_posix() if path.is_relative_to(_ROOT) else path.name


_UNTOLD: Final = Miss("not recorded")
"""The answer of all checks while nobody listens."""

_listening: ContextVar[bool] = ContextVar("onnxloom_miss_reasons", default=False)


def no_match(op: Operation, reason: str | Callable[[], str]) -> Miss:
    """Declines a match at `op`: `return no_match(op, "the axis is not constant")`.

    The reason is kept, with the caller's file and line, only while somebody listens (`reasons_wanted`);
    one that costs something to put together is given as a callable.
    """
    if not _listening.get():
        return _UNTOLD
    return Miss(reason if isinstance(reason, str) else reason(), depth=2)


def no_match_at(file: str, line: int, reason: str | Callable[[], str]) -> Miss:
    """Like `no_match`, for a check that stands in no Python code of its own: the line an author wrote."""
    if not _listening.get():
        return _UNTOLD
    return Miss.at(reason if isinstance(reason, str) else reason(), file, line)


def reasons_are_wanted() -> bool:
    """Whether somebody listens: a reason that takes work to find need not be looked for otherwise."""
    return _listening.get()


@contextmanager
def reasons_wanted(wanted: bool = True) -> Generator[None]:
    """Within this, misses carry their reasons."""
    token = _listening.set(wanted)
    try:
        yield
    finally:
        _listening.reset(token)
