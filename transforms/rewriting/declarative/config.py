"""How closely must constants, attributes and operand order agree with what a pattern says?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast


@dataclass(frozen=True)
class MatcherConfig:
    """Settings of one pattern class: `config = MatcherConfig(rtol=1e-3)`."""

    rtol: float | None = None
    """Relative tolerance of floating-point constants and attributes.

    None: what rounding to the constant's own element type changes (1e-6 for f32). 0: the same value,
    bit for bit, once the number in the pattern is rounded to that type; the zeros differ. Integers always
    agree exactly.
    """

    commute: bool = True
    """Whether the two operands of Add, Mul and the other commutative ops may be in either order."""

    max_steps: int = 2000
    """After so many comparisons a search is given up: a bound on what orders and alternatives cost."""

    def __post_init__(self) -> None:
        rtol = cast(object, self.rtol)
        if rtol is not None and (not isinstance(rtol, int | float) or isinstance(rtol, bool)):
            raise TypeError(f"MatcherConfig.rtol is {rtol!r}; expected a number such as 1e-3, 0 or None")
        if rtol is not None and not 0 <= rtol < 1:
            raise ValueError(f"MatcherConfig.rtol is {rtol}; expected a relative tolerance, 0 <= rtol < 1")
        if not isinstance(cast(object, self.commute), bool):
            raise TypeError(f"MatcherConfig.commute is {self.commute!r}; expected True or False")
        if not isinstance(cast(object, self.max_steps), int) or self.max_steps < 1:
            raise ValueError(f"MatcherConfig.max_steps is {self.max_steps!r}; expected a positive integer")
