"""Are kernels to be checked? Where nobody says so, the environment decides."""

from __future__ import annotations

import os

VARIABLE = "ONNXLOOM_CHECKED"


def checked_by_environment() -> bool:
    """Whether `$ONNXLOOM_CHECKED` is set to something other than 0."""
    return os.environ.get(VARIABLE, "0") not in ("", "0")
