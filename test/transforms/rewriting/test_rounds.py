"""Which matches go together in one round, and what happens to those that are stale by then?"""

from __future__ import annotations

from typing import Any

from rewriting import (
    NEG_PAIR,
    T,
    declines,
    function,
    inverse_pair,
    op_of,
    ops,
    pattern,
    renames,
    report_of,
    rewrite,
    value,
)
from xdsl.ir import Operation

from onnxloom.dialects import onnx
from onnxloom.transforms.rewriting.graph_index import GraphIndex
from onnxloom.transforms.rewriting.pattern import (
    MatchResult,
    Miss,
    PatternOptimization,
    Replacement,
    no_match,
)

# Rounds.


def test_disjoint_matches_go_in_one_round():
    module = function("a = Neg x", "b = Neg a", "c = Abs b", "d = Neg c", "e = Neg d", "y = Abs e")
    assert rewrite(module, NEG_PAIR, max_iterations=1) == 2
    assert ops(module) == ["Abs", "Abs"]


def test_matches_that_share_an_op_exclude_each_other():
    module = function("a = Neg x", "b = Neg a", "c = Neg b", "y = Abs c")
    report = report_of(module, NEG_PAIR)
    assert ops(module) == ["Neg", "Abs"]
    assert "claimed by another match" in declines(report)


def test_a_chain_takes_few_rounds():
    module = function(*(f"v{i} = Neg {f'v{i - 1}' if i else 'x'}" for i in range(64)), "y = Abs v63")
    report = report_of(module, NEG_PAIR)
    assert ops(module) == ["Abs"] and report.rewrites == 32
    assert report.iterations < 20


def test_ops_that_are_read_may_be_read_by_many_matches():
    # %a stays for all three and goes when nothing reads it any more.
    module = function(
        "w = Abs x", "a = Neg x", "b = Neg a", "c = Neg a", "d = Neg a", "e = Add b c", "y = Sum e d w"
    )
    assert rewrite(module, inverse_pair(onnx.NegOp, private=False), max_iterations=1) == 3
    assert ops(module) == ["Abs", "Add", "Sum"]


def test_a_read_op_is_not_replaced_in_the_same_round():
    module = function("a = Neg x", "b = Neg a", "y = Abs b")
    report = report_of(module, inverse_pair(onnx.NegOp, private=False), renames(onnx.NegOp, onnx.ExpOp))
    assert "claimed by another match" in declines(report)
    assert ops(module) == ["Abs"]


def test_dead_ops_are_not_looked_at():
    module = function("a = Neg x", "y = Abs x")
    assert rewrite(module, renames(onnx.NegOp, onnx.ExpOp)) == 0
    assert rewrite(function("y = Abs x"), renames(onnx.AbsOp, onnx.NegOp)) == 1


def test_patterns_that_start_anywhere_see_no_constants_and_no_end():
    seen: list[str] = []

    class Looks(PatternOptimization):
        def match(self, graph: GraphIndex, op: Operation) -> MatchResult | Miss:
            seen.append(op.name)
            return no_match(op, "only looks")

        def apply(self, graph: GraphIndex, match: MatchResult) -> Replacement:
            raise AssertionError

    module = function(
        f"%c = onnx.Constant dense<1.0> : {T}",
        '%n = "onnx.NoValue"() {value} : () -> none',
        "a = Add x c",
        f'%y = "onnx.Clip"(%a, %n, %n) : ({T}, none, none) -> {T}',
    )
    rewrite(module, Looks)
    assert sorted(set(seen)) == ["onnx.Add", "onnx.Clip"]


def test_a_pattern_that_starts_from_constants():
    module = function(f"%c = onnx.Constant dense<1.0> : {T}", "y = Add x c")
    found: list[str] = []
    rewrite(
        module,
        pattern(
            onnx.ConstantOp,
            lambda _, op: found.append(op.name) or no_match(op, "no"),
            lambda *_: Replacement([], {}),
        ),
    )
    assert found == ["onnx.Constant"]


# Stale matches.


