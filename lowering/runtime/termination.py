"""How does a run end early? It asks, between two slices of work or steps, whether it is to go on."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

_run: Any = threading.local()


@contextmanager
def terminable(check: Callable[[], None] | None) -> Generator[None]:
    """`check` is called now, and from time to time by what this thread runs inside; it raises to end that."""
    if check is None:
        yield
        return
    check()
    before = getattr(_run, "check", None)
    _run.check = check
    try:
        yield
    finally:
        _run.check = before


def check_terminated() -> None:
    """Raises what the check of the current run raises."""
    check = getattr(_run, "check", None)
    if check is not None:
        check()
