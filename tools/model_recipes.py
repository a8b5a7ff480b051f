"""How are the inputs of a fetched model made from its recipe and a seed?

Ranges follow what the models are used for: token ids within the vocabulary, audio as harmonic tones
with noise, padding masks that are prefixes.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

Array = np.ndarray[Any, Any]
Generator = np.random.Generator


@dataclass(frozen=True)
class InputRecipe:
    """One input: its type, and a kind of data with parameters."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    kind: str
    parameters: Mapping[str, Any]


@dataclass(frozen=True)
class FetchedModel:
    """One entry of the index."""

    name: str
    family: str
    package: str
    version: str
    path: str
    """Of the model inside its package."""
    licence: str
    sha256: str
    size: int
    inputs: tuple[InputRecipe, ...]

    def line(self) -> str:
        origin = f"{self.package}=={self.version}"
        return f"{self.name:40} {origin:36} {self.size / 1e6:7.2f} MB  {self.family}  ({self.licence})"

    def fingerprint(self, version: int) -> list[Any]:
        """Changes when the data beside the model have to be made anew."""
        recipes = [[i.name, i.dtype, list(i.shape), i.kind, dict(i.parameters)] for i in self.inputs]
        return [version, self.sha256, recipes]


def make_inputs(model: FetchedModel, seed: int = 0) -> dict[str, Array]:
    """Arrays by input name; the same on every machine. Raises ValueError for a recipe nobody knows."""
    return {recipe.name: make_input(recipe, f"{model.name}/{recipe.name}", seed) for recipe in model.inputs}


def make_input(recipe: InputRecipe, label: str, seed: int = 0) -> Array:
    maker = _KINDS.get(recipe.kind)
    if maker is None:
        raise ValueError(f"{label}: recipe {recipe.kind!r} is not one of {', '.join(sorted(_KINDS))}")
    random = np.random.default_rng([seed, zlib.crc32(label.encode())])
    return np.asarray(maker(random, recipe.shape, **recipe.parameters)).astype(recipe.dtype)


def _normal(random: Generator, shape: tuple[int, ...], mean: float, std: float) -> Array:
    return random.normal(mean, std, shape)


def _uniform(random: Generator, shape: tuple[int, ...], low: float, high: float) -> Array:
    return random.uniform(low, high, shape)


def _integers(random: Generator, shape: tuple[int, ...], low: int, high: int) -> Array:
    """From `low` to below `high`."""
    return random.integers(low, high, shape)


def _constant(random: Generator, shape: tuple[int, ...], value: float) -> Array:
    return np.full(shape, value)


def _tone(random: Generator, shape: tuple[int, ...], peak: float, rate: int) -> Array:
    """Mono audio in row-major order: a gliding harmonic tone with some noise."""
    count = int(np.prod(shape))
    time = np.arange(count) / rate
    pitch = random.uniform(110, 330) * (1 + 0.05 * np.sin(2 * np.pi * 3 * time))
    phase = 2 * np.pi * np.cumsum(pitch) / rate
    tone = sum(np.sin(k * phase) / k for k in range(1, 7))
    noisy = tone + 0.05 * random.standard_normal(count)
    return (noisy * (peak / np.abs(noisy).max())).reshape(shape)


def _one_hot(random: Generator, shape: tuple[int, ...]) -> Array:
    """One 1 in each row of the last axis."""
    return np.eye(shape[-1])[random.integers(0, shape[-1], shape[:-1])]


def _prefix_mask(random: Generator, shape: tuple[int, ...], lengths: list[int]) -> Array:
    """Row i has `lengths[i]` ones, then zeros."""
    return np.arange(shape[-1]) < np.array(lengths)[:, None]


_KINDS: Final[dict[str, Callable[..., Array]]] = {
    "constant": _constant,
    "integers": _integers,
    "normal": _normal,
    "one_hot": _one_hot,
    "prefix_mask": _prefix_mask,
    "tone": _tone,
    "uniform": _uniform,
}
