"""Ratios are taken per round, and the interval of a median is that of order statistics."""

from __future__ import annotations

from itertools import count

import pytest

from onnxloom.tools.benchmarking.pairing import Pairing, median_interval, pair


def test_ratio_is_the_median_of_the_rounds_ratios():
    found = Pairing({"peer": [2.0, 30.0, 8.0], "ours": [1.0, 10.0, 2.0]})
    assert found.ratio("peer", "ours") == 3.0
    assert found.median("ours") == 2.0
    assert found.confidence("peer", "ours") == (2.0, 4.0)


@pytest.mark.parametrize(
    ("values", "ranks"), [(1, (0, 0)), (5, (0, 4)), (6, (0, 5)), (15, (3, 11)), (31, (9, 21))]
)
def test_interval_of_a_median(values: int, ranks: tuple[int, int]):
    """Ranks as in tables of the sign test at 95 %."""
    assert median_interval([float(v) for v in reversed(range(values))]) == ranks


def test_turns_alternate_and_are_as_long_as_asked():
    clock = count(step=0.001)
    order: list[str] = []
    calls = {"a": lambda: order.append("a"), "b": lambda: order.append("b")}
    found = pair(calls, rounds=3, seconds_per_turn=0.002, clock=lambda: next(clock))
    assert "".join(order) == "aabb" + "aabb" * 3
    assert [len(found.seconds[name]) for name in "ab"] == [3, 3]
    assert found.seconds["a"] == pytest.approx([0.0005] * 3)


def test_one_round_has_a_spread_too():
    assert Pairing({"p": [2.0], "o": [1.0]}).spread("p", "o") == (2.0, 2.0)


def test_a_pause_before_each_turn_is_followed_by_a_call_that_is_not_timed() -> None:

    def clock() -> float:
        return float(len(calls))

    calls: list[int] = []
    done = pair({"a": lambda: calls.append(1)}, rounds=3, seconds_per_turn=1.0, clock=clock, settle=1e-6)
    # Two calls to find the number of repeats, then per round one that is not timed and one that is.
    assert len(calls) == 2 + 3 * 2
    assert done.seconds["a"] == [1.0, 1.0, 1.0]
