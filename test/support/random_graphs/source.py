"""Where do the decisions of the generator come from? From a seed, or from a hypothesis strategy."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Protocol, TypeVar

from hypothesis import strategies as st

T = TypeVar("T")


class Source(Protocol):
    """Makes every decision of one graph."""

    def integer(self, low: int, high: int) -> int:
        """A whole number from `low` to `high`, both included."""
        ...

    def choice(self, options: Sequence[T]) -> T:
        """One of several; the first is the simplest."""
        ...

    def chance(self, percent: int) -> bool:
        """True in `percent` of 100 cases."""
        ...

    def shuffled(self, options: Sequence[T]) -> list[T]:
        """A permutation."""
        ...


class Seeded:
    """Decisions of a pseudo-random generator: the same seed gives the same graph."""

    def __init__(self, seed: int):
        self._random = random.Random(seed)

    def integer(self, low: int, high: int) -> int:
        return self._random.randint(low, high)

    def choice(self, options: Sequence[T]) -> T:
        return options[self._random.randrange(len(options))]

    def chance(self, percent: int) -> bool:
        return self._random.randrange(100) < percent

    def shuffled(self, options: Sequence[T]) -> list[T]:
        return self._random.sample(list(options), len(options))


class Drawn:
    """Decisions that hypothesis makes, and shrinks."""

    def __init__(self, draw: st.DrawFn):
        self._draw = draw

    def integer(self, low: int, high: int) -> int:
        return self._draw(st.integers(low, high))

    def choice(self, options: Sequence[T]) -> T:
        return self._draw(st.sampled_from(options))

    def chance(self, percent: int) -> bool:
        return self._draw(st.integers(0, 99)) >= 100 - percent

    def shuffled(self, options: Sequence[T]) -> list[T]:
        return self._draw(st.permutations(list(options)))
