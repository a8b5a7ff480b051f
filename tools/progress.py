"""How does a terminal show that a compile takes long? One line on stderr, rewritten, gone at the end.

Nothing is shown in the first second, nor when stderr is no terminal.
"""

from __future__ import annotations

import sys
import threading
import time
from types import TracebackType
from typing import Self

DELAY = 1.0
INTERVAL = 0.2


class ProgressLine:
    """A context manager to call with (stage, number of the stage, number of stages)."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._start = time.monotonic()
        self._stage = ""
        self._done = threading.Event()
        self._thread: threading.Thread | None = None

    def __enter__(self) -> Self:
        if sys.stderr.isatty():
            self._thread = threading.Thread(target=self._show, daemon=True)
            self._thread.start()
        return self

    def __call__(self, stage: str, number: int, total: int) -> None:
        self._stage = f"{stage} ({number + 1}/{total})"

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._done.set()
        if self._thread is not None:
            self._thread.join()

    def _show(self) -> None:
        if self._done.wait(DELAY):
            return
        while True:
            seconds = time.monotonic() - self._start
            sys.stderr.write(f"\r\x1b[K{self._what}: {self._stage} {seconds:.0f} s")
            sys.stderr.flush()
            if self._done.wait(INTERVAL):
                break
        sys.stderr.write("\r\x1b[K")
        sys.stderr.flush()
