"""How far may a value be from what it should be? `Exact()`, `Abs(x)`, `Rel(x)`, `Ulp(n)`.

Everywhere: NaN is equal to NaN whatever its payload, an infinity only to itself, and strings, bools and
integers must be equal (`Abs` lets integers differ too).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, cast

import numpy as np

from onnxloom.testing.elements import Array, is_float, is_integer, magnitudes, step_of, ulps


@dataclass(frozen=True)
class Tolerance(ABC):
    """What counts as equal. `errors` and `limit` are in the unit of the tolerance."""

    @property
    @abstractmethod
    def limit(self) -> float:
        """The largest error that is none."""

    def errors(self, want: Array, got: Array) -> Array:
        """The error of each element, in float64; inf where no tolerance helps.

        Both arrays are of one dtype and shape.
        """
        if want.dtype.kind == "c":
            return self.errors(_parts(want), _parts(got)).max(axis=-1)
        if is_float(want.dtype):
            return _floats(want, got, self._of_floats)
        if is_integer(want.dtype):
            return self._of_integers(want, got)
        return np.where(want == got, 0.0, np.inf)

    @abstractmethod
    def _of_floats(self, want: Array, got: Array) -> Array:
        """Errors of finite elements."""

    def _of_integers(self, want: Array, got: Array) -> Array:
        return np.where(want == got, 0.0, np.inf)


@dataclass(frozen=True)
class Exact(Tolerance):
    """The same bits: 0.0 is not -0.0."""

    @property
    def limit(self) -> float:
        return 0.0

    def _of_floats(self, want: Array, got: Array) -> Array:
        sign_of_zero = np.signbit(magnitudes(want)) != np.signbit(magnitudes(got))
        return np.maximum(ulps(want, got), 0.5 * sign_of_zero)

    def __str__(self) -> str:
        return "exact"


EXACT: Final = Exact()


@dataclass(frozen=True)
class Ulp(Tolerance):
    """At most `n` representable values apart (units in the last place)."""

    n: int

    @property
    def limit(self) -> float:
        return float(self.n)

    def _of_floats(self, want: Array, got: Array) -> Array:
        return ulps(want, got)

    def __str__(self) -> str:
        return f"{self.n} ulp"


@dataclass(frozen=True)
class Abs(Tolerance):
    """At most `x` apart, integers too."""

    x: float

    @property
    def limit(self) -> float:
        return self.x

    def _of_floats(self, want: Array, got: Array) -> Array:
        return np.abs(magnitudes(want) - magnitudes(got))

    def _of_integers(self, want: Array, got: Array) -> Array:
        apart = np.where(cast(Any, want > got), want - got, got - want)
        unsigned = apart.astype(f"u{apart.dtype.itemsize}")  # what wraps around is right again
        return unsigned.astype(np.float64)

    def __str__(self) -> str:
        return f"abs {self.x:g}"


@dataclass(frozen=True)
class Rel(Tolerance):
    """At most `x` times the element's magnitude apart.

    Elements smaller than the array's median magnitude (cancellation leaves such) are measured by the median:
    it says what the array's numbers are about, and no outlier moves it. Also allowed are differences of at
    most `floor`, and `steps` roundings of the elements' own type, which count for 16-bit floats.
    """

    x: float
    floor: float = 0.0
    steps: int = 1

    @property
    def limit(self) -> float:
        return self.x

    def _of_floats(self, want: Array, got: Array) -> Array:
        exact = magnitudes(want)
        apart = np.abs(exact - magnitudes(got))
        sizes = np.abs(exact)
        finite = sizes[np.isfinite(sizes) & (sizes > 0)]
        scale = float(np.median(finite)) if finite.size else 0.0
        relative = apart / np.maximum(np.maximum(sizes, scale), np.finfo(np.float64).tiny)
        allowed = (apart <= self.floor) | (ulps(want, got) <= self.steps)
        return np.where(allowed | (relative <= self.steps * step_of(want.dtype)), 0.0, relative)

    def __str__(self) -> str:
        return f"rel {self.x:g}" + (f" (or {self.floor:g})" if self.floor else "")


DEFAULT: Final = Rel(1e-3, floor=1e-6, steps=16)
"""Of whole models, where nobody says: what sums in another order, and good approximations, come to."""


def _floats(want: Array, got: Array, errors: Callable[[Array, Array], Array]) -> Array:
    """`errors` of the finite elements; the others must be the same NaN or infinity."""
    exact, other = magnitudes(want), magnitudes(got)
    finite = np.isfinite(exact) & np.isfinite(other)
    same = (np.isnan(exact) & np.isnan(other)) | (exact == other)
    result = np.where(same, 0.0, np.inf)
    result[finite] = errors(want[finite], got[finite])
    return result


def _parts(array: Array) -> Array:
    """Real and imaginary parts along a last axis."""
    parts = np.ascontiguousarray(array).view(f"f{array.dtype.itemsize // 2}")
    return parts.reshape(*array.shape, 2)


def parse_tolerance(text: str) -> Tolerance:
    """`exact`, `abs:1e-5`, `rel:1e-3`, `ulp:4`, as written on a command line.

    Raises:
        ValueError: it is none of them.
    """
    kind, _, number = text.partition(":")
    try:
        if kind == "exact" and not number:
            return Exact()
        value = float(number)
        if kind in _KINDS and np.isfinite(value) and value >= 0:
            return _KINDS[kind](value)
    except ValueError:
        pass
    raise ValueError(f"{text!r} is no tolerance; expected exact, abs:X, rel:X or ulp:N")


_KINDS: Final[dict[str, Callable[[float], Tolerance]]] = {
    "abs": Abs,
    "rel": lambda x: Rel(x, floor=min(x, 1e-6)),
    "ulp": lambda n: Ulp(int(n)),
}
