"""Are the goals reached? The mean and the least ratio of each group, against what they are to be."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from benchmarks.groups import GOALS, Goal
from onnxloom.tools.benchmarking.figures_table import geometric_mean
from onnxloom.tools.benchmarking.text_table import aligned

_HEAD: Final = ("group", "models", "mean", "goal", "least", "goal", "")


@dataclass(frozen=True)
class Ratio:
    """The figure of one model."""

    group: str
    name: str
    family: str
    ratio: float


def verdict_lines(ratios: Sequence[Ratio]) -> Iterator[str]:
    """A table of the groups that were measured, in the order of GOALS."""
    by_group: dict[str, list[Ratio]] = defaultdict(list)
    for ratio in ratios:
        by_group[ratio.group].append(ratio)
    rows = [_row(goal, by_group[name]) for name, goal in GOALS.items() if name in by_group]
    yield from aligned([_HEAD, *rows], left=(0, 6), indent="")


def mean_of(goal: Goal, ratios: Sequence[Ratio]) -> float:
    """Geometric; over the means of families where the goal says so."""
    families: dict[str, list[float]] = defaultdict(list)
    for ratio in ratios:
        families[ratio.family if goal.by_family else ratio.name].append(ratio.ratio)
    return geometric_mean([geometric_mean(values) for values in families.values()])


def misses(goal: Goal, ratios: Sequence[Ratio]) -> Mapping[str, float]:
    """What is below its goal: models by name, and the mean."""
    found = {r.name: r.ratio for r in ratios if goal.each is not None and r.ratio < goal.each}
    mean = mean_of(goal, ratios)
    if goal.mean is not None and mean < goal.mean:
        found["mean"] = mean
    return found


def _row(goal: Goal, ratios: Sequence[Ratio]) -> tuple[str, ...]:
    least = min(ratios, key=lambda ratio: ratio.ratio)
    missed = misses(goal, ratios)
    has_goal = goal.each is not None or goal.mean is not None
    said = ", ".join(f"{name} {ratio:.2f}" for name, ratio in missed.items())
    verdict = f"missed: {said}" if missed else "reached" if has_goal else ""
    return (
        goal.title, str(len(ratios)), f"{mean_of(goal, ratios):.2f}", _number(goal.mean),
        f"{least.ratio:.2f}", _number(goal.each), verdict,
    )  # fmt: skip


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"
