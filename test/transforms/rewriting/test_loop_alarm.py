"""Patterns that undo each other, or grow a graph for ever, are named."""

from __future__ import annotations

from typing import Any

import pytest
from rewriting import (
    function,
    ops,
    pattern,
    renames,
    rewrite,
    text_of,
)
from xdsl.ir import Operation

from onnxloom.dialects import onnx
from onnxloom.errors import PassError
from onnxloom.transforms.rewriting.graph_index import GraphIndex
from onnxloom.transforms.rewriting.pattern import (
    MatchResult,
    Miss,
    Replacement,
    no_match,
)
from onnxloom.transforms.rewriting.report import RewriteReport


def test_two_patterns_that_undo_each_other_are_named():
    module = function("a = Exp x", "b = Neg a", "y = Tanh b")
    before = text_of(module)
    with pytest.raises(
        PassError, match="patterns (Neg_to_Abs and Abs_to_Neg|Abs_to_Neg and Neg_to_Abs)"
    ) as error:
        rewrite(module, renames(onnx.NegOp, onnx.AbsOp), renames(onnx.AbsOp, onnx.NegOp))
    assert "undo each other at onnx." in str(error.value)
    assert text_of(module) == before


def test_a_pattern_that_undoes_itself_is_named():
    def swap(graph: GraphIndex, match: MatchResult) -> Replacement:
        (op,) = match.ops
        assert op is not None
        made = graph.make(onnx.AddOp, [op.operands[1], op.operands[0]])
        return Replacement([made], {op.results[0]: made.results[0]})

    swaps = pattern(onnx.AddOp, lambda _, op: MatchResult((op,)), swap, "Swap")
    with pytest.raises(PassError, match="pattern Swap undoes its own result at onnx.Add"):
        rewrite(function("a = Exp x", "y = Add x a"), swaps)


def test_three_patterns_in_a_ring_are_found():
    ring = [
        renames(a, b)
        for a, b in ((onnx.NegOp, onnx.AbsOp), (onnx.AbsOp, onnx.ExpOp), (onnx.ExpOp, onnx.NegOp))
    ]
    with pytest.raises(PassError, match="patterns .* and .* undo each other"):
        rewrite(function("y = Neg x"), *ring)


def test_patterns_that_grow_a_graph_for_ever_are_named():
    def grow(graph: GraphIndex, match: MatchResult) -> Replacement:
        (op,) = match.ops
        assert op is not None
        first = graph.make(onnx.NegOp, [op.operands[0]])
        second = graph.make(onnx.AbsOp, [first.results[0]])
        return Replacement([first, second], {op.results[0]: second.results[0]})

    module = function("y = Neg x")
    before = text_of(module)
    with pytest.raises(PassError, match="patterns keep rewriting each other's results: Grow"):
        rewrite(module, pattern(onnx.NegOp, lambda _, op: MatchResult((op,)), grow, "Grow"))
    assert text_of(module) == before


def test_patterns_that_double_a_graph_are_stopped_soon():
    def double(graph: GraphIndex, match: MatchResult) -> Replacement:
        (op,) = match.ops
        assert op is not None
        first = graph.make(onnx.NegOp, [op.operands[0]])
        second = graph.make(onnx.NegOp, [first.results[0]])
        return Replacement([first, second], {op.results[0]: second.results[0]})

    module, report = function("y = Neg x"), RewriteReport()
    before = text_of(module)
    doubles = pattern(onnx.NegOp, lambda _, op: MatchResult((op,)), double, "Doubles")
    with pytest.raises(PassError, match="patterns make ever more ops: Doubles"):
        rewrite(module, doubles, report=report)
    assert text_of(module) == before
    assert report.patterns["Doubles"].applied < 5000


def test_ops_may_become_many_step_by_step():
    def match(graph: GraphIndex, op: Operation) -> MatchResult | Miss:
        return MatchResult((op,)) if len(op.operands) > 2 else no_match(op, "small")

    def build(graph: GraphIndex, found: MatchResult) -> Replacement:
        (op,) = found.ops
        assert op is not None
        rest = graph.make(onnx.SumOp, op.operands[1:])
        made = graph.make(onnx.AddOp, [op.operands[0], rest.results[0]])
        return Replacement([rest, made], {op.results[0]: made.results[0]})

    lines = [f"v{i} = Sum {f'v{i - 1} ' * 52 if i else 'x ' * 52}" for i in range(40)]
    module = function(*lines, "y = Neg v39")
    assert rewrite(module, pattern(onnx.SumOp, match, build)) == 40 * 50


def test_a_long_way_down_a_chain_is_no_loop():
    # Neg moves past every Abs: as many rewrites in one place as there are ops, none of them twice.
    def match(graph: GraphIndex, op: Any) -> MatchResult | Miss:
        inner = graph.producer_of(op.operands[0], onnx.NegOp)
        return MatchResult((inner, op)) if inner else no_match(op, "no")

    def build(graph: GraphIndex, found: MatchResult) -> Replacement:
        inner, outer = found.ops
        assert inner is not None and outer is not None
        first = graph.make(onnx.ExpOp, [inner.operands[0]])
        second = graph.make(onnx.NegOp, [first.results[0]])
        return Replacement([first, second], {outer.results[0]: second.results[0]})

    lines = [f"v{i} = Exp {f'v{i - 1}' if i else 'a'}" for i in range(40)]
    module = function("a = Neg x", *lines, "y = Abs v39")
    assert rewrite(module, pattern(onnx.ExpOp, match, build)) == 40
    assert ops(module) == ["Exp"] * 40 + ["Neg", "Abs"]
