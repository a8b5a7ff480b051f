"""Where do two values, or two sets of named values, differ by more than a tolerance? The worst first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from onnxloom.testing.elements import Array, is_float, ulps
from onnxloom.testing.tolerance import EXACT, Tolerance


@dataclass(frozen=True)
class Difference:
    """One value that is not what it should be."""

    name: str
    """Of the value, with the element of a sequence or map: `y[2]`."""
    reason: str
    """What is different, in words."""
    error: float
    """In the unit of the tolerance; inf for differences that no tolerance covers."""
    comparable: bool = True
    """False: of another kind, dtype, shape or length, so that no element can be compared."""

    def __str__(self) -> str:
        return f"{self.name}: {self.reason}"


def differences(
    want: Mapping[str, Any], got: Mapping[str, Any], tolerance: Tolerance = EXACT
) -> list[Difference]:
    """What differs between two sets of values, the worst first; names and their order must agree too."""
    if list(want) != list(got):
        both = f"expected {_listed(want)}, got {_listed(got)}"
        return [Difference("names", f"{both}", np.inf, comparable=False)]
    found = [difference(name, value, got[name], tolerance) for name, value in want.items()]
    return sorted((d for d in found if d is not None), key=lambda d: -d.error)


def difference(name: str, want: Any, got: Any, tolerance: Tolerance = EXACT) -> Difference | None:
    """The worst difference between two values (arrays, sequences, maps, None), None when there is none."""
    if isinstance(want, list | tuple) and isinstance(got, list | tuple):
        return _of_items(name, cast("Sequence[Any]", want), cast("Sequence[Any]", got), tolerance)
    if isinstance(want, Mapping) and isinstance(got, Mapping):
        return _of_maps(name, cast("Mapping[Any, Any]", want), cast("Mapping[Any, Any]", got), tolerance)
    if _kind(want) != _kind(got):
        return Difference(name, f"expected {_kind(want)}, got {_kind(got)}", np.inf, comparable=False)
    return _of_arrays(name, as_array(want), as_array(got), tolerance)


def as_array(value: Any) -> Array:
    """The value as an array; strings of any dtype as objects."""
    array: Array = np.asarray(value)
    return array.astype(object) if array.dtype.kind in "US" else array


def _of_items(name: str, want: Sequence[Any], got: Sequence[Any], tolerance: Tolerance) -> Difference | None:
    if len(want) != len(got):
        return Difference(
            name, f"expected a sequence of {len(want)}, got one of {len(got)}", np.inf, comparable=False
        )
    found = (
        difference(f"{name}[{i}]", w, g, tolerance) for i, (w, g) in enumerate(zip(want, got, strict=True))
    )
    return max((d for d in found if d is not None), key=lambda d: d.error, default=None)


def _of_maps(
    name: str, want: Mapping[Any, Any], got: Mapping[Any, Any], tolerance: Tolerance
) -> Difference | None:
    if want.keys() != got.keys():
        return Difference(
            name, f"expected the keys {_listed(want)}, got {_listed(got)}", np.inf, comparable=False
        )
    found = (difference(f"{name}[{key!r}]", value, got[key], tolerance) for key, value in want.items())
    return max((d for d in found if d is not None), key=lambda d: d.error, default=None)


def _of_arrays(name: str, want: Array, got: Array, tolerance: Tolerance) -> Difference | None:
    if want.dtype.newbyteorder("=") != got.dtype.newbyteorder("="):
        return Difference(name, f"expected dtype {want.dtype}, got {got.dtype}", np.inf, comparable=False)
    if want.shape != got.shape:
        return Difference(
            name, f"expected shape {list(want.shape)}, got {list(got.shape)}", np.inf, comparable=False
        )
    with np.errstate(all="ignore"):
        errors = tolerance.errors(want, got)
    wrong = int(np.count_nonzero(errors > tolerance.limit))
    if not wrong:
        return None
    index = tuple(map(int, np.unravel_index(int(np.argmax(errors)), want.shape)))
    place = f"[{', '.join(map(str, index))}]" if index else ""
    reason = f"element {place}: " if place else ""
    reason += f"expected {_shown(want[index])}, got {_shown(got[index])}{_apart(want, got, index)}"
    share = f"{wrong} of {want.size} elements out of tolerance ({tolerance})"
    return Difference(name, f"{reason}; {share}", float(errors[index]))


def _apart(want: Array, got: Array, index: tuple[int, ...]) -> str:
    """`, 12 ulp apart` for a pair of finite floats."""
    if not is_float(want.dtype):
        return ""
    pair = want[index].reshape(1), got[index].reshape(1)
    if not all(np.isfinite(one.astype(np.float64)).all() for one in pair):
        return ""
    return f", {ulps(*pair)[0]:.0f} ulp apart"


def _kind(value: Any) -> str:
    if value is None:
        return "nothing"
    if isinstance(value, list | tuple):
        return "a sequence"
    return "a map" if isinstance(value, Mapping) else "a tensor"


def _shown(element: Any) -> str:
    return repr(element[:40]) if isinstance(element, str) else str(element)


def _listed(names: Any) -> str:
    return ", ".join(map(str, names)) or "none"
