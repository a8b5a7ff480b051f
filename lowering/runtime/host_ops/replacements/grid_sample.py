"""GridSample: the reference implementation fails on empty grids, takes a loop of Python per point, and clamps
places instead of elements where `cubic` reads beyond the border.
"""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np

from onnxloom.lowering.runtime.host_ops.registry import Attributes, replaces

Array = np.ndarray[Any, Any]

CUBIC = -0.75
"""The coefficient of the cubic the standard asks for."""

FAR = 1e9
"""Places beyond this are as far outside as can be; larger numbers are no indices."""


@replaces("GridSample")
def grid_sample(attributes: Attributes, x: Array, grid: Array) -> list[Array]:
    """`x` `[N, C, *spatial]` at the places in [-1, 1] of `grid` `[N, *out, rank]`, last spatial dim first."""
    sizes, out = x.shape[2:], grid.shape[1:-1]
    aligned, padding = bool(attributes.get("align_corners", 0)), attributes.get("padding_mode", "zeros")
    wide = np.float64 if np.float64 in (x.dtype, grid.dtype) else np.float32
    places = grid.reshape(grid.shape[0], math.prod(out), len(sizes)).astype(wide)
    taps: list[list[tuple[tuple[Array, Array], Array]]] = []
    for d, size in enumerate(sizes):
        read = _taps(_place(places[..., -1 - d], size, aligned), attributes)
        taps.append([(_inside(index, size, padding, aligned), weight) for index, weight in read])
    flat = x.reshape(*x.shape[:2], math.prod(sizes))
    total = np.zeros((*x.shape[:2], places.shape[1]), wide)
    for choice in itertools.product(*taps):
        at, weight = np.zeros(places.shape[:2], np.int64), np.ones(places.shape[:2], wide)
        for size, ((index, there), factor) in zip(sizes, choice, strict=True):
            at, weight = at * size + index, weight * factor * there
        total += np.take_along_axis(flat, at[:, None], 2) * weight[:, None]
    return [total.reshape(*x.shape[:2], *out).astype(x.dtype)]


def _place(place: Array, size: int, aligned: bool) -> Array:
    """[-1, 1] as a place among `size` elements."""
    at = (place + 1) / 2 * (size - 1) if aligned else ((place + 1) * size - 1) / 2
    return np.clip(np.nan_to_num(at, nan=-FAR), -FAR, FAR)


def _taps(place: Array, attributes: Attributes) -> list[tuple[Array, Array]]:
    """The elements an interpolation reads along one dim, and their weights."""
    mode = attributes.get("mode", "linear")
    if mode == "nearest":
        return [(np.rint(place).astype(np.int64), np.ones_like(place))]
    floor = np.floor(place)
    base, rest = floor.astype(np.int64), place - floor
    if mode in ("linear", "bilinear"):
        return [(base, 1 - rest), (base + 1, rest)]
    if mode not in ("cubic", "bicubic"):
        raise ValueError(f"mode {mode!r}")
    return [(base + d, _cubic(np.abs(rest - d))) for d in (-1, 0, 1, 2)]


def _cubic(distance: Array) -> Array:
    near = ((CUBIC + 2) * distance - (CUBIC + 3)) * distance * distance + 1
    far = ((CUBIC * distance - 5 * CUBIC) * distance + 8 * CUBIC) * distance - 4 * CUBIC
    return np.where(distance <= 1, near, far)


def _inside(index: Array, size: int, padding: str, aligned: bool) -> tuple[Array, Array]:
    """The index of an element that stands for `index`, and whether it counts (0 or 1)."""
    there = np.ones_like(index)
    if padding == "zeros":
        there = ((index >= 0) & (index < size)).astype(np.int64)
    if padding == "reflection":
        period = max(2 * (size - 1), 1) if aligned else 2 * size
        last = period - (0 if aligned else 1)
        index = index % period
        index = np.minimum(index, last - index)
    return np.clip(index, 0, size - 1), there
