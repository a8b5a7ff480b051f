"""What do the graphs of one run share, and what is a match on its way to being applied?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING

from xdsl.ir import Operation, SSAValue

from onnxloom.transforms.miss import Miss
from onnxloom.transforms.rewriting.options import RewriteOptions
from onnxloom.transforms.rewriting.pattern import MatchResult, PatternOptimization
from onnxloom.transforms.rewriting.replacement import Built
from onnxloom.transforms.rewriting.report import RewriteReport

if TYPE_CHECKING:
    from onnxloom.transforms.rewriting.recording import Batch


@dataclass
class Run:
    """What the blocks of one run share."""

    patterns: Sequence[PatternOptimization]
    options: RewriteOptions
    report: RewriteReport | None
    recorded: Callable[[str], AbstractContextManager[Batch]] | None
    """Opens a batch of the recorder; None when nothing is recorded."""

    rewrites: int = 0
    is_stopped: bool = False
    """Whether no more rewrites are allowed."""

    def batch(self, name: str) -> AbstractContextManager[Batch | None]:
        return nullcontext() if self.recorded is None else self.recorded(name)

    def timed(self, phase: str) -> AbstractContextManager[None]:
        return nullcontext() if self.report is None else self.report.timed(phase)

    def decline(self, pattern: PatternOptimization, miss: Miss) -> None:
        if self.report is not None:
            self.report.of(pattern.name).decline(miss)


@dataclass(frozen=True)
class Found:
    """A match that got all its ops."""

    pattern: PatternOptimization
    anchor: Operation
    match: MatchResult
    ops: Sequence[Operation]
    private: Sequence[SSAValue]
    """Values around the match that had one reader."""

    match_ns: int = 0
    built: Built | None = None
    apply_ns: int = 0
