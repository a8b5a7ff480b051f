"""What did the creation pass fuse, what did it decline, and why?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from xdsl.ir import Operation

from onnxloom.transforms.describe import describe
from onnxloom.transforms.fusion.helper import FusionOpKindHelper
from onnxloom.transforms.fusion.match import Benefit, Match, Miss

__all__ = ["Decline", "FusedChain", "FusionReport", "Reason", "chain_of", "describe"]


@dataclass(frozen=True)
class Reason:
    """Why something was not done, and where that was decided."""

    text: str
    file: str
    line: int

    @staticmethod
    def of(miss: Miss) -> Reason:
        return Reason(miss.reason, miss.file, miss.line)

    def __str__(self) -> str:
        return f"{self.text} ({self.file}:{self.line})"


@dataclass(frozen=True)
class FusedChain:
    """A fused op that was made."""

    kind: str
    anchor: str
    """The op the match started from, as `describe` puts it."""

    ops: tuple[str, ...]
    """Op names in order."""

    benefit: Benefit | None
    stops: tuple[Reason, ...]
    """Why the chain ends where it does."""

    left_out: tuple[str, ...] = ()
    """Ops next to the chain that no stop names, each with why it is not fused."""

    def __str__(self) -> str:
        benefit = "" if self.benefit is None else f": {self.benefit}"
        return f"{self.kind} at {self.anchor}, {' '.join(self.ops)}{benefit}"


@dataclass(frozen=True)
class Decline:
    """An anchor at which a kind found nothing to fuse."""

    kind: str
    anchor: str
    reason: Reason

    def __str__(self) -> str:
        return f"{self.kind} at {self.anchor}: {self.reason}"


@dataclass
class FusionReport:
    """All chains and declines of one run, in program order; `str` is the same from run to run."""

    chains: list[FusedChain] = field(default_factory=list[FusedChain])
    declines: list[Decline] = field(default_factory=list[Decline])

    def clear(self) -> None:
        self.chains.clear()
        self.declines.clear()

    def __str__(self) -> str:
        lines = [
            f"fused {_count(len(self.chains), 'chain')}, declined {_count(len(self.declines), 'anchor')}"
        ]
        for chain in self.chains:
            lines.append(f"  fused {chain}")
            lines.extend(f"    ends: {reason}" for reason in chain.stops)
            lines.extend(f"    left out: {neighbour}" for neighbour in chain.left_out)
        lines.extend(f"  declined {decline}" for decline in self.declines)
        return "\n".join(lines)


def chain_of(match: Match[FusionOpKindHelper], anchor: Operation) -> FusedChain:
    """Must be called before the chain is replaced."""
    return FusedChain(
        match.helper.kind,
        describe(anchor),
        tuple(op.name.removeprefix("onnx.") for op in match.ops),
        match.benefit,
        _distinct(match.stops),
    )


def _distinct(misses: Sequence[Miss]) -> tuple[Reason, ...]:
    return tuple(dict.fromkeys(Reason.of(miss) for miss in misses))


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
