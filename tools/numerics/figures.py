"""How far are two values apart, in the figures people look at?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from onnxloom.testing.difference import as_array
from onnxloom.testing.elements import Array, is_float, is_integer, magnitudes, ulps
from onnxloom.testing.tolerance import Tolerance


@dataclass(frozen=True)
class Figures:
    """Errors of one value; of a sequence, the worst of its elements."""

    absolute: float = 0.0
    """Largest difference between finite elements."""
    to_range: float = 0.0
    """The same, relative to the range of the reference's finite elements (to 1 where that is 0)."""
    ulp: float = 0.0
    """Largest number of representable values between two finite elements."""
    nan: int = 0
    """Elements that are NaN in one of the two only."""
    infinite: int = 0
    """Elements that are infinite in one only, or with another sign."""
    wrong: int = 0
    """Elements out of tolerance."""
    size: int = 0
    excess: float = 0.0
    """The largest error in units of the tolerance's limit; sorts the worst first."""


def figures(want: Any, got: Any, tolerance: Tolerance) -> Figures:
    """The figures of two values that are of the same kind, dtype and shape all through."""
    if isinstance(want, list | tuple):
        pairs = zip(cast("Sequence[Any]", want), cast("Sequence[Any]", got), strict=True)
        return _joined([figures(w, g, tolerance) for w, g in pairs])
    if isinstance(want, Mapping):
        values = cast("Mapping[Any, Any]", want)
        return _joined([figures(w, got[key], tolerance) for key, w in values.items()])
    if want is None:
        return Figures()
    with np.errstate(all="ignore"):
        return _of_arrays(as_array(want), as_array(got), tolerance)


def _of_arrays(want: Array, got: Array, tolerance: Tolerance) -> Figures:
    errors = tolerance.errors(want, got)
    wrong = int(np.count_nonzero(errors > tolerance.limit))
    worst = float(errors.max()) if errors.size else 0.0
    excess = worst / tolerance.limit if tolerance.limit else worst
    if want.dtype.kind == "c":
        want, got = (np.stack([a.real, a.imag]) for a in cast(Any, (want, got)))
    if not is_float(want.dtype):
        apart = _integer_distance(want, got) if is_integer(want.dtype) else 0.0
        return Figures(absolute=apart, wrong=wrong, size=want.size, excess=excess)
    exact, other = magnitudes(want), magnitudes(got)
    finite = np.isfinite(exact) & np.isfinite(other)
    infinite = (np.isinf(exact) | np.isinf(other)) & (exact != other)
    absolute = float(np.abs(exact[finite] - other[finite]).max()) if finite.any() else 0.0
    spread = exact[np.isfinite(exact)]
    extent = float(spread.max() - spread.min()) if spread.size else 0.0
    return Figures(
        absolute,
        absolute / extent if extent and np.isfinite(extent) else absolute,
        float(ulps(want[finite], got[finite]).max()) if finite.any() else 0.0,
        int(np.count_nonzero(np.isnan(exact) != np.isnan(other))),
        int(np.count_nonzero(infinite & ~np.isnan(exact) & ~np.isnan(other))),
        wrong,
        want.size,
        excess,
    )


def _integer_distance(want: Array, got: Array) -> float:
    if not want.size:
        return 0.0
    # Exact where it matters: float64 holds small distances of large numbers only when subtracted first.
    return max(float(abs(int(w) - int(g))) for w, g in zip(*_where_unequal(want, got), strict=True))


def _where_unequal(want: Array, got: Array) -> tuple[Sequence[Any], Sequence[Any]]:
    unequal = cast(Array, want != got)
    if not unequal.any():
        return [0], [0]
    return want[unequal][:1000].tolist(), got[unequal][:1000].tolist()


def _joined(parts: Sequence[Figures]) -> Figures:
    if not parts:
        return Figures()
    return Figures(
        absolute=max(part.absolute for part in parts),
        to_range=max(part.to_range for part in parts),
        ulp=max(part.ulp for part in parts),
        nan=sum(part.nan for part in parts),
        infinite=sum(part.infinite for part in parts),
        wrong=sum(part.wrong for part in parts),
        size=sum(part.size for part in parts),
        excess=max(part.excess for part in parts),
    )
