"""What does detection answer: a chain worth fusing, or a reason why not?"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final, Generic, TypeVar

from xdsl.ir import BlockArgument, Operation, SSAValue

if TYPE_CHECKING:
    from onnxloom.transforms.fusion.helper import FusionOpKindHelper

_ROOT: Final = Path(__file__).resolve().parents[2]

HelperT_co = TypeVar("HelperT_co", bound="FusionOpKindHelper", covariant=True)


@dataclass(frozen=True, init=False)
class Miss:
    """A declined match, or a fused op that is not what its attributes say.

    Made where the check stands: the file and line of the call are kept (a frame look-up, no stack
    walk, so that a miss costs about a microsecond).
    """

    reason: str
    owner: Operation | None = field(compare=False)
    """The op that starts the match this anchor would belong to, when that is why there is none here."""

    _file: str = field(compare=False, repr=False)
    line: int = field(compare=False, repr=False)

    def __init__(self, reason: str, *, owner: Operation | None = None):
        frame = sys._getframe(1)  # pyright: ignore[reportPrivateUsage] (inspect walks the stack)
        object.__setattr__(self, "reason", reason)
        object.__setattr__(self, "owner", owner)
        object.__setattr__(self, "_file", frame.f_code.co_filename)
        object.__setattr__(self, "line", frame.f_lineno)

    @property
    def file(self) -> str:
        """Path of the check's source file: below the project's root where it is one of its own."""
        return _shown_path(self._file)

    def within(self, context: str) -> Miss:
        """The same check's answer to a wider question: `context: reason`."""
        wider = Miss(f"{context}: {self.reason}", owner=self.owner)
        object.__setattr__(wider, "_file", self._file)
        object.__setattr__(wider, "line", self.line)
        return wider

    def __str__(self) -> str:
        return f"{self.reason} ({self.file}:{self.line})"


@cache
def _shown_path(file: str) -> str:
    path = Path(file).resolve()
    return path.relative_to(_ROOT).as_posix() if path.is_relative_to(_ROOT) else path.name


@dataclass(frozen=True)
class Benefit:
    """What fusing a chain saves, by estimate."""

    launches: int
    """Kernel launches saved."""

    traffic: int
    """Bytes of memory traffic saved; dims that are not known count as 1."""

    recomputed: int = 0
    """Scalar evaluations done more than once because a small value is computed for each element."""

    is_lower_bound: bool = False
    """Whether a dim was not known."""

    def is_worth_it(self) -> bool:
        """At least one launch less, and recomputation below a scalar per four bytes saved."""
        return self.launches > 0 and self.recomputed * 4 <= max(self.traffic, 4096)

    def __str__(self) -> str:
        least = "at least " if self.is_lower_bound else ""
        again = f", recomputes {self.recomputed} scalars" if self.recomputed else ""
        plural = "" if self.launches == 1 else "es"
        return f"saves {self.launches} launch{plural} and {least}{self.traffic} bytes of traffic{again}"


@dataclass(frozen=True)
class Match(Generic[HelperT_co]):
    """A chain to fuse: nothing is decided after this, only built."""

    helper: HelperT_co
    """The kind with its parameters filled in."""

    ops: Sequence[Operation]
    """The ops that move into the body, all of one block; a producer before its readers.

    The inputs of the fused op are counted in first-use order of these ops.
    """

    results: Sequence[SSAValue]
    """The values the fused op yields, in order: all that anything outside reads."""

    benefit: Benefit | None = None

    stops: Sequence[Miss] = ()
    """Why the chain ends where it does."""


@dataclass(frozen=True)
class Body:
    """The body of a live fused op as read back."""

    ops: tuple[Operation, ...]
    """In order, without constants, absent values and shape plumbing."""

    results: tuple[SSAValue, ...]
    """What the body yields."""

    inputs: tuple[BlockArgument, ...]
    """The block arguments, one per input of the fused op."""
