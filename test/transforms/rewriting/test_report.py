"""The report, the budget, and reasons of misses: what they tell, and that they cost nothing unasked."""

from __future__ import annotations

import json
import sys
from typing import Any

import pytest
from rewriting import NEG_PAIR, function, ops, pattern, renames, report_of, rewrite
from xdsl.ir import Operation

from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.text import make_context
from onnxloom.transforms.miss import Miss, no_match, reasons_wanted
from onnxloom.transforms.rewriting.budget import limit_rewrites, may_rewrite
from onnxloom.transforms.rewriting.pattern import Replacement
from onnxloom.transforms.rewriting.report import RewriteReport, use_report
from onnxloom.transforms.rewriting.rewrite_pass import RewritePatternsPass


def module() -> Any:
    return function("a = Neg x", "b = Neg a", "c = Identity b", "d = Neg c", "y = Abs d")


def test_what_a_report_says():
    report = report_of(module(), NEG_PAIR)
    text = str(report)
    assert text.startswith("1 rewrite in ") and "  graph @f: 1" in text
    assert "  NegPair: 1 of " in text and "declined" in text and "rewriting.py:" in text
    assert "ms" not in text and "ms" in report.text(times=True)
    assert report.phases["matching"] > 0 and report.phases["applying"] > 0 and report.phases["cleanup"] > 0


def test_the_text_is_the_same_from_run_to_run():
    first, second = report_of(module(), NEG_PAIR), report_of(module(), NEG_PAIR)
    assert str(first) == str(second) and first.to_json(times=False) == second.to_json(times=False)


def test_the_json_holds_all_of_it():
    report = report_of(module(), NEG_PAIR)
    data = json.loads(report.to_json())
    (found,) = data["patterns"]
    assert (
        data["rewrites"] == 1
        and found["name"] == "NegPair"
        and found["applied"] == 1
        and found["matches"] >= 1
    )
    assert {d["reason"] for d in found["declines"]} >= {"no pair"}
    assert all(d["count"] >= 1 and d["line"] > 0 and d["file"] for d in found["declines"])
    assert (
        data["graphs"] == {"@f": 1} and set(data["phases_ns"]) == set(report.phases) and found["match_ns"] > 0
    )
    assert "phases_ns" not in json.loads(report.to_json(times=False))


def test_declines_are_counted_by_reason_and_place():
    report = report_of(function("a = Neg x", "b = Neg x", "y = Add a b"), NEG_PAIR)
    (count,) = report.patterns["NegPair"].declines.values()
    assert count >= 2


def test_a_report_may_be_used_again():
    report = report_of(module(), NEG_PAIR)
    report.clear()
    assert str(report) == str(RewriteReport())


def test_the_pass_tells_the_report_in_use():
    report = RewriteReport()
    target = function("a = Transpose x", "y = Transpose a")
    with use_report(report):
        RewritePatternsPass(patterns=("TransposeTranspose",)).apply(make_context(), target)
    assert report.rewrites == 1 and ops(target) == []
    again = function("a = Transpose x", "y = Transpose a")
    RewritePatternsPass(patterns=("TransposeTranspose",)).apply(make_context(), again)
    assert report.rewrites == 1


@pytest.mark.parametrize(
    ("options", "left"),
    [
        ({"patterns": ("TransposeTranspose",)}, 0),
        ({"patterns": ("Transpose*, CastCast",)}, 0),
        ({"patterns": ("TransposeTranspose",), "skip": ("Transpose*",)}, 4),
        ({"patterns": ("TransposeTranspose",), "stop_after": 1}, 2),
        ({"patterns": ("TransposeTranspose",), "max_iterations": 0}, 4),
        ({"patterns": ("CastCast",)}, 4),
        ({}, 0),
    ],
)
def test_the_options_of_the_pass(options: dict[str, Any], left: int):
    target = function("a = Transpose x", "b = Transpose a", "c = Transpose b", "y = Transpose c")
    RewritePatternsPass(**options).apply(make_context(), target)
    assert len(ops(target)) == left


