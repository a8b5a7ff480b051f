"""How far are outputs of one contestant from those of another? The largest error over their range."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np


def outputs_error(want: Mapping[str, Any], got: Mapping[str, Any]) -> float:
    """The worst error of an output of `want`; infinite where one is missing or of another form."""
    return max((value_error(value, got.get(name)) for name, value in want.items()), default=0.0)


def value_error(want: Any, got: Any) -> float:
    """0 for equal values; NaN and infinities must stand in the same places."""
    if isinstance(want, Mapping) and isinstance(got, Mapping):
        return _mappings(cast("Mapping[Any, Any]", want), cast("Mapping[Any, Any]", got))
    if isinstance(want, list | tuple) and isinstance(got, list | tuple):
        return _sequences(cast("Sequence[Any]", want), cast("Sequence[Any]", got))
    if want is None or got is None:
        return 0.0 if want is got else math.inf
    return _arrays(np.asarray(want), np.asarray(got))


def _mappings(want: Mapping[Any, Any], got: Mapping[Any, Any]) -> float:
    if want.keys() != got.keys():
        return math.inf
    return max((value_error(value, got[key]) for key, value in want.items()), default=0.0)


def _sequences(want: Sequence[Any], got: Sequence[Any]) -> float:
    if len(want) != len(got):
        return math.inf
    return max((value_error(a, b) for a, b in zip(want, got, strict=True)), default=0.0)


def _arrays(want: np.ndarray[Any, Any], got: np.ndarray[Any, Any]) -> float:
    if want.shape != got.shape:
        return math.inf
    if want.dtype.kind in "OUSc" or got.dtype.kind in "OUSc":
        return 0.0 if np.array_equal(want, got) else math.inf
    a, b = want.astype(np.float64), got.astype(np.float64)
    finite = np.isfinite(a)
    if not np.array_equal(finite, np.isfinite(b)) or not np.array_equal(
        a[~finite], b[~finite], equal_nan=True
    ):
        return math.inf
    a, b = a[finite], b[finite]
    if not a.size:
        return 0.0
    spread = float(np.ptp(a)) or float(np.abs(a).max()) or 1.0
    return float(np.abs(a - b).max()) / spread
