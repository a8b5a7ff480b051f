"""Dim expressions: canonical form, text, bounds, and agreement with plain integer arithmetic."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onnxloom.transforms.dim_analysis.dim_expr import DimExpr, Symbol, product
from onnxloom.transforms.dim_analysis.dim_ops import (
    broadcast,
    ceil_div,
    exact_quotient,
    floor_div,
    maximum,
    minimum,
    modulo,
    positive_part,
)

BATCH, SEQ = DimExpr.of(Symbol("batch")), DimExpr.of(Symbol("seq"))
SIGNED = DimExpr.of(Symbol("v", nonnegative=False))
NAMES = {"batch": BATCH, "seq": SEQ, "v": SIGNED}


def n(value: int) -> DimExpr:
    return DimExpr.of(value)


@pytest.mark.parametrize(
    ("expr", "text"),
    [
        (n(7), "7"),
        (n(-7), "-7"),
        (BATCH * 4 + 1, "batch*4+1"),
        (1 - BATCH, "-batch+1"),
        (BATCH * BATCH - SEQ, "batch^2-seq"),
        (floor_div(SEQ + 1, n(2)) * 3, "((seq+1)//2)*3"),
        (floor_div(SEQ, n(2)), "(seq//2)"),
        (positive_part(SEQ - 1), "max(seq-1, 0)"),
        (minimum(SEQ, n(5)), "min(seq, 5)"),
        (broadcast([SEQ, BATCH]), "bcast(batch, seq)"),
    ],
)
def test_text(expr: DimExpr, text: str):
    assert str(expr) == text


def test_equal_polynomials_are_equal_and_hash_alike():
    left = (BATCH + SEQ) * (BATCH - SEQ)
    right = BATCH * BATCH - SEQ * SEQ
    assert left == right
    assert hash(left) == hash(right)
    assert (BATCH - BATCH).constant == 0


def test_symbols_of_one_name_but_different_serial_differ():
    assert DimExpr.of(Symbol("?0", 1)) != DimExpr.of(Symbol("?0", 2))


def test_cut_in_two_and_joined():
    assert minimum(n(1), SEQ) + positive_part(SEQ - 1) == SEQ


def test_successive_cuts_are_one_cut():
    assert positive_part(positive_part(SEQ - 1) - 2) == positive_part(SEQ - 3)


def test_a_cut_is_never_longer_than_the_whole():
    assert positive_part(positive_part(SEQ - 5) - SEQ).constant == 0
    assert minimum(minimum(SEQ, n(5)), SEQ) == minimum(SEQ, n(5))
    assert minimum(positive_part(SEQ - 3), positive_part(SEQ - 1)) == positive_part(SEQ - 3)


def test_half_is_never_more_than_the_whole():
    half = floor_div(SEQ, n(2))
    assert positive_part(half - SEQ).constant == 0
    assert positive_part(SEQ - half) == SEQ - half
    assert positive_part(SEQ * 2 - half * 3) == SEQ * 2 - half * 3
    assert positive_part(half * 3 - SEQ) != half * 3 - SEQ


def test_stacked_strides_are_one_stride():
    once = floor_div(SEQ - 1, n(2)) + 1
    assert floor_div(once - 1, n(2)) + 1 == floor_div(SEQ - 1, n(4)) + 1


def test_common_factor_of_a_division():
    assert floor_div(SEQ * 2 + 1, n(4)) == floor_div(SEQ, n(2))


def test_exact_quotient_by_a_product_and_by_a_sum():
    assert floor_div(BATCH * SEQ * 768, BATCH * SEQ * 12).constant == 64
    assert exact_quotient((BATCH + 1) * (SEQ + 2), BATCH + 1) == SEQ + 2
    assert exact_quotient(BATCH * SEQ + 1, BATCH) is None


def test_division_by_zero_raises():
    with pytest.raises(ZeroDivisionError):
        floor_div(SEQ, n(0))


@pytest.mark.parametrize(
    ("expr", "may_be_one"),
    [
        (n(1), True),
        (n(2), False),
        (SEQ, True),
        (SEQ + 2, False),
        (SEQ + 1, True),
        (SEQ * 4, False),
        (SEQ * 4 + 1, True),
        (SEQ * 4 + 3, False),
        (SIGNED * 2 + 2, False),
        (SIGNED + 2, True),
        (-SEQ, False),
        (positive_part(SEQ - 1), True),
        (floor_div(SEQ, n(2)) + 2, False),
    ],
)
def test_may_be_one(expr: DimExpr, may_be_one: bool):
    assert expr.may_be_one() is may_be_one
    assert expr.is_one() is (expr.constant == 1)


def test_broadcast():
    assert broadcast([n(1), n(3), SEQ]) == n(3)
    assert broadcast([n(1), SEQ]) == SEQ
    assert broadcast([n(3), n(4)]) is None
    assert broadcast([n(0), n(1)]) == n(0)
    assert broadcast([SEQ, BATCH]) == broadcast([BATCH, SEQ])
    assert broadcast([SEQ, SEQ * 2 + 2]) == SEQ * 2 + 2
    # Cut at 512, the two are equal or do not broadcast; cut at 1, both may be.
    assert broadcast([minimum(SEQ, n(512)), SEQ]) == SEQ
    assert broadcast([SEQ, minimum(SEQ, n(2))]) == SEQ
    assert str(broadcast([minimum(SEQ, n(1)), SEQ])).startswith("bcast(")
    assert str(broadcast([minimum(BATCH, n(512)), SEQ])).startswith("bcast(")
    nested = broadcast([SEQ, BATCH])
    assert nested is not None
    assert broadcast([nested, SEQ]) == nested


def test_evaluate_by_name_and_by_symbol():
    expr = product([BATCH, SEQ, n(4)]) + 1
    assert expr.evaluate({"batch": 2, "seq": 3}) == 25
    assert expr.evaluate({Symbol("batch"): 2, Symbol("seq"): 3}) == 25
    with pytest.raises(KeyError):
        expr.evaluate({"batch": 2})


Pair = tuple[DimExpr, Callable[[dict[str, int]], int]]


def _pairs() -> st.SearchStrategy[Pair]:
    """An expression with the same computation on plain integers."""
    numbers = st.integers(-6, 6).map(lambda c: (n(c), lambda env: c))
    symbols = st.sampled_from(sorted(NAMES)).map(lambda name: (NAMES[name], lambda env: env[name]))

    def grow(inner: st.SearchStrategy[Pair]) -> st.SearchStrategy[Pair]:
        def binary(args: tuple[str, Pair, Pair]) -> Pair:
            kind, (x, fx), (y, fy) = args
            match kind:
                case "+":
                    return x + y, lambda env: fx(env) + fy(env)
                case "-":
                    return x - y, lambda env: fx(env) - fy(env)
                case "*":
                    return x * y, lambda env: fx(env) * fy(env)
                case "max":
                    return maximum(x, y), lambda env: max(fx(env), fy(env))
                case _:
                    return minimum(x, y), lambda env: min(fx(env), fy(env))

        def divided(args: tuple[str, Pair, int]) -> Pair:
            kind, (x, fx), divisor = args
            match kind:
                case "floor":
                    return floor_div(x, n(divisor)), lambda env: fx(env) // divisor
                case "ceil":
                    return ceil_div(x, n(divisor)), lambda env: -(-fx(env) // divisor)
                case _:
                    return modulo(x, n(divisor)), lambda env: fx(env) % divisor

        divisors = st.integers(-5, 5).filter(bool)
        return st.one_of(
            st.tuples(st.sampled_from(["+", "-", "*", "max", "min"]), inner, inner).map(binary),
            st.tuples(st.sampled_from(["floor", "ceil", "mod"]), inner, divisors).map(divided),
        )

    return st.recursive(numbers | symbols, grow, max_leaves=6)


@given(_pairs(), st.integers(0, 9), st.integers(0, 9), st.integers(-9, 9))
def test_agrees_with_integer_arithmetic(pair: Pair, batch: int, seq: int, v: int):
    expr, compute = pair
    env = {"batch": batch, "seq": seq, "v": v}
    value = compute(env)
    assert expr.evaluate(env) == value
    low, high = expr.bounds()
    assert low is None or low <= value
    assert high is None or value <= high
    assert value != 1 or expr.may_be_one()
