"""Goals of a group: every model, and the mean over families."""

from __future__ import annotations

import pytest

from benchmarks.groups import Goal
from benchmarks.verdicts import Ratio, mean_of, misses, verdict_lines


def ratio(value: float, name: str = "m", family: str = "", group: str = "softmax") -> Ratio:
    return Ratio(group, name, family, value)


def test_mean_is_that_of_the_means_of_families():
    ratios = [ratio(1.0, "a", "x"), ratio(4.0, "b", "x"), ratio(8.0, "c", "y")]
    assert mean_of(Goal("g", by_family=True), ratios) == pytest.approx(4.0)
    assert mean_of(Goal("g"), ratios) == pytest.approx(32 ** (1 / 3))


def test_misses_name_the_models_and_the_mean():
    ratios = [ratio(0.8, "slow"), ratio(1.0, "good")]
    assert misses(Goal("g", each=0.9, mean=1.5), ratios) == {
        "slow": 0.8,
        "mean": pytest.approx(0.8**0.5),
    }
    assert misses(Goal("g", each=0.8, mean=0.8), ratios) == {}
    assert misses(Goal("g"), ratios) == {}


def test_table_has_a_line_for_each_group_that_was_measured():
    ratios = [ratio(1.2, "a"), ratio(0.95, "b"), ratio(1.0, "c", group="bert_base")]
    head, softmax, bert = (line.split() for line in verdict_lines(ratios))
    assert head[:2] == ["group", "models"]
    assert bert[-3:] == ["missed:", "c", "1.00"]
    assert softmax[-1] == "reached"