@pytest.mark.parametrize("option", [{"stage": "late"}, {"numerics": "roughly"}])
def test_words_the_pass_does_not_know(option: dict[str, Any]):
    with pytest.raises(ValueError, match="rewrite-patterns: .* is 'late'; expected|is 'roughly'; expected"):
        RewritePatternsPass(**option)


def test_bounds_the_pass_refuses():
    with pytest.raises(ValueError, match="rewrite-patterns: stop_after is -1; expected 0 or more"):
        RewritePatternsPass(stop_after=-1)


# Misses.


def op() -> Operation:
    return onnx.NoValueOp.make()


def test_unheard_reasons_are_not_put_together():
    calls: list[int] = []
    assert no_match(op(), lambda: calls.append(1) or "no") is no_match(op(), "other")
    assert not calls
    with reasons_wanted():
        assert no_match(op(), lambda: calls.append(1) or "no").reason == "no" and calls == [1]
        with reasons_wanted(False):
            assert no_match(op(), "x") is not no_match(op(), "x") or no_match(op(), "x").reason != "x"


def test_a_reason_is_told_with_its_line():
    with reasons_wanted():
        line = sys._getframe().f_lineno + 1  # pyright: ignore[reportPrivateUsage]
        miss = no_match(op(), "why")
    assert (miss.reason, miss.file, miss.line) == ("why", "test/transforms/rewriting/test_report.py", line)
    assert str(miss) == f"why (test/transforms/rewriting/test_report.py:{line})"
    wider = miss.within("here")
    assert (wider.reason, wider.line) == ("here: why", line)
    assert (
        Miss.at("else", "/tmp/other.py", 3).file == "other.py"
        and Miss.at("else", "/tmp/other.py", 3).line == 3
    )


def test_the_engine_listens_only_for_a_report():
    heard: list[bool] = []

    def match(graph: Any, found: Operation) -> Miss:
        miss = no_match(found, "why")
        heard.append(miss.reason == "why")
        return miss

    looks = pattern(onnx.NegOp, match, lambda *_: Replacement([], {}))
    rewrite(function("y = Neg x"), looks)
    assert not any(heard)
    report_of(function("y = Neg x"), looks)
    assert heard[-1]


# The budget.


def test_nothing_is_limited_unless_asked():
    assert all(may_rewrite("p", "w") for _ in range(100))
    with limit_rewrites(None) as log:
        assert may_rewrite("p", "w") and may_rewrite("q", lambda: "v", op())
    assert log.taken == [("p", "w"), ("q", "v at onnx.NoValue -> none")] and not log.refused


def test_a_limit_turns_all_later_ones_away():
    with limit_rewrites(2) as log:
        assert [may_rewrite("p", str(i)) for i in range(4)] == [True, True, False, False]
    assert log.taken == [("p", "0"), ("p", "1")] and log.refused
    assert may_rewrite("p", "w")


def test_limits_may_be_nested():
    with limit_rewrites(1) as outer:
        with limit_rewrites(0):
            assert not may_rewrite("p", "w")
        assert may_rewrite("p", "w") and len(outer.taken) == 1


def test_negative_limits():
    with pytest.raises(ValueError, match="a limit of -1 rewrites"), limit_rewrites(-1):
        pass


def test_fused_ops_count():
    from onnxloom.transforms.fusion.create import FuseOpsPass

    def fused(limit: int | None) -> tuple[int, list[tuple[str, str]]]:
        target = function("a = Neg x", "b = Abs a", "c = Hardmax b", "d = Exp c", "y = Sin d")
        with limit_rewrites(limit) as log:
            FuseOpsPass().apply(make_context(), target)
        return ops(target).count("FusedOp"), log.taken

    count, taken = fused(None)
    assert count == 2 and [name for name, _ in taken] == ["fuse-ops"] * 2
    assert fused(1) == (1, taken[:1]) and fused(0) == (0, [])


def test_all_phases_ask():
    with limit_rewrites(None) as log:
        rewrite(module(), NEG_PAIR, renames(onnx.AbsOp, onnx.ExpOp))
    assert {name for name, _ in log.taken} == {"rewrite-patterns", "cleanup"}
    assert ("rewrite-patterns", "NegPair at onnx.Neg -> tensor<4x4xf32>") in log.taken
