"""What did a folding pass fold, what did it decline, and how long did it take?"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from xdsl.ir import Operation

from onnxloom.transforms.describe import describe
from onnxloom.transforms.miss import Miss


@dataclass
class OpCount:
    """Ops of one type."""

    folded: int = 0
    declined: int = 0
    nanoseconds: int = 0
    """Deciding, evaluating and replacing."""


@dataclass(frozen=True)
class FoldingDecline:
    """An op that could have been folded and was not."""

    op: str
    """As `describe` puts it."""

    reason: str
    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.op}: {self.reason} ({self.file}:{self.line})"


@dataclass
class FoldingReport:
    """Of one run of one pass, in program order."""

    pass_name: str = ""
    ops: dict[str, OpCount] = field(default_factory=dict[str, OpCount])
    """By op name, in order of first occurrence."""

    declines: list[FoldingDecline] = field(default_factory=list[FoldingDecline])

    def clear(self) -> None:
        self.ops.clear()
        self.declines.clear()

    @property
    def folded(self) -> int:
        """Number of ops that were folded."""
        return sum(count.folded for count in self.ops.values())

    def count(self, op_name: str) -> OpCount:
        return self.ops.setdefault(op_name, OpCount())

    def decline(self, op: Operation, miss: Miss) -> None:
        self.count(op.name).declined += 1
        self.declines.append(FoldingDecline(describe(op), miss.reason, miss.file, miss.line))

    def to_json(self) -> dict[str, Any]:
        """Plain values; the same from run to run but for the times."""
        ops = {name: vars(count) for name, count in self.ops.items()}
        return {"pass": self.pass_name, "ops": ops, "declines": [vars(d) for d in self.declines]}

    def __str__(self) -> str:
        declined = len(self.declines)
        lines = [f"{self.pass_name}: folded {_ops(self.folded)}, declined {declined}"]
        for name, count in self.ops.items():
            if count.folded:
                lines.append(f"  folded {count.folded} {name} in {count.nanoseconds / 1e6:.2f} ms")
        lines.extend(f"  declined {decline}" for decline in self.declines)
        return "\n".join(lines)


def _ops(number: int) -> str:
    return f"{number} op{'' if number == 1 else 's'}"
