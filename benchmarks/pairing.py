"""How are two contestants compared on a shared, noisy machine?

Both run in one process, in turns; a round times each of them, and the figure is the median over rounds
of the per-round ratio. One thread is timed by its CPU time, which other load on the machine disturbs
least.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Pairing:
    """Seconds per call, one entry per round, of every contestant of one run."""

    seconds: Mapping[str, list[float]]

    def median(self, name: str) -> float:
        """Median seconds per call of a contestant."""
        return statistics.median(self.seconds[name])

    def ratio(self, peer: str, name: str) -> float:
        """Median over rounds of the peer's time / `name`'s time; above 1 means `name` is faster."""
        pairs = zip(self.seconds[peer], self.seconds[name], strict=True)
        return statistics.median(p / n for p, n in pairs)

    def spread(self, peer: str, name: str) -> tuple[float, float]:
        """First and third quartile of the per-round ratios."""
        ratios = [p / n for p, n in zip(self.seconds[peer], self.seconds[name], strict=True)]
        quartiles = statistics.quantiles(ratios, n=4)
        return quartiles[0], quartiles[2]


def pair(
    contestants: Mapping[str, Callable[[], object]],
    *,
    rounds: int = 31,
    seconds_per_turn: float = 0.02,
    clock: Callable[[], float] = time.thread_time,
) -> Pairing:
    """Runs all contestants in turns.

    Args:
        rounds: turns of each contestant.
        seconds_per_turn: each turn repeats the call until about this long has passed.
        clock: what is counted; CPU time of this thread unless told otherwise.
    """
    repeats: dict[str, int] = {}
    for name, call in contestants.items():
        call()
        start = clock()
        call()
        repeats[name] = max(1, round(seconds_per_turn / max(clock() - start, 1e-7)))
    seconds: dict[str, list[float]] = {name: [] for name in contestants}
    for _ in range(rounds):
        for name, call in contestants.items():
            start = clock()
            for _ in range(repeats[name]):
                call()
            seconds[name].append((clock() - start) / repeats[name])
    return Pairing(seconds)
