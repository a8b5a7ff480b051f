"""A size-bounded folder of checksummed entries that several processes may share.

An entry is a file named by its key: a magic number, the SHA-256 of the payload, the payload. It is
written to a temporary file and renamed, so that a reader sees all of it or nothing; one that fails its
checksum counts as absent. Reading refreshes the file's time, and the least recently used go first.
A folder that cannot be read or written only costs the reuse.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import stat
import sys
import tempfile
from pathlib import Path

_MAGIC = b"loom1\n"
_HEADER = len(_MAGIC) + 32
_DEFAULT_BYTES = 1 << 30
_KEY = re.compile(r"[A-Za-z0-9_.-]{1,200}")
_TEMPORARY = ".writing-"
_READ_FLAGS = (
    os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
)
"""A pipe does not make a reader wait, and a link, which may lead to a device, is not opened."""


def cache_directory() -> Path | None:
    """`$ONNXLOOM_CACHE_DIR`, else the platform's per-user cache folder; None when set to nothing."""
    given = os.environ.get("ONNXLOOM_CACHE_DIR")
    if given is not None:
        return Path(given) if given else None
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return base / "onnxloom"


def cache_bytes() -> int:
    """The bound on a cache folder: `$ONNXLOOM_CACHE_BYTES`, else 1 GiB."""
    given = os.environ.get("ONNXLOOM_CACHE_BYTES", "")
    return int(given) if given.isdecimal() else _DEFAULT_BYTES


def _is_foreign(directory: Path) -> bool:
    """Whether others can put entries there. They are machine code: whoever writes them runs it."""
    if not hasattr(os, "getuid"):
        return False
    try:
        status = directory.stat()
    except OSError:
        return False
    return status.st_uid not in (os.getuid(), 0) or bool(status.st_mode & stat.S_IWOTH)


class DiskCache:
    """Keeps bytes by key in a folder."""

    def __init__(self, directory: Path | None, max_bytes: int | None = None):
        """`directory` None keeps nothing; so does a folder that is another user's or that everybody may
        write to."""
        self.directory = None if directory is None or _is_foreign(directory) else directory
        self.max_bytes = cache_bytes() if max_bytes is None else max_bytes

    def _path(self, key: str) -> Path | None:
        if not _KEY.fullmatch(key) or key.startswith("."):
            raise ValueError(f"not a cache key: {key!r}")
        return None if self.directory is None else self.directory / key

    def get(self, key: str) -> bytes | None:
        """The payload of `key`, None if absent, unreadable or damaged."""
        path = self._path(key)
        if path is None:
            return None
        try:
            data = self._read(path)
        except OSError:
            return None
        payload = data[_HEADER:]
        if data[:_HEADER] != _MAGIC + hashlib.sha256(payload).digest():
            return None
        with contextlib.suppress(OSError):
            os.utime(path)
        return payload

    def _read(self, path: Path) -> bytes:
        """A regular file within the bound; anything else was not put there by us."""
        with open(os.open(path, _READ_FLAGS), "rb") as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode) or status.st_size > self.max_bytes:
                return b""
            return file.read(status.st_size)

    def put(self, key: str, payload: bytes) -> bool:
        """Stores `payload`; False when the folder does not take it. Call `trim` after a batch."""
        path = self._path(key)
        if path is None or len(payload) + _HEADER > self.max_bytes:
            return False
        temporary: str | None = None
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            handle, temporary = tempfile.mkstemp(prefix=_TEMPORARY, dir=path.parent)
            with os.fdopen(handle, "wb") as file:
                file.write(_MAGIC + hashlib.sha256(payload).digest() + payload)
            os.replace(temporary, path)
        except OSError:
            if temporary is not None:
                with contextlib.suppress(OSError):
                    os.unlink(temporary)
            return False
        return True

    def remove(self, key: str) -> None:
        """Forgets `key`."""
        path = self._path(key)
        if path is not None:
            with contextlib.suppress(OSError):
                path.unlink()

    def trim(self) -> None:
        """Deletes least recently used entries until the folder fits its bound."""
        entries = self._entries()
        total = sum(size for _, size, _ in entries)
        for _, size, path in sorted(entries):
            if total <= self.max_bytes:
                return
            with contextlib.suppress(OSError):
                os.unlink(path)
            total -= size

    def _entries(self) -> list[tuple[float, int, str]]:
        """Time of last use, size and path of every file, temporary ones of killed writers included."""
        entries: list[tuple[float, int, str]] = []
        if self.directory is None:
            return entries
        try:
            with os.scandir(self.directory) as files:
                for file in files:
                    with contextlib.suppress(OSError):
                        if file.is_file(follow_symlinks=False):
                            status = file.stat(follow_symlinks=False)
                            entries.append((status.st_mtime, status.st_size, file.path))
        except OSError:
            return []
        return entries
