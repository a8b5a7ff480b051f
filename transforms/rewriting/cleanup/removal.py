"""What does a cleanup step answer: which ops go, and who takes the place of their results?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Protocol

from xdsl.ir import Operation, SSAValue


@dataclass(frozen=True)
class Removal:
    """One op that goes."""

    op: Operation
    values: Mapping[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])
    """What the readers of its results get; empty when there are none."""


class CleanupStep(Protocol):
    """One kind of cleanup of one block."""

    name: ClassVar[str]

    def find(self, work: Sequence[Operation]) -> Sequence[Removal]:
        """The ops to remove among or because of `work`, in an order in which they can be removed."""
        ...
