"""What did each pass of a pipeline do? One entry per run, as data and as a line of text.

`ONNXLOOM_PASS_LOG=1` prints the lines on stderr while passes run.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum

from xdsl.passes import ModulePass

from onnxloom.transforms.pass_manager.cost import Cost
from onnxloom.transforms.pass_manager.pass_text import pass_text


class Outcome(Enum):
    """What came of a pass."""

    CHANGED = "changed"
    UNCHANGED = "unchanged"
    NOT_NEEDED = "not needed"
    """It changed nothing when it ran last, and nothing has changed since."""
    SKIPPED = "skipped"
    FAILED = "failed"


@dataclass(frozen=True)
class PassRun:
    """One run of one pass."""

    step: ModulePass
    """The pass; what it reports is its `report`."""

    outcome: Outcome
    seconds: float = 0.0
    sweep: int = 0
    """Which sweep of a group it belongs to, from 1; 0 outside groups."""

    before: Cost | None = None
    """Only where the log was asked for."""

    after: Cost | None = None
    error: str = ""
    """Why it failed."""

    def line(self) -> str:
        """`pass-name: changed, ops 12 -> 9 (-3), ...`."""
        sweep = f" [sweep {self.sweep}]" if self.sweep else ""
        text = f"{pass_text(self.step)}{sweep}: {self.outcome.value}"
        if self.error:
            text += f": {self.error}"
        if self.before is not None and self.after is not None and self.outcome is Outcome.CHANGED:
            text += f", {_delta('ops', self.before.ops, self.after.ops)}"
            text += f", {_delta('FLOP', self.before.flops, self.after.flops)}"
            text += f", {_delta('bytes', self.before.moved_bytes, self.after.moved_bytes)}"
        ran = self.outcome not in (Outcome.SKIPPED, Outcome.NOT_NEEDED)
        return f"{text}, {self.seconds * 1e3:.1f} ms" if ran else text


@dataclass
class PipelineReport:
    """The runs of a pipeline, in order."""

    runs: list[PassRun] = field(default_factory=list[PassRun])

    def of(self, name: str) -> Sequence[PassRun]:
        """The runs of the pass of that name that took effect or could have."""
        return [
            run
            for run in self.runs
            if run.step.name == name and run.outcome in (Outcome.CHANGED, Outcome.UNCHANGED)
        ]

    @property
    def changed(self) -> bool:
        return any(run.outcome is Outcome.CHANGED for run in self.runs)

    @property
    def failures(self) -> Sequence[PassRun]:
        return [run for run in self.runs if run.outcome is Outcome.FAILED]

    def __str__(self) -> str:
        return "\n".join(run.line() for run in self.runs)


def _delta(what: str, before: int, after: int) -> str:
    return f"{what} {before} -> {after} ({after - before:+d})"
