"""How are the parts of random cases drawn? `Draw`, a generator of numbers with a few habits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np

from peer_cases.case import Array

T = TypeVar("T")


class Draw:
    """Random numbers, shapes and choices of one seed."""

    def __init__(self, *seed: int) -> None:
        self.rng = np.random.default_rng(seed)

    def one_of(self, *choices: T) -> T:
        """One of the arguments."""
        return choices[int(self.rng.integers(len(choices)))]

    def often(self, probability: float = 0.5) -> bool:
        """True as often as said."""
        return bool(self.rng.random() < probability)

    def maybe(self, value: T, probability: float = 0.5) -> T | None:
        """The value as often as said, else None."""
        return value if self.often(probability) else None

    def size(self, low: int = 1, high: int = 6) -> int:
        """A whole number, both ends included."""
        return int(self.rng.integers(low, high + 1))

    def dim(self, high: int = 6) -> int:
        """A dim: mostly small; 1 now and then, rarely 0."""
        roll = self.rng.random()
        return 0 if roll < 0.03 else 1 if roll < 0.2 else self.size(1, high)

    def shape(self, low: int = 1, high: int = 4, largest: int = 6) -> list[int]:
        """Dims of a rank between `low` and `high`."""
        return [self.dim(largest) for _ in range(self.size(low, high))]

    def broadcastable(self, shape: Sequence[int]) -> list[int]:
        """A shape that broadcasts to another."""
        kept = shape[self.size(0, len(shape)) :] if self.often(0.3) else shape
        return [1 if self.often(0.2) else dim for dim in kept]

    def normal(self, *shape: int, dtype: Any = np.float32, scale: float = 1.0) -> Array:
        """Normally distributed floats."""
        return (self.rng.standard_normal(shape) * scale).astype(dtype)

    def uniform(self, low: float, high: float, *shape: int, dtype: Any = np.float32) -> Array:
        """Evenly distributed floats; of shape () without dims."""
        return np.asarray(self.rng.uniform(low, high, shape)).astype(dtype)

    def number(self, low: float, high: float) -> float:
        """A float that f32 holds."""
        return float(np.float32(self.rng.uniform(low, high)))

    def special(self, x: Array, probability: float = 0.15) -> Array:
        """Floats, some of them infinite, not a number or a signed zero, as often as said."""
        if not self.often(probability) or not x.size:
            return x
        values = np.array([np.nan, np.inf, -np.inf, -0.0, 0.0], x.dtype)
        return np.where(self.rng.random(x.shape) < 0.1, self.rng.choice(values, x.shape), x).astype(x.dtype)

    def whole(self, dtype: Any, *shape: int) -> Array:
        """Whole numbers of all of a type's range."""
        limits = np.iinfo(dtype)
        return self.rng.integers(limits.min, limits.max, shape, dtype, endpoint=True)

    def below(self, end: int, *shape: int, dtype: Any = np.int64, low: int = 0) -> Array:
        """Whole numbers from `low` to below `end`."""
        return self.rng.integers(low, max(end, low + 1), shape).astype(dtype)

    def bools(self, *shape: int, dtype: Any = np.bool_) -> Array:
        """True and False, or 1 and 0 of another type."""
        return self.rng.integers(0, 2, shape).astype(dtype)

    def scale(self, *shape: int) -> Array:
        """The scale of a quantization."""
        return self.uniform(0.005, 0.1, *shape)

    def some(self, attributes: dict[str, T], probability: float = 0.5) -> dict[str, T]:
        """Some of the attributes."""
        return {name: value for name, value in attributes.items() if self.often(probability)}
