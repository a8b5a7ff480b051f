"""Where do replacements go, and what is constant afterwards?"""

from __future__ import annotations

from typing import Any

import numpy as np
from rewriting import (
    T,
    declines,
    function,
    ops,
    pattern,
    renames,
    report_of,
    rewrite,
    text_of,
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

# Places.


def fuse_adds(graph: GraphIndex, op: Any) -> MatchResult | Miss:
    """Add(Add(x, y), z) -> Sum(x, y, z), in front of the inner one."""
    inner = graph.producer_of(op.A, onnx.AddOp)
    if inner is None:
        return no_match(op, "no pair")
    return MatchResult((inner, op), insert_at=inner)


def sum_of(graph: GraphIndex, match: MatchResult) -> Replacement:
    inner, outer = match.ops
    assert isinstance(inner, onnx.AddOp) and isinstance(outer, onnx.AddOp)
    made = graph.make(onnx.SumOp, [inner.A, inner.B, outer.B])
    return Replacement([made], {outer.C: made.results[0]})


ADDS = pattern(onnx.AddOp, fuse_adds, sum_of, "AddAdd")


def test_the_default_place_is_that_of_the_last_op():
    module = function("a = Neg x", "b = Abs x", "c = Neg a", "y = Add b c")
    replaced = pattern(
        onnx.NegOp,
        lambda g, op: (
            MatchResult((op, op.operands[0].owner))
            if g.producer_of(op.operands[0], onnx.NegOp)
            else no_match(op, "no")
        ),
        lambda g, m: _one(g, onnx.ExpOp, m),
    )
    rewrite(module, replaced)
    assert ops(module) == ["Abs", "Exp", "Add"]


def _one(graph: GraphIndex, op_class: type[Operation], match: MatchResult) -> Replacement:
    first = match.ops[0]
    assert first is not None
    made = graph.make(op_class, [value_of_argument(graph)])
    return Replacement([made], {first.results[0]: made.results[0]})


def value_of_argument(graph: GraphIndex) -> Any:
    return graph.block.args[0]


def test_an_operand_made_late_moves_the_place_back():
    module = function("a = Add x x", "b = Exp x", "y = Add a b")
    assert rewrite(module, ADDS) == 1
    assert ops(module) == ["Exp", "Sum"]


def test_a_reader_in_front_moves_the_place_forward():
    # The place asked for is the end of the chain; %a, which is replaced too, is read before.
    def match(graph: GraphIndex, op: Any) -> MatchResult | Miss:
        inner = graph.producer_of(op.operands[0], onnx.NegOp)
        return MatchResult((inner, op)) if inner else no_match(op, "no")

    def build(graph: GraphIndex, found: MatchResult) -> Replacement:
        inner, outer = found.ops
        assert inner is not None and outer is not None
        made = graph.make(onnx.AbsOp, [inner.operands[0]])
        return Replacement([made], {inner.results[0]: made.results[0], outer.results[0]: made.results[0]})

    module = function("a = Neg x", "b = Sin a", "c = Exp a", "y = Add b c")
    assert rewrite(module, pattern(onnx.ExpOp, match, build)) == 1
    assert ops(module) == ["Abs", "Sin", "Add"]


def both(graph: GraphIndex, op: Any) -> MatchResult | Miss:
    """Neg(a) .. Exp(b), both replaced by a Split-like pair that needs both operands."""
    first = next((o for o in graph.block.ops if isinstance(o, onnx.NegOp)), None)
    return MatchResult((first, op)) if first is not None else no_match(op, "no")


def both_built(graph: GraphIndex, found: MatchResult) -> Replacement:
    first, second = found.ops
    assert first is not None and second is not None
    made = graph.make(onnx.AddOp, [first.operands[0], second.operands[0]])
    return Replacement([made], {first.results[0]: made.results[0], second.results[0]: made.results[0]})


def test_no_place_after_what_is_read_and_before_what_reads_declines():
    # Sin reads the first result; the second operand is made from Sin.
    module = function("a = Neg x", "b = Sin a", "c = Exp b", "y = Add a c")
    before = text_of(module)
    report = report_of(module, pattern(onnx.ExpOp, both, both_built))
    assert "onnx.Sin makes an input only after onnx.Sin has read a result" in declines(report)
    assert text_of(module) == before


def test_a_constant_in_the_way_is_moved():
    module = function(
        "a = Neg x", "b = Sin a", f"%k = onnx.Constant dense<1.0> : {T}", "c = Exp k", "y = Add b c"
    )
    assert rewrite(module, pattern(onnx.ExpOp, both, both_built)) == 1
    assert ops(module) == ["Constant", "Add", "Sin", "Add"]


def test_a_value_handed_on_must_exist_before_it_is_read():
    # %a -> %c, but Sin reads %a before %c is made.
    module = function("a = Neg x", "b = Sin a", "c = Exp b", "y = Add b c")
    late = pattern(
        onnx.NegOp,
        lambda _, op: MatchResult((op,)),
        lambda g, m: Replacement([], {m.ops[0].results[0]: value(module, "c")}),
    )
    before = text_of(module)
    assert "makes an input only after" in declines(report_of(module, late)) and text_of(module) == before


def test_constants_need_not_be_listed():
    module = function("y = Neg x")

    def build(graph: GraphIndex, match: MatchResult) -> Replacement:
        (op,) = match.ops
        assert op is not None
        one = graph.make_constant(np.ones(1, np.float32))
        made = graph.make(onnx.AddOp, [op.operands[0], one.output])
        return Replacement([made], {op.results[0]: made.results[0]})

    rewrite(module, pattern(onnx.NegOp, lambda _, op: MatchResult((op,)), build))
    assert ops(module) == ["Constant", "Add"]


# What is constant changes with the graph.


def asks(about: str, seen: list[bool]) -> type[PatternOptimization]:
    """A pattern that only asks, at each Exp, whether its operand is constant."""

    def match(graph: GraphIndex, op: Any) -> MatchResult | Miss:
        seen.append(graph.is_constant(op.operands[0]))
        return no_match(op, "only looks")

    return pattern(onnx.ExpOp, match, lambda *_: Replacement([], {}), about)


def constant_for(op_class: type[Operation], **members: Any) -> type[PatternOptimization]:
    def build(graph: GraphIndex, match: Any) -> Replacement:
        made = graph.make_constant(np.ones((4, 4), np.float32))
        return Replacement([made], {match.ops[0].results[0]: made.output})

    return pattern(op_class, lambda _, op: MatchResult((op,)), build, **members)


def test_what_becomes_constant_makes_its_readers_constant():
    seen: list[bool] = []
    module = function("a = Sin x", "b = Neg a", "c = Abs b", "d = Add c c", "e = Exp d", "y = Mul e x")
    rewrite(module, asks("First", seen), constant_for(onnx.SinOp))
    assert seen[0] is False and seen[-1] is True


def test_only_what_has_all_inputs_constant_becomes_so():
    seen: list[bool] = []
    module = function("a = Sin x", "b = Add a x", "y = Exp b")
    rewrite(module, asks("First", seen), constant_for(onnx.SinOp))
    assert not any(seen)


def test_what_is_no_longer_computed_is_no_longer_constant():
    seen: list[bool] = []
    module = function(
        f"%k = onnx.Constant dense<1.0> : {T}", "a = Neg k", "b = Abs a", "c = Exp b", "y = Mul c x"
    )
    rewrite(module, asks("First", seen), renames(onnx.NegOp, onnx.RandomNormalLikeOp))
    assert seen[0] is True and seen[-1] is False
