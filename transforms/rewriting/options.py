"""What may a caller of the rewriting engine choose?"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from xdsl.ir import Operation

if TYPE_CHECKING:
    from onnxloom.transforms.folding.evaluator import Evaluator

CHECK_INDEX = "ONNXLOOM_CHECK_INDEX"
"""Environment variable: check the index of a graph after each of its batches."""


def _check_index() -> bool:
    return os.environ.get(CHECK_INDEX, "") not in ("", "0")


@dataclass(frozen=True)
class RewriteOptions:
    """How far rewriting goes and what it leaves alone."""

    max_iterations: int | None = None
    """Rounds of matching and applying per graph; when left out, a bound no sane set of patterns reaches."""

    stop_after: int | None = None
    """At most so many rewrites."""

    do_not_remove: Callable[[Operation], bool] | None = None
    """Ops that stay, besides those marked `onnxloom.keep`."""

    opset: int | None = None
    """Version of the default domain that results may use; the newest when left out."""

    fold: Evaluator | None = None
    """Computes the ops a round introduced whose inputs are all constant; nothing is computed without."""

    check_index: bool = field(default_factory=_check_index)
    """Compare each index with its block, by brute force, after every batch, and each block with what it
    was before patterns were asked."""

    def __post_init__(self) -> None:
        for name in ("max_iterations", "stop_after"):
            number = getattr(self, name)
            if number is not None and number < 0:
                raise ValueError(f"{name} is {number}; expected 0 or more, or None")
