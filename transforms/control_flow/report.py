"""What did a pass over control flow do, and what did it leave, and why?"""

from __future__ import annotations

from dataclasses import dataclass, field

from xdsl.ir import Operation

from onnxloom.transforms.describe import describe
from onnxloom.transforms.miss import Miss


@dataclass
class FlowReport:
    """Sentences about ops, in the order in which they were looked at."""

    done: list[str] = field(default_factory=list[str])
    declined: list[tuple[str, Miss]] = field(default_factory=list[tuple[str, Miss]])
    """Op, and why it stayed."""

    def clear(self) -> None:
        self.done.clear()
        self.declined.clear()

    def decline(self, op: Operation, miss: Miss) -> None:
        self.declined.append((describe(op), miss))

    def __str__(self) -> str:
        return "\n".join([*self.done, *(f"{op} stays: {miss}" for op, miss in self.declined)])
