"""Matches of one round that get in each other's way, and patterns that break the rules."""

from __future__ import annotations

from typing import Any, cast

import pytest
from rewriting import T, function, op_of, ops, pattern, renames, report_of, rewrite, text_of, value
from xdsl.dialects.builtin import ModuleOp, StringAttr, UnrankedTensorType, f32
from xdsl.ir import Operation

from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.text import parse_module
from onnxloom.errors import PassError
from onnxloom.transforms.dim_analysis.refined_type import set_type
from onnxloom.transforms.rewriting.driver import RewriteOptions, optimize
from onnxloom.transforms.rewriting.graph_index import GraphIndex
from onnxloom.transforms.rewriting.pattern import MatchResult, Miss, Replacement, no_match


def one(graph: GraphIndex, op: Operation) -> MatchResult:
    return MatchResult((op,))


def anchor(match: MatchResult) -> Operation:
    op = match.ops[0]
    assert op is not None
    return op


def hands_on(graph: GraphIndex, match: MatchResult) -> Replacement:
    """The results of the op in `data` take the place of those of the anchor."""
    return Replacement([], {anchor(match).results[0]: match.data.results[0]})


# Matches of one round.


def test_two_ops_that_are_each_to_become_the_other():
    def other(graph: GraphIndex, op: Operation) -> MatchResult | Miss:
        others = [found for found in graph.block.ops if isinstance(found, onnx.SinOp) and found is not op]
        return MatchResult((op,), data=others[0]) if others else no_match(op, "there is no other")

    module = function("a = Sin x", "b = Sin x", "y = Add a b")
    report = report_of(module, pattern(onnx.SinOp, other, hands_on, "Merge"))
    assert ops(module) == ["Sin", "Add"] and report.rewrites == 1
    assert "hands on a value inside" in report.text()


def test_an_op_that_begins_to_read_what_it_takes_the_place_of():
    # Sin becomes %b, so Abs(%a), which is to take the place of %b, would be Abs(%b).
    def beside(kind: type[Operation]) -> Any:
        def match(graph: GraphIndex, op: Operation) -> MatchResult | Miss:
            found = next((other for other in graph.block.ops if isinstance(other, kind)), None)
            return MatchResult((op,), data=found) if found else no_match(op, "it is gone")

        return match

    def absolute(graph: GraphIndex, match: MatchResult) -> Replacement:
        made = graph.make(onnx.AbsOp, [match.data.results[0]])
        return Replacement([made], {anchor(match).results[0]: made.results[0]})

    module = function("a = Sin x", "b = Cos x", "y = Add a b")
    first = pattern(onnx.SinOp, beside(onnx.CosOp), hands_on, "First")
    assert rewrite(module, first, pattern(onnx.CosOp, beside(onnx.SinOp), absolute, "Second")) == 1
    assert ops(module) == ["Cos", "Add"]


def test_the_place_asked_for_may_be_replaced_by_another_match():
    def in_front(graph: GraphIndex, op: Operation) -> MatchResult:
        return MatchResult((op,), insert_at=graph.block.first_op)

    def absolute(graph: GraphIndex, match: MatchResult) -> Replacement:
        made = graph.make(onnx.AbsOp, anchor(match).operands)
        return Replacement([made], {anchor(match).results[0]: made.results[0]})

    module = function("a = Sin x", "b = Neg x", "c = Add a b", "y = Exp c")
    late = pattern(onnx.NegOp, in_front, absolute, "InFront")
    assert rewrite(module, renames(onnx.SinOp, onnx.CosOp), late, max_iterations=1) == 2
    assert ops(module) == ["Cos", "Abs", "Add", "Exp"]


# Values of outer blocks.

IF = f"""func.func @f(%x: {T}, %c: tensor<i1>) -> {T} {{
  %e = "onnx.Sin"(%x) : ({T}) -> {T}
  %y = "onnx.If"(%c) ({{
    %a = "onnx.Neg"(%x) : ({T}) -> {T}
    onnx.Yield %a : {T}
  }}, {{
    onnx.Yield %x : {T}
  }}) : (tensor<i1>) -> {T}
  %z = "onnx.Exp"(%x) : ({T}) -> {T}
  %w = "onnx.Sum"(%y, %z, %e) : ({T}, {T}, {T}) -> {T}
  onnx.Return %w : {T}
}}"""


@pytest.mark.parametrize("name", ["z", "y"])
def test_a_value_made_outside_and_later_is_refused(name: str):
    module = parse_module(IF)
    before, later = text_of(module), value(module, name)
    bad = pattern(onnx.NegOp, one, lambda _, match: Replacement([], {anchor(match).results[0]: later}), "Bad")
    with pytest.raises(PassError, match="pattern Bad at onnx.Neg -> .*: the replacement gives a value"):
        rewrite(module, bad)
    assert text_of(module) == before


def test_an_op_that_reads_what_is_made_outside_and_later_is_refused():
    module = parse_module(IF)
    later = value(module, "z")

    def build(graph: GraphIndex, match: MatchResult) -> Replacement:
        made = graph.make(onnx.AbsOp, [later])
        return Replacement([made], {anchor(match).results[0]: made.results[0]})

    with pytest.raises(PassError, match="of the replacement reads a value"):
        rewrite(module, pattern(onnx.NegOp, one, build, "Bad"))


