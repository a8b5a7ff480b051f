"""How often is garbage looked for while a model is compiled? More rarely than usual.

Each time, all there is of IR is walked, and hardly any of it is garbage; with Python's usual thresholds that
takes a tenth of the time of a compilation.
"""

from __future__ import annotations

import gc
import threading
from collections.abc import Generator
from contextlib import contextmanager

_THRESHOLDS = (10_000, 50, 1_000)

_lock = threading.Lock()
_users = 0
_before = (0, 0, 0)


@contextmanager
def rare_collections() -> Generator[None]:
    """The thresholds of Python's collector are high inside; several threads may be inside at once.

    Where they have been changed meanwhile they stay so, and a collector that is switched off stays off.
    """
    global _users, _before
    with _lock:
        if not _users and gc.isenabled():
            _before = gc.get_threshold()
            gc.set_threshold(*_THRESHOLDS)
        _users += 1
    try:
        yield
    finally:
        with _lock:
            _users -= 1
            if not _users and gc.get_threshold() == _THRESHOLDS:
                gc.set_threshold(*_before)
