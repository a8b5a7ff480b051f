"""How are division, maximum and broadcast of dims written in canonical form?

Every maximum and minimum becomes `max(x, 0)` with one choice of sign, so that, for example,
`min(1, d) + max(d - 1, 0)` (a tensor cut in two and joined again) is `d`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Final

from onnxloom.transforms.dim_analysis.dim_expr import (
    Broadcast,
    DimExpr,
    FloorDiv,
    Monomial,
    PositivePart,
    Terms,
    single_atom,
)

_MAX_CASES: Final = 4


def positive_part(expr: DimExpr) -> DimExpr:
    """`max(expr, 0)`."""
    if _is_nonnegative(expr, _MAX_CASES):
        return expr
    if _is_nonnegative(-expr, _MAX_CASES):
        return DimExpr.of(0)
    if expr.terms[0][1] < 0:
        # max(e, 0) = e + max(-e, 0): the leading coefficient of the argument is positive.
        return expr + positive_part(-expr)
    step = math.gcd(*(coefficient for _, coefficient in expr.terms))
    if step > 1:
        return positive_part(_divided(expr.terms, step)) * step
    shift = expr.constant_term
    inner = single_atom(expr - shift)
    if isinstance(inner, PositivePart) and shift <= 0:
        return positive_part(inner.argument + shift)
    return DimExpr.of(PositivePart(expr))


def _is_nonnegative(expr: DimExpr, cases: int) -> bool:
    """By its bounds, or by those with a `max(x, 0)` in it replaced by 0 and by `x`, a division by a fraction.

    Of a maximum that is added, which is at least either, one of the two is enough.
    """
    if expr.is_nonnegative():
        return True
    if cases == 0 or expr.constant is not None:
        return False
    # Subtracted ones first: those that are added then still count as a maximum.
    for monomial, coefficient in sorted(expr.terms, key=lambda term: term[1] > 0):
        if len(monomial) != 1 or monomial[0][1] != 1:
            continue
        atom = monomial[0][0]
        without = expr - DimExpr.of(atom) * coefficient
        if isinstance(atom, PositivePart):
            decide = any if coefficient > 0 else all
            others = (without, without + atom.argument * coefficient)
            return decide(_is_nonnegative(case, cases - 1) for case in others)
        if isinstance(atom, FloorDiv) and (divisor := atom.denominator.constant) is not None:
            return _is_nonnegative(_least_multiple(without, atom, coefficient, divisor), cases - 1)
    return False


def _least_multiple(without: DimExpr, atom: FloorDiv, coefficient: int, divisor: int) -> DimExpr:
    """What is at least 0 only if the integer `without + coefficient * atom` is: a bound of its multiple."""
    # divisor * atom lies between numerator - (divisor - 1) and numerator.
    slack = divisor - 1 if coefficient < 0 else (divisor - 1) * (1 - coefficient)
    return without * divisor + atom.numerator * coefficient + slack


def maximum(left: DimExpr, right: DimExpr) -> DimExpr:
    return right + positive_part(left - right)


def minimum(left: DimExpr, right: DimExpr) -> DimExpr:
    return left - positive_part(left - right)


def clamp(expr: DimExpr, low: DimExpr, high: DimExpr) -> DimExpr:
    """`min(max(expr, low), high)`."""
    return minimum(maximum(expr, low), high)


def floor_div(numerator: DimExpr, denominator: DimExpr) -> DimExpr:
    """`numerator // denominator`, rounded down.

    A denominator that is not a number is taken to be above 0 when the division is exact.

    Raises:
        ZeroDivisionError: the denominator is 0.
    """
    divisor = denominator.constant
    if divisor is None:
        quotient = exact_quotient(numerator, denominator)
        return DimExpr.of(FloorDiv(numerator, denominator)) if quotient is None else quotient
    if divisor < 0:
        return floor_div(-numerator, DimExpr.of(-divisor))
    if divisor == 1:
        return numerator
    if numerator.constant is not None or divisor == 0:
        return DimExpr.of((numerator.constant or 0) // divisor)
    whole, rest = _split(numerator, divisor)
    if rest.constant is not None:
        return whole + rest.constant // divisor
    return whole + _floor_div_rest(rest, divisor)


def _floor_div_rest(rest: DimExpr, divisor: int) -> DimExpr:
    """`rest // divisor`, no coefficient of `rest` being a multiple of the divisor."""
    coefficients = [coefficient for monomial, coefficient in rest.terms if monomial]
    step = math.gcd(divisor, *coefficients)
    if step > 1:
        # (g*n + k) // (g*c) = (n + k // g) // c
        shift = rest.constant_term
        reduced = _divided((rest - shift).terms, step) + shift // step
        return floor_div(reduced, DimExpr.of(divisor // step))
    shift = rest.constant_term
    inner = single_atom(rest - shift)
    if isinstance(inner, FloorDiv) and inner.denominator.constant is not None:
        # (n // a + k) // b = (n + k*a) // (a*b)
        first = inner.denominator.constant
        return floor_div(inner.numerator + shift * first, DimExpr.of(first * divisor))
    return DimExpr.of(FloorDiv(rest, DimExpr.of(divisor)))


def ceil_div(numerator: DimExpr, denominator: DimExpr) -> DimExpr:
    """`numerator / denominator`, rounded up; a denominator that is not a number is taken to be above 0."""
    if denominator.constant is not None and denominator.constant < 0:
        return ceil_div(-numerator, -denominator)
    quotient = exact_quotient(numerator, denominator)
    return floor_div(numerator + denominator - 1, denominator) if quotient is None else quotient


def modulo(numerator: DimExpr, denominator: DimExpr) -> DimExpr:
    """The remainder that has the sign of the denominator."""
    return numerator - floor_div(numerator, denominator) * denominator


def exact_quotient(numerator: DimExpr, denominator: DimExpr) -> DimExpr | None:
    """The polynomial `q` with `q * denominator == numerator`, if there is one."""
    if denominator.constant == 0:
        return None
    lead, lead_coefficient = denominator.terms[0]
    quotient, rest = DimExpr.of(0), numerator
    for _ in range(len(numerator.terms) + 1):
        if rest.constant == 0:
            return quotient
        monomial, coefficient = rest.terms[0]
        factor = _monomial_quotient(monomial, lead)
        if factor is None or coefficient % lead_coefficient:
            return None
        step = DimExpr.from_terms({factor: coefficient // lead_coefficient})
        quotient, rest = quotient + step, rest - step * denominator
    return quotient if rest.constant == 0 else None


def broadcast(dims: Iterable[DimExpr]) -> DimExpr | None:
    """The common dim of dims that must be equal or 1; None: two of them are different numbers above 1."""
    distinct: dict[DimExpr, None] = {}
    for dim in dims:
        atom = single_atom(dim) if dim.constant is None else None
        for part in atom.dims if isinstance(atom, Broadcast) else (dim,):
            if not part.is_one():
                distinct[part] = None
    numbers = [dim for dim in distinct if dim.constant is not None]
    if len(numbers) > 1:
        return None
    if numbers:
        return numbers[0]
    for part in [part for part in distinct if any(_is_cut_of(part, other) for other in distinct)]:
        del distinct[part]
    if len(distinct) <= 1:
        return next(iter(distinct), DimExpr.of(1))
    firm = [dim for dim in distinct if not dim.may_be_one()]
    if firm:
        # Every dim that cannot be 1 is the result; the others equal it or are 1.
        return min(firm, key=str)
    return DimExpr.of(Broadcast(tuple(sorted(distinct, key=str))))


def _is_cut_of(part: DimExpr, whole: DimExpr) -> bool:
    """Whether `part` is `min(whole, n)` with a number n above 1.

    Where the two differ, they are n and something larger, which do not broadcast.
    """
    excess = single_atom(whole - part)
    if not isinstance(excess, PositivePart):
        return False
    limit = (whole - excess.argument).constant
    return limit is not None and limit > 1


def _divided(terms: Terms, divisor: int) -> DimExpr:
    return DimExpr.from_terms({monomial: coefficient // divisor for monomial, coefficient in terms})


def _split(expr: DimExpr, divisor: int) -> tuple[DimExpr, DimExpr]:
    """`(whole, rest)` with `expr == whole * divisor + rest`, the coefficients of `rest` in [0, divisor)."""
    whole: dict[Monomial, int] = {}
    rest: dict[Monomial, int] = {}
    for monomial, coefficient in expr.terms:
        whole[monomial], rest[monomial] = divmod(coefficient, divisor)
    return DimExpr.from_terms(whole), DimExpr.from_terms(rest)


def _monomial_quotient(numerator: Monomial, denominator: Monomial) -> Monomial | None:
    powers = dict(numerator)
    for atom, power in denominator:
        left = powers.get(atom, 0) - power
        if left < 0:
            return None
        powers[atom] = left
    return tuple((atom, powers[atom]) for atom, _ in numerator if powers[atom])
