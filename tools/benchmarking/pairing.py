"""How are contestants compared on a shared, noisy machine?

All run in one process, in turns; a round times each of them, and the figure is the median over rounds of the
per-round ratio. One thread is timed by its CPU time, which other load on the machine disturbs least.
"""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Pairing:
    """Seconds per call, one entry per round, of every contestant of one run."""

    seconds: Mapping[str, Sequence[float]]

    def median(self, name: str) -> float:
        """Median seconds per call of a contestant."""
        return statistics.median(self.seconds[name])

    def ratios(self, peer: str, name: str) -> list[float]:
        """Per round, the peer's time / `name`'s time; above 1 means `name` is faster."""
        return [p / n for p, n in zip(self.seconds[peer], self.seconds[name], strict=True)]

    def ratio(self, peer: str, name: str) -> float:
        """Median of `ratios`."""
        return statistics.median(self.ratios(peer, name))

    def spread(self, peer: str, name: str) -> tuple[float, float]:
        """First and third quartile of `ratios`."""
        found = self.ratios(peer, name)
        if len(found) < 2:
            return found[0], found[0]
        quartiles = statistics.quantiles(found, n=4)
        return quartiles[0], quartiles[2]

    def confidence(self, peer: str, name: str) -> tuple[float, float]:
        """Between these lies the median ratio with a probability of 95 %."""
        return median_interval(self.ratios(peer, name))


def median_interval(values: Sequence[float], level: float = 0.95) -> tuple[float, float]:
    """Order statistics that hold the median with a probability of `level`, whatever the distribution.

    The smallest and the largest where there are too few values for that.
    """
    ordered, count = sorted(values), len(values)
    outside, rank = 0.0, 0
    while rank < count // 2:
        outside += math.comb(count, rank) * 0.5**count
        if 2 * outside > 1 - level:
            break
        rank += 1
    low = max(rank - 1, 0)
    return ordered[low], ordered[count - 1 - low]


def pair(
    contestants: Mapping[str, Callable[[], object]],
    *,
    rounds: int = 31,
    seconds_per_turn: float = 0.02,
    clock: Callable[[], float] = time.thread_time,
    settle: float = 0.0,
) -> Pairing:
    """Runs all contestants in turns.

    Args:
        rounds: turns of each contestant.
        seconds_per_turn: each turn repeats the call until about this long has passed.
        clock: what is counted; CPU time of this thread unless told otherwise.
        settle: seconds to wait before each turn, and then a call that is not timed: threads of a contestant
            that spin for a while after its turn would take the cores of the next one.
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
            if settle:
                time.sleep(settle)
                call()
            start = clock()
            for _ in range(repeats[name]):
                call()
            seconds[name].append((clock() - start) / repeats[name])
    return Pairing(seconds)
