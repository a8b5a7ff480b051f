"""What if stdin, stdout or stderr is closed, or stdout is on a full disk?

What uses them then gets an OSError that names the stream, as one about a file names the file. stderr
is for people: what cannot be written there is lost, and changes no result.
"""

from __future__ import annotations

import contextlib
import errno
import io
import os
import sys
from collections.abc import Generator
from typing import Any

from onnxloom.errors import escaped

STDIN = "<stdin>"
STDOUT = "<stdout>"

_WRITE_ERRORS = frozenset(
    {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF, errno.EROFS, errno.EAGAIN}
)


@contextlib.contextmanager
def standard_streams() -> Generator[None]:
    """Inside, the three streams are there, and stdout is written out at the end.

    Raises OSError naming the stream; BrokenPipeError when nobody reads stdout any more.
    """
    with contextlib.ExitStack() as replaced:
        # Python leaves out a stream whose descriptor is closed.
        if sys.stdin is None:  # pyright: ignore[reportUnnecessaryComparison]
            replaced.enter_context(_replaced("stdin", _Closed(STDIN)))
        if isinstance(getattr(sys.stdout, "buffer", None), io.RawIOBase):
            replaced.enter_context(_buffered_stdout())
        if sys.stdout is None:  # pyright: ignore[reportUnnecessaryComparison]
            replaced.enter_context(contextlib.redirect_stdout(_Closed(STDOUT)))
        if sys.stderr is None:  # pyright: ignore[reportUnnecessaryComparison]
            replaced.enter_context(contextlib.redirect_stderr(io.StringIO()))
        stream: Any = sys.stdout
        if isinstance(stream, io.TextIOWrapper) and stream.errors == "strict":  # pyright: ignore[reportUnknownMemberType]
            stream.reconfigure(errors="backslashreplace")  # a name is no reason to fail
        try:
            yield
            if sys.stdout is not None:  # pyright: ignore[reportUnnecessaryComparison]
                sys.stdout.flush()
        except OSError as error:
            # Every file that is written is named by its error: the nameless one is stdout.
            if error.filename is None and error.errno in _WRITE_ERRORS:
                forget_stdout()
                raise OSError(error.errno, os.strerror(error.errno), STDOUT) from error
            raise


def say(text: object) -> None:
    """Lines on stdout, in which names from models do nothing to a terminal."""
    print("\n".join(map(escaped, str(text).split("\n"))))


def complain(line: object) -> None:
    """One line on stderr."""
    with contextlib.suppress(OSError, ValueError):
        # To print with no stream is to print on stdout.
        if sys.stderr is not None:  # pyright: ignore[reportUnnecessaryComparison]
            print(line, file=sys.stderr, flush=True)


def forget_stdout() -> None:
    """What stdout still holds goes nowhere, so that Python does not try again when it ends."""
    with contextlib.suppress(OSError, ValueError):
        descriptor = sys.stdout.fileno()
        devnull = os.open(os.devnull, os.O_WRONLY)
        os.dup2(devnull, descriptor)
        os.close(devnull)


class _Closed(io.TextIOBase):
    """A stream that is closed: every use of it says so."""

    def __init__(self, name: str) -> None:
        self._name = name

    @property
    def buffer(self) -> Any:
        raise self._error()

    def read(self, size: int | None = -1, /) -> str:
        raise self._error()

    def write(self, text: str, /) -> int:
        raise self._error()

    def _error(self) -> OSError:
        return OSError(errno.EBADF, "is closed", self._name)


@contextlib.contextmanager
def _buffered_stdout() -> Generator[None]:
    """With PYTHONUNBUFFERED, Python drops without a word what a full disk did not take of one write."""
    before: Any = sys.stdout
    stream = io.TextIOWrapper(
        io.BufferedWriter(before.buffer), before.encoding, before.errors, line_buffering=True
    )
    with contextlib.redirect_stdout(stream):
        try:
            yield
        finally:
            with contextlib.suppress(OSError, ValueError):
                stream.detach().detach()  # or both would be closed


@contextlib.contextmanager
def _replaced(name: str, stream: Any) -> Generator[None]:
    before = getattr(sys, name)
    setattr(sys, name, stream)
    try:
        yield
    finally:
        setattr(sys, name, before)
