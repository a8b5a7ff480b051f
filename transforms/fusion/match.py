"""What does detection answer: a chain worth fusing, or a reason why not?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

from xdsl.ir import Operation, SSAValue

from onnxloom.transforms.miss import Miss

if TYPE_CHECKING:
    from onnxloom.transforms.fusion.helper import FusionOpKindHelper

__all__ = ["Benefit", "Body", "Match", "Miss"]

HelperT_co = TypeVar("HelperT_co", bound="FusionOpKindHelper", covariant=True)


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

    inputs: tuple[SSAValue, ...]
    """The block arguments, one per input of the fused op."""
