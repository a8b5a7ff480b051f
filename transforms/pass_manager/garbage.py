"""When is garbage collected while passes run?

IR is a web of cycles that stays alive, and the collector walks through all of it again and again: on 10,000
ops passes took twice the time. Between passes only what the last one made is looked at.
"""

from __future__ import annotations

import gc
from collections.abc import Generator
from contextlib import contextmanager


@contextmanager
def garbage_left_alone() -> Generator[None]:
    """Within this, nothing is collected but by `collect_new`."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def collect_new() -> None:
    """Collects among the objects made since the last time."""
    gc.collect(0)
