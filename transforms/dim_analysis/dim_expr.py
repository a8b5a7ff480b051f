"""What is one dim of a tensor when it is not a number? A canonical integer polynomial.

Its atoms are symbols (one per named or unknown dim) and the few non-polynomial forms that shapes
need: floor division, `max(x, 0)` and the broadcast of two dims. Equal expressions of this form are
equal dims; the functions of `dim_ops` build the non-polynomial atoms in canonical form.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final, TypeAlias

Bounds: TypeAlias = tuple[int | None, int | None]
"""Least and greatest value; None: not bounded."""

Assignment: TypeAlias = "Mapping[Symbol, int] | Mapping[str, int]"
"""Values of symbols, by symbol or by name."""


@dataclass(frozen=True)
class Symbol:
    """An unknown integer."""

    name: str

    serial: int = 0
    """Above 0: anonymous, numbered in order of creation. Equal names of the model (0) are one symbol."""

    nonnegative: bool = True
    """A dim; otherwise an element of an integer tensor, of either sign."""

    @cached_property
    def sort_key(self) -> str:
        """Symbols come before the other atoms."""
        return self.name

    def bounds(self) -> Bounds:
        return (0, None) if self.nonnegative else (None, None)

    def evaluate(self, values: Assignment) -> int:
        by_symbol: Mapping[object, int] = values  # pyright: ignore[reportAssignmentType]
        return by_symbol[self] if self in by_symbol else by_symbol[self.name]

    def symbols(self) -> Iterator[Symbol]:
        yield self

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class FloorDiv:
    """`numerator // denominator`; the denominator is above 0 whenever the op that made it can run."""

    numerator: DimExpr
    denominator: DimExpr

    @cached_property
    def sort_key(self) -> str:
        return f"~({self.numerator})//({self.denominator})"

    def bounds(self) -> Bounds:
        low, high = self.numerator.bounds()
        divisor = self.denominator.constant
        if divisor is None:
            return (0 if low is not None and low >= 0 else None, None)
        return (None if low is None else low // divisor, None if high is None else high // divisor)

    def evaluate(self, values: Assignment) -> int:
        return self.numerator.evaluate(values) // self.denominator.evaluate(values)

    def symbols(self) -> Iterator[Symbol]:
        yield from self.numerator.symbols()
        yield from self.denominator.symbols()

    def __str__(self) -> str:
        return f"{_bracketed(self.numerator)}//{_bracketed(self.denominator)}"


@dataclass(frozen=True)
class PositivePart:
    """`max(argument, 0)`."""

    argument: DimExpr

    @cached_property
    def sort_key(self) -> str:
        return f"~{self}"

    def bounds(self) -> Bounds:
        low, high = self.argument.bounds()
        return (0 if low is None else max(low, 0), None if high is None else max(high, 0))

    def evaluate(self, values: Assignment) -> int:
        return max(self.argument.evaluate(values), 0)

    def symbols(self) -> Iterator[Symbol]:
        yield from self.argument.symbols()

    def __str__(self) -> str:
        return f"max({self.argument}, 0)"


@dataclass(frozen=True)
class Broadcast:
    """The common dim of dims that must be equal or 1."""

    dims: tuple[DimExpr, ...]

    @cached_property
    def sort_key(self) -> str:
        return f"~{self}"

    def bounds(self) -> Bounds:
        return (0, None)

    def evaluate(self, values: Assignment) -> int:
        sizes = {dim.evaluate(values) for dim in self.dims} - {1}
        if len(sizes) > 1:
            raise ValueError(f"dims {sorted(sizes)} do not broadcast")
        return sizes.pop() if sizes else 1

    def symbols(self) -> Iterator[Symbol]:
        for dim in self.dims:
            yield from dim.symbols()

    def __str__(self) -> str:
        return f"bcast({', '.join(map(str, self.dims))})"


Atom: TypeAlias = Symbol | FloorDiv | PositivePart | Broadcast
Monomial: TypeAlias = tuple[tuple[Atom, int], ...]
"""Atoms with their powers, sorted."""

Terms: TypeAlias = tuple[tuple[Monomial, int], ...]
"""Monomials with their coefficients (never 0), sorted; the constant term has the empty monomial."""


@dataclass(frozen=True, repr=False)
class DimExpr:
    """Immutable; `==` means provably equal, `!=` means nothing."""

    terms: Terms
    constant: int | None = field(compare=False)
    """The value, when it is a number."""

    @staticmethod
    def of(value: int | Atom) -> DimExpr:
        if not isinstance(value, int):
            return DimExpr(((((value, 1),), 1),), None)
        if -1 <= value < len(_SMALL) - 1:
            return _SMALL[value + 1]
        return _number(value)

    @staticmethod
    def from_terms(terms: Mapping[Monomial, int]) -> DimExpr:
        """The sum of coefficient times monomial; coefficients may be 0."""
        kept = [(monomial, coefficient) for monomial, coefficient in terms.items() if coefficient]
        if not kept:
            return DimExpr.of(0)
        if len(kept) == 1 and not kept[0][0]:
            return DimExpr.of(kept[0][1])
        kept.sort(key=_term_order)
        return DimExpr(tuple(kept), None)

    @cached_property
    def _hash(self) -> int:
        return hash(self.terms)

    def __hash__(self) -> int:
        return self._hash

    # Arithmetic.

    def __add__(self, other: DimExpr | int) -> DimExpr:
        right = _expr(other)
        if self.constant is not None and right.constant is not None:
            return DimExpr.of(self.constant + right.constant)
        if right.constant == 0:
            return self
        if self.constant == 0:
            return right
        terms = dict(self.terms)
        for monomial, coefficient in right.terms:
            terms[monomial] = terms.get(monomial, 0) + coefficient
        return DimExpr.from_terms(terms)

    def __radd__(self, other: int) -> DimExpr:
        return self + other

    def __neg__(self) -> DimExpr:
        return self * -1

    def __sub__(self, other: DimExpr | int) -> DimExpr:
        return self + -_expr(other)

    def __rsub__(self, other: int) -> DimExpr:
        return DimExpr.of(other) - self

    def __mul__(self, other: DimExpr | int) -> DimExpr:
        right = _expr(other)
        if self.constant is not None and right.constant is not None:
            return DimExpr.of(self.constant * right.constant)
        if right.constant == 1:
            return self
        if self.constant == 1:
            return right
        terms: dict[Monomial, int] = {}
        for left_monomial, left_coefficient in self.terms:
            for right_monomial, right_coefficient in right.terms:
                monomial = _times(left_monomial, right_monomial)
                terms[monomial] = terms.get(monomial, 0) + left_coefficient * right_coefficient
        return DimExpr.from_terms(terms)

    def __rmul__(self, other: int) -> DimExpr:
        return self * other

    # Questions.

    @property
    def constant_term(self) -> int:
        monomial, coefficient = self.terms[-1] if self.terms else ((), 0)
        return 0 if monomial else coefficient

    def is_one(self) -> bool:
        return self.constant == 1

    def may_be_one(self) -> bool:
        """False only if no assignment of the symbols makes it 1."""
        if self.constant is not None:
            return self.constant == 1
        low, high = self.bounds()
        if (low is not None and low > 1) or (high is not None and high < 1):
            return False
        step = math.gcd(*(coefficient for monomial, coefficient in self.terms if monomial))
        return (1 - self.constant_term) % step == 0

    def bounds(self) -> Bounds:
        """An interval that contains every value it can take."""
        if self.constant is not None:
            return (self.constant, self.constant)
        return self._bounds

    @cached_property
    def _bounds(self) -> Bounds:
        low: int | None = 0
        high: int | None = 0
        for monomial, coefficient in self.terms:
            term_low, term_high = _monomial_bounds(monomial)
            if coefficient < 0:
                term_low, term_high = term_high, term_low
            low = None if low is None or term_low is None else low + coefficient * term_low
            high = None if high is None or term_high is None else high + coefficient * term_high
        return (low, high)

    def is_nonnegative(self) -> bool:
        low, _ = self.bounds()
        return low is not None and low >= 0

    def symbols(self) -> Iterator[Symbol]:
        """Every occurrence of a symbol."""
        for monomial, _ in self.terms:
            for atom, _ in monomial:
                yield from atom.symbols()

    def evaluate(self, values: Assignment) -> int:
        """The value for an assignment of all symbols, given by symbol or by name.

        Raises:
            KeyError: a symbol has no value.
            ValueError: the dims of a broadcast differ.
        """
        if self.constant is not None:
            return self.constant
        return sum(
            coefficient * math.prod(atom.evaluate(values) ** power for atom, power in monomial)
            for monomial, coefficient in self.terms
        )

    def __str__(self) -> str:
        if self.constant is not None:
            return str(self.constant)
        return self._text

    @cached_property
    def _text(self) -> str:
        for monomial, coefficient in self.terms:
            if coefficient == -1 and len(monomial) == 1 and isinstance(atom := monomial[0][0], PositivePart):
                rest = self + DimExpr(((monomial, 1),), None)
                other = rest - atom.argument
                if monomial[0][1] == 1 and other.constant is not None:
                    return f"min({rest}, {other})"
        return "".join(_term_text(m, c, index == 0) for index, (m, c) in enumerate(self.terms))

    def __repr__(self) -> str:
        return f"DimExpr({self})"


def product(dims: Iterable[DimExpr]) -> DimExpr:
    result = DimExpr.of(1)
    for dim in dims:
        result = result * dim
    return result


def _number(value: int) -> DimExpr:
    return DimExpr((((), value),) if value else (), value)


_SMALL: Final = [_number(value) for value in range(-1, 4097)]


def _expr(value: DimExpr | int) -> DimExpr:
    return value if isinstance(value, DimExpr) else DimExpr.of(value)


def _times(left: Monomial, right: Monomial) -> Monomial:
    if not left or not right:
        return left or right
    powers = dict(left)
    for atom, power in right:
        powers[atom] = powers.get(atom, 0) + power
    return tuple(sorted(powers.items(), key=lambda item: item[0].sort_key))


def _term_order(term: tuple[Monomial, int]) -> tuple[int, list[tuple[str, int]]]:
    """Higher degree first, the constant last."""
    monomial, _ = term
    degree = sum(power for _, power in monomial)
    return (-degree, [(atom.sort_key, -power) for atom, power in monomial])


def _monomial_bounds(monomial: Monomial) -> Bounds:
    low, high = 1, 1
    for atom, power in monomial:
        atom_low, atom_high = atom.bounds()
        if atom_low is None or atom_low < 0:
            return (0 if len(monomial) == 1 and power % 2 == 0 else None, None)
        low *= atom_low**power
        high = None if high is None or atom_high is None else high * atom_high**power
    return (low, high)


def _bracketed(expr: DimExpr) -> str:
    """In brackets unless it is a number or one symbol."""
    text = str(expr)
    if expr.constant is not None and expr.constant >= 0:
        return text
    return text if len(expr.terms) == 1 and isinstance(_single_atom(expr), Symbol) else f"({text})"


def _single_atom(expr: DimExpr) -> Atom | None:
    monomial, coefficient = expr.terms[0]
    return monomial[0][0] if coefficient == 1 and len(monomial) == 1 and monomial[0][1] == 1 else None


def single_atom(expr: DimExpr) -> Atom | None:
    """The atom an expression consists of, if it is just one."""
    return _single_atom(expr) if len(expr.terms) == 1 else None


def _term_text(monomial: Monomial, coefficient: int, first: bool) -> str:
    sign = "-" if coefficient < 0 else "" if first else "+"
    if not monomial:
        return f"{sign}{abs(coefficient)}"
    factors = [_factor_text(atom, power) for atom, power in monomial]
    if abs(coefficient) != 1:
        factors.append(str(abs(coefficient)))
    return sign + "*".join(factors)


def _factor_text(atom: Atom, power: int) -> str:
    text = f"({atom})" if isinstance(atom, FloorDiv) else str(atom)
    return text if power == 1 else f"{text}^{power}"
