"""What is Winograd's minimal filtering F(4x4, 3x3)? The matrices, and the weights in packed form.

A tile of 4x4 results of a 3x3 window is `AT [(G w GT) * (BT d B)] A` for the 6x6 inputs `d` under it: 36
multiplications per channel where the direct form takes 144. The matrices evaluate the polynomials of the
rows at 0, +-3/4, +-3/2 and infinity (Toom-Cook). These points keep the rounding error near that of the direct
sum, where the textbook's 0, +-1, +-2 triple it, and every factor of BT and AT is exact in f32.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

TILE = 4
"""Results of a tile along one dim."""

PATCH = 6
"""Inputs under a tile along one dim."""

NEAR, FAR = 0.75, 1.5
"""The points besides 0 and infinity, each with its negative."""

_OUTER = NEAR**2 * (NEAR**2 - FAR**2)
_INNER = FAR**2 * (FAR**2 - NEAR**2)

FILTER: Array = np.array(
    [
        [1 / (NEAR * FAR) ** 2, 0, 0],
        *[[1 / (2 * _OUTER), p / (2 * _OUTER), p * p / (2 * _OUTER)] for p in (NEAR, -NEAR)],
        *[[1 / (2 * _INNER), p / (2 * _INNER), p * p / (2 * _INNER)] for p in (FAR, -FAR)],
        [0, 0, 1],
    ]
)
"""G: from the 3 weights of a row to its 6 points."""


def winograd_panels(source: Array, params: Mapping[str, int]) -> Array:
    """3x3 weights at the 36 points: `[M, C, 3, 3]` -> column panels `[ceil(M / columns), 36, C, columns]`.

    Computed in f64, rounded once; zero-padded. Params: `columns`, the panel width.
    """
    columns = params["columns"]
    rows, channels = source.shape[:2]
    panels = -(-rows // columns)
    taps = np.zeros((panels, columns, channels, 9))
    taps.reshape(panels * columns, channels, 9)[:rows] = source.reshape(rows, channels, 9)
    of_taps = np.kron(FILTER, FILTER)
    packed = np.empty((panels, PATCH * PATCH, channels, columns), np.float32)
    for panel, weights in zip(packed, taps, strict=True):  # which fit the cache, as all of them do not
        # One small product per channel: numpy shares large ones out among threads, which costs more.
        points = of_taps @ np.ascontiguousarray(weights.transpose(1, 2, 0))
        panel[...] = points.transpose(1, 0, 2)
    return packed
