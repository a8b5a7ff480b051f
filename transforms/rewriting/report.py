"""What did the engine look at, what did it rewrite, what did it decline and why, and how long did it take?"""

from __future__ import annotations

import json
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from time import perf_counter_ns
from typing import Any, Final

from onnxloom.transforms.miss import Miss

PHASES: Final = ("matching", "applying", "cleanup", "folding")


@dataclass(frozen=True, order=True)
class Decline:
    """Why a pattern was not applied, and where that was decided."""

    reason: str
    file: str
    line: int

    @staticmethod
    def of(miss: Miss) -> Decline:
        return Decline(miss.reason, miss.file, miss.line)

    def __str__(self) -> str:
        return f"{self.reason} ({self.file}:{self.line})"


@dataclass
class PatternStatistics:
    """What one pattern did."""

    candidates: int = 0
    """How often it was asked."""

    matches: int = 0
    """How often it found a place."""

    applied: int = 0
    """How many of the places were rewritten."""

    match_ns: int = 0
    apply_ns: int = 0
    declines: dict[Decline, int] = field(default_factory=dict[Decline, int])

    def decline(self, miss: Miss) -> None:
        decline = Decline.of(miss)
        self.declines[decline] = self.declines.get(decline, 0) + 1


@dataclass(frozen=True)
class Changes:
    """Rewrites by pattern, ops removed by cleanup step, rewrites by graph."""

    applied: Mapping[str, int]
    cleanup: Mapping[str, int]
    graphs: Mapping[str, int]


@dataclass
class RewriteReport:
    """Of one run over a module; texts are the same from run to run unless they show times."""

    patterns: dict[str, PatternStatistics] = field(default_factory=dict[str, PatternStatistics])
    cleanup: dict[str, int] = field(default_factory=dict[str, int])
    """Cleanup step -> ops it removed."""

    phases: dict[str, int] = field(default_factory=lambda: dict.fromkeys(PHASES, 0))
    """Phase -> nanoseconds, all graphs together, each counted once."""

    graphs: dict[str, int] = field(default_factory=dict[str, int])
    """Graph, by its path -> rewrites in it, those of graphs inside it not counted."""

    iterations: int = 0
    notes: list[str] = field(default_factory=list[str])

    @property
    def rewrites(self) -> int:
        return sum(statistics.applied for statistics in self.patterns.values())

    def changes(self) -> Changes:
        """How often the module was changed so far, and by what."""
        applied = {name: statistics.applied for name, statistics in self.patterns.items()}
        return Changes(applied, dict(self.cleanup), dict(self.graphs))

    def take_back(self, changes: Changes) -> None:
        """The module is again as it was when `changes` were all."""
        for name, statistics in self.patterns.items():
            statistics.applied = changes.applied.get(name, 0)
        self.cleanup, self.graphs = dict(changes.cleanup), dict(changes.graphs)

    def of(self, pattern: str) -> PatternStatistics:
        found = self.patterns.get(pattern)
        if found is None:
            found = self.patterns[pattern] = PatternStatistics()
        return found

    def clear(self) -> None:
        self.__dict__.update(vars(RewriteReport()))

    @contextmanager
    def timed(self, phase: str) -> Generator[None]:
        start = perf_counter_ns()
        try:
            yield
        finally:
            self.phases[phase] += perf_counter_ns() - start

    def to_json(self, *, times: bool = True) -> str:
        """All of it; without times, the same text for every run on the same model."""
        data: dict[str, Any] = {
            "rewrites": self.rewrites,
            "iterations": self.iterations,
            "patterns": [self._pattern(name, times) for name in sorted(self.patterns)],
            "cleanup": dict(sorted(self.cleanup.items())),
            "graphs": self.graphs,
            "notes": self.notes,
        }
        if times:
            data["phases_ns"] = self.phases
        return json.dumps(data, indent=1)

    def _pattern(self, name: str, times: bool) -> dict[str, Any]:
        found = self.patterns[name]
        data: dict[str, Any] = {
            "name": name,
            "candidates": found.candidates,
            "matches": found.matches,
            "applied": found.applied,
            "declines": [
                {"reason": d.reason, "file": d.file, "line": d.line, "count": count}
                for d, count in sorted(found.declines.items())
            ],
        }
        if times:
            data |= {"match_ns": found.match_ns, "apply_ns": found.apply_ns}
        return data

    def text(self, *, times: bool = False) -> str:
        """Patterns in the order of their names, declines below the pattern that gave them."""
        lines = [f"{_count(self.rewrites, 'rewrite')} in {_count(self.iterations, 'iteration')}"]
        for graph, count in self.graphs.items():
            if count:
                lines.append(f"  graph {graph}: {count}")
        for name, found in sorted(self.patterns.items()):
            spent = f", {(found.match_ns + found.apply_ns) / 1e6:.2f} ms" if times else ""
            lines.append(f"  {name}: {found.applied} of {_count(found.candidates, 'candidate')}{spent}")
            for decline, count in sorted(found.declines.items()):
                lines.append(f"    declined {count}: {decline}")
        lines.extend(f"  cleanup {step}: {count}" for step, count in sorted(self.cleanup.items()))
        if times:
            lines.extend(f"  {phase}: {spent / 1e6:.2f} ms" for phase, spent in self.phases.items())
        lines.extend(f"  note: {note}" for note in self.notes)
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.text()


_current: ContextVar[RewriteReport | None] = ContextVar("onnxloom_rewrite_report", default=None)


def current_report() -> RewriteReport | None:
    """The report in use, if anybody wants one."""
    return _current.get()


@contextmanager
def use_report(report: RewriteReport) -> Generator[RewriteReport]:
    """Within this, passes add what they do to `report`."""
    token = _current.set(report)
    try:
        yield report
    finally:
        _current.reset(token)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