def test_a_value_that_gets_a_second_reader_in_the_round_is_no_longer_private():
    # Exp(a) -> Add(a, b) reads %b, which the pair Neg(Neg) wanted for itself alone.
    module = function("a = Abs x", "b = Neg a", "c = Neg b", "d = Exp a", "y = Add c d")

    def uses_b(graph: GraphIndex, op: Operation) -> MatchResult | Miss:
        return MatchResult((op,))

    def build(graph: GraphIndex, match: MatchResult) -> Replacement:
        (op,) = match.ops
        assert op is not None
        made = graph.make(onnx.AddOp, [op.operands[0], value(module, "b")])
        return Replacement([made], {op.results[0]: made.results[0]})

    report = report_of(
        module, pattern(onnx.ExpOp, uses_b, build, priority=0), inverse_pair(onnx.NegOp, priority=0)
    )
    assert "another match of the same round reads a value that had one reader" in declines(report)
    assert ops(module) == ["Abs", "Neg", "Neg", "Add", "Add"]


def test_a_value_inside_a_match_that_another_one_hands_on():
    # Exp(b) becomes Neg's inner result, in place of what was there.
    module = function("a = Abs x", "b = Neg a", "c = Neg b", "d = Exp b", "y = Add c d")

    def match(graph: GraphIndex, op: Operation) -> MatchResult | Miss:
        return MatchResult((op,)) if graph.producer_of(op.operands[0], onnx.NegOp) else no_match(op, "no Neg")

    forward = pattern(
        onnx.ExpOp,
        match,
        lambda _, m: Replacement([], {m.ops[0].results[0]: m.ops[0].operands[0]}),
        "Forward",
    )
    assert rewrite(module, forward, NEG_PAIR) == 1
    assert ops(module) == ["Abs", "Neg", "Neg", "Add"]


def test_a_value_inside_a_match_that_another_one_begins_to_read():
    # %a has two readers, both inside the match of Add; what takes the place of Exp is a third one.
    module = function("a = Neg x", "b = Abs a", "c = Sin a", "s = Add b c", "d = Exp x", "y = Mul s d")

    def whole(graph: GraphIndex, op: Any) -> MatchResult | Miss:
        first, second = (graph.producer(operand) for operand in op.operands)
        inner = None if first is None else graph.producer(first.operands[0])
        if first is None or second is None or inner is None:
            return no_match(op, "no diamond")
        if not graph.is_used_only_by(inner.results[0], (first, second)):
            return no_match(op, "the diamond is read elsewhere")
        return MatchResult((inner, first, second, op))

    def tanh(graph: GraphIndex, match: Any) -> Replacement:
        made = graph.make(onnx.TanhOp, [match.ops[0].operands[0]])
        return Replacement([made], {match.ops[-1].results[0]: made.results[0]})

    def reads(graph: GraphIndex, match: Any) -> Replacement:
        made = graph.make(onnx.PowOp, [match.ops[0].operands[0], value(module, "a")])
        return Replacement([made], {match.ops[0].results[0]: made.results[0]})

    report = report_of(
        module,
        pattern(onnx.ExpOp, lambda _, op: MatchResult((op,)), reads, "Reads"),
        pattern(onnx.AddOp, whole, tanh, "Whole"),
    )
    assert "another match of the same round reads a value inside" in declines(report)
    assert "the diamond is read elsewhere" in declines(report)
    assert ops(module) == ["Neg", "Abs", "Sin", "Add", "Pow", "Mul"]


def test_an_op_may_read_what_another_match_of_the_round_replaces():
    module = function("a = Neg x", "b = Abs a", "y = Exp b")
    rewrite(
        module,
        renames(onnx.NegOp, onnx.SinOp),
        renames(onnx.AbsOp, onnx.CosOp),
        renames(onnx.ExpOp, onnx.TanhOp),
    )
    assert ops(module) == ["Sin", "Cos", "Tanh"]


def test_values_that_two_matches_hand_on_end_at_the_last():
    module = function("a = Neg x", "b = Neg a", "c = Abs b", "d = Abs c", "y = Exp d")

    def match(graph: GraphIndex, op: Operation) -> MatchResult | Miss:
        inner = graph.producer_of(op.operands[0], onnx.AbsOp)
        return MatchResult((inner, op)) if inner is not None else no_match(op, "no pair")

    def build(graph: GraphIndex, found: MatchResult) -> Replacement:
        inner, outer = found.ops
        assert inner is not None and outer is not None
        return Replacement([], {outer.results[0]: inner.operands[0]})

    assert rewrite(module, NEG_PAIR, pattern(onnx.AbsOp, match, build), max_iterations=1) == 2
    assert ops(module) == ["Exp"] and op_of(module, "y").operands[0] is value(module, "x")
