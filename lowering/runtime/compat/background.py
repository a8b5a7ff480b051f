"""Who runs `InferenceSession.run_async`? A few threads that are there as long as there is work."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

WORKERS: Final = 4

_lock = threading.Lock()
_pool: ThreadPoolExecutor | None = None


def run_in_background(
    work: Callable[[], list[Any]], callback: Callable[[list[Any], Any, str], object], user_data: Any
) -> None:
    """Calls `callback(results, user_data, error)` once `work` is done."""

    def run() -> None:
        try:
            results, error = work(), ""
        except Exception as raised:  # whatever it is, the callback is told
            results, error = [], str(raised) or type(raised).__name__
        callback(results, user_data, error)

    _threads().submit(run).add_done_callback(_report)


def _threads() -> ThreadPoolExecutor:
    global _pool
    with _lock:
        if _pool is None:
            _pool = ThreadPoolExecutor(WORKERS, thread_name_prefix="onnxloom-run-async")
        return _pool


def _report(done: Any) -> None:
    """A callback that raises is the caller's bug: it is shown as that of any thread is."""
    error: BaseException | None = done.exception()
    if error is not None:
        place = (type(error), error, error.__traceback__, threading.current_thread())
        threading.excepthook(threading.ExceptHookArgs(place))  # pyright: ignore[reportUnknownArgumentType]


def _forget() -> None:
    """Threads do not survive a fork."""
    global _lock, _pool
    _lock, _pool = threading.Lock(), None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
