"""What does the environment say about passes? Read anew each time; nothing is imported for it."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Final

SKIP: Final = "ONNXLOOM_SKIP_PASSES"
LOG: Final = "ONNXLOOM_PASS_LOG"


def skipped_by_environment() -> tuple[str, ...]:
    """The names of passes in ONNXLOOM_SKIP_PASSES, which are separated by commas."""
    return tuple(split_names([os.environ.get(SKIP, "")]))


def log_wanted() -> bool:
    """Whether ONNXLOOM_PASS_LOG asks for a line per pass on stderr."""
    return os.environ.get(LOG, "") not in ("", "0")


def split_names(texts: Iterable[str]) -> list[str]:
    """Names of a list whose entries may hold several, separated by commas."""
    return [name.strip() for text in texts for name in text.split(",") if name.strip()]
