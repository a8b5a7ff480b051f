"""How is a result written to the place a user names, so that it appears whole or not at all?

A regular file, or one that is not there yet, is written under another name beside it and takes its
name when it is complete. Symbolic links are followed: what they lead to is written. What is no
regular file (a pipe, a device) is written as it stands.
"""

from __future__ import annotations

import errno
import os
import stat
import tempfile
from collections.abc import Generator
from contextlib import contextmanager, suppress
from types import TracebackType
from typing import BinaryIO, Self


class OutputFile:
    """An open file that takes the place of `path` on `close`, and leaves it alone on `discard`.

    A context manager: `discard` when the block raises. Every OSError names `path`.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = os.fspath(path)
        self._temporary: str | None = None
        with self._named():
            self._target = os.path.realpath(self.path)
            self._file: BinaryIO = self._open()

    def write(self, data: bytes | bytearray | memoryview) -> int:
        with self._named():
            return self._file.write(data)

    def flush(self) -> None:
        with self._named():
            self._file.flush()

    def close(self) -> None:
        """The file is complete."""
        try:
            with self._named():
                self._file.close()
                if self._temporary is not None:
                    os.replace(self._temporary, self._target)
                    self._temporary = None
        finally:
            self.discard()

    def discard(self) -> None:
        """The file is not wanted; nothing happens to one that is closed."""
        with suppress(OSError):
            self._file.close()
        if self._temporary is not None:
            with suppress(OSError):
                os.unlink(self._temporary)
            self._temporary = None

    def _open(self) -> BinaryIO:
        if not self.path:  # which `realpath` takes for the working directory
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
        try:
            mode = os.stat(self._target).st_mode
        except FileNotFoundError:
            mode = None
        if mode is not None and stat.S_ISDIR(mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        if mode is not None and not stat.S_ISREG(mode):
            return open(self._target, "wb")
        if mode is not None and not os.access(self._target, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        folder, name = os.path.split(self._target)
        descriptor, self._temporary = tempfile.mkstemp(dir=folder, prefix=f".{name[:40]}.")
        os.chmod(self._temporary, _new_file_mode() if mode is None else stat.S_IMODE(mode))
        return os.fdopen(descriptor, "wb")

    @contextmanager
    def _named(self) -> Generator[None]:
        try:
            yield
        except (OSError, ValueError) as error:
            number = error.errno if isinstance(error, OSError) and error.errno else errno.EINVAL
            raise OSError(number, os.strerror(number), self.path) from None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            self.close()
        else:
            self.discard()


def _new_file_mode() -> int:
    """What `open` would give a file: reading the mask means setting it for a moment."""
    mask = os.umask(0o022)
    os.umask(mask)
    return 0o666 & ~mask