@pytest.mark.parametrize("name", ["e", "x", "c"])
def test_a_value_made_outside_and_earlier_may_be_read(name: str):
    module = parse_module(IF)
    earlier = value(module, name)

    def build(graph: GraphIndex, match: MatchResult) -> Replacement:
        made = graph.make(onnx.CastOp, [earlier], to=1)
        fitting = graph.make(onnx.AddOp, [made.results[0], anchor(match).operands[0]])
        return Replacement([made, fitting], {anchor(match).results[0]: fitting.results[0]})

    assert rewrite(module, pattern(onnx.NegOp, one, build)) == 1
    inner = op_of(module, "a").operands[0].owner
    assert isinstance(inner, onnx.CastOp) and inner.operands[0] is earlier


# Answers that are none.


@pytest.mark.parametrize(
    ("match", "message"),
    [
        (lambda _, op: MatchResult(op), "ops is a NegOp; expected a tuple of ops"),
        (lambda _, op: MatchResult((op,), reads=op), "reads is a NegOp; expected a tuple of ops"),
        (lambda _, op: MatchResult((op.results[0],)), "the match lists a OpResult; expected ops"),
        (
            lambda _, op: MatchResult((op,), insert_at=cast(Any, "front")),
            "the match lists a str; expected ops",
        ),
        (lambda _, op: MatchResult((op,), reads=cast(Any, (None,))), "reads lists a NoneType; expected ops"),
    ],
)
def test_a_match_of_something_else_than_ops(match: Any, message: str):
    bad = pattern(onnx.NegOp, match, cast(Any, None), "Bad")
    with pytest.raises(PassError, match=f"pattern Bad at onnx.Neg -> .*: {message}"):
        rewrite(function("a = Neg x", "y = Exp a"), bad)


def test_a_replacement_that_would_end_the_block():
    def build(graph: GraphIndex, match: MatchResult) -> Replacement:
        end = onnx.ReturnOp.build(operands=[[anchor(match).operands[0]]])
        return Replacement([end], {anchor(match).results[0]: anchor(match).operands[0]})

    module = function("a = Neg x", "y = Exp a")
    before = text_of(module)
    with pytest.raises(PassError, match="the replacement lists onnx.Return, which would end the block"):
        rewrite(module, pattern(onnx.NegOp, one, build, "Bad"))
    assert text_of(module) == before


# Patterns that do what is the driver's.


def _detaches(_: Any, op: Operation) -> Miss:
    op.detach()
    return no_match(op, "it is gone")


def _connects(graph: GraphIndex, op: Operation) -> Miss:
    op.operands[0] = graph.block.args[0]
    return no_match(op, "it reads something else")


def _marks(_: Any, op: Operation) -> Miss:
    op.attributes["mark"] = StringAttr("seen")
    return no_match(op, "it is marked")


def _retypes(_: Any, op: Operation) -> Miss:
    set_type(op.results[0], UnrankedTensorType(f32))
    return no_match(op, "it is of another type")


@pytest.mark.parametrize("match", [_detaches, _connects, _marks, _retypes])
def test_a_match_that_changes_the_graph_is_named_when_checks_are_on(match: Any):
    module = function("a = Sin x", "b = Neg a", "y = Exp b")
    bad = pattern(onnx.NegOp, match, cast(Any, None), "Bad")
    with pytest.raises(PassError, match="pattern Bad changed the graph in match"):
        optimize(module, [renames(onnx.CosOp, onnx.AbsOp), bad], RewriteOptions(check_index=True))


def test_an_apply_that_changes_the_graph_is_named_when_checks_are_on():
    def build(graph: GraphIndex, match: MatchResult) -> Replacement:
        op = anchor(match)
        op.results[0].replace_all_uses_with(op.operands[0])
        return Replacement([], {})

    module = function("a = Sin x", "b = Neg a", "y = Exp b")
    with pytest.raises(PassError, match="pattern Bad changed the graph in apply"):
        optimize(module, [pattern(onnx.NegOp, one, build, "Bad")], RewriteOptions(check_index=True))


def readers(module: ModuleOp, name: str) -> list[str]:
    return sorted(use.operation.name for use in value(module, name).uses)


def test_what_a_match_makes_and_nothing_uses_reads_nothing():
    def match(graph: GraphIndex, op: Operation) -> Miss:
        graph.make(onnx.AbsOp, [op.operands[0]])
        return no_match(op, "only tries")

    module = function("a = Sin x", "b = Neg a", "y = Exp b")
    rewrite(module, pattern(onnx.NegOp, match, cast(Any, None)))
    assert readers(module, "a") == ["onnx.Neg"]


def test_what_a_match_makes_may_be_what_is_put_there():
    def match(graph: GraphIndex, op: Operation) -> MatchResult:
        return MatchResult((op,), data=graph.make(onnx.AbsOp, [op.operands[0]]))

    def build(graph: GraphIndex, match: MatchResult) -> Replacement:
        return Replacement([match.data], {anchor(match).results[0]: match.data.results[0]})

    module = function("a = Sin x", "b = Neg a", "y = Exp b")
    assert rewrite(module, pattern(onnx.NegOp, match, build)) == 1
    assert ops(module) == ["Sin", "Abs", "Exp"]


def test_ops_of_a_refused_replacement_read_nothing():
    def build(graph: GraphIndex, match: MatchResult) -> Replacement:
        op = anchor(match)
        inner = onnx.AbsOp.build(operands=[op.operands[0]], result_types=[op.results[0].type])
        return Replacement([inner], {op.results[0]: op.results[0]})

    module = function("a = Sin x", "b = Neg a", "y = Exp b")
    with pytest.raises(PassError, match="gives a result of an op it replaces"):
        rewrite(module, pattern(onnx.NegOp, one, build))
    assert readers(module, "a") == ["onnx.Neg"]
