"""The driver: rounds, stale matches, places, priorities, bounds, what stays, alarms, failures."""

from __future__ import annotations

import sys
from typing import Any, cast

import numpy as np
import pytest
from calls import count_calls
from rewriting import (
    NEG_PAIR,
    T,
    body,
    function,
    inverse_pair,
    op_of,
    ops,
    pattern,
    renames,
    report_of,
    rewrite,
    text_of,
    value,
)
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Operation

from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.annotations import KEEP
from onnxloom.dialects.onnx.text import parse_module
from onnxloom.errors import PassError
from onnxloom.transforms.rewriting.budget import limit_rewrites
from onnxloom.transforms.rewriting.driver import RewriteOptions, optimize
from onnxloom.transforms.rewriting.graph_index import GraphIndex
from onnxloom.transforms.rewriting.pattern import (
    MatchResult,
    Miss,
    PatternOptimization,
    Replacement,
    no_match,
)
from onnxloom.transforms.rewriting.report import RewriteReport


def declines(report: RewriteReport) -> str:
    return "; ".join(str(d) for found in report.patterns.values() for d in found.declines)


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


# Priorities and bounds.


def test_higher_priorities_wait_until_the_others_find_nothing():
    order: list[str] = []

    def tracked(source: type[Operation], target: type[Operation], priority: int) -> type[PatternOptimization]:
        base = renames(source, target, priority=priority)

        def apply(self: Any, graph: GraphIndex, match: MatchResult) -> Replacement:
            order.append(self.name)
            return base.apply(self, graph, match)

        return type(base.name, (base,), {"name": base.name, "apply": apply, "priority": priority})

    module = function("a = Neg x", "b = Exp a", "y = Sin b")
    patterns = [
        tracked(onnx.NegOp, onnx.AbsOp, 3),
        tracked(onnx.ExpOp, onnx.SinOp, 1),
        tracked(onnx.SinOp, onnx.CosOp, 1),
        tracked(onnx.AbsOp, onnx.TanhOp, 0),
    ]
    rewrite(module, *patterns)
    assert order == ["Exp_to_Sin", "Sin_to_Cos", "Sin_to_Cos", "Neg_to_Abs", "Abs_to_Tanh"]
    assert ops(module) == ["Tanh", "Cos", "Cos"]


def test_patterns_whose_result_the_opset_lacks_do_not_run():
    gelu = renames(onnx.NegOp, onnx.MishOp, min_opset=18)
    assert rewrite(function("y = Neg x"), gelu, opset=17) == 0
    assert rewrite(function("y = Neg x"), gelu, opset=18) == 1
    assert rewrite(function("y = Neg x"), gelu) == 1


def test_the_report_names_patterns_whose_result_the_opset_lacks():
    late = [
        renames(onnx.NegOp, made, min_opset=20)
        for made in (onnx.MishOp, onnx.AbsOp, onnx.CosOp, onnx.SinOp, onnx.ExpOp)
    ]
    report = RewriteReport()
    for _ in range(2):
        optimize(function("y = Neg x"), late, RewriteOptions(opset=18), report)
    (note,) = report.notes
    assert "a later opset than 18: Neg_to_Mish (20), Neg_to_Abs (20)" in note and "and 1 more" in note


def test_iterations_are_bounded():
    module = function(
        "a = Neg x", "b = Neg a", "c = Neg b", "d = Neg c", "e = Neg d", "f = Neg e", "y = Abs f"
    )
    report = report_of(module, NEG_PAIR, max_iterations=1)
    assert report.iterations == 1 and "stopped after 1 iterations" in report.notes
    assert rewrite(function("y = Neg x"), renames(onnx.NegOp, onnx.AbsOp), max_iterations=0) == 0


@pytest.mark.parametrize("limit", [0, 1, 2, 3])
def test_stop_after(limit: int):
    module = function(*(f"v{i} = Neg {f'v{i - 1}' if i else 'x'}" for i in range(6)), "y = Abs v5")
    assert rewrite(module, NEG_PAIR, stop_after=limit) == min(limit, 3)
    assert len(ops(module)) == 7 - 2 * min(limit, 3)


@pytest.mark.parametrize("option", ["max_iterations", "stop_after"])
def test_negative_bounds(option: str):
    with pytest.raises(ValueError, match=f"{option} is -1; expected 0 or more"):
        RewriteOptions(**cast(Any, {option: -1}))


def test_the_first_rewrites_of_a_limited_run_are_those_of_an_unlimited_one():
    def run(limit: int | None) -> tuple[list[tuple[str, str]], str]:
        lines = [f"v{i} = Neg {f'v{i - 1}' if i else 'x'}" for i in range(12)]
        module = function(*lines, "a = Exp v11", "b = Exp a", "c = Identity b", "y = Add c a")
        with limit_rewrites(limit) as log:
            rewrite(module, NEG_PAIR, renames(onnx.ExpOp, onnx.SinOp))
        return log.taken, text_of(module)

    taken, _ = run(None)
    assert len(taken) >= 8 and any(name == "cleanup" for name, _ in taken)
    texts = [run(limit) for limit in range(len(taken) + 1)]
    for limit, (found, _) in enumerate(texts):
        assert found == taken[:limit]
    assert len({text for _, text in texts}) == len(texts)


# What stays.


def test_kept_ops_block_matches():
    module = function("a = Neg x", "b = Neg a", "y = Abs b")
    op_of(module, "a").attributes[KEEP] = StringAttr("")
    report = report_of(module, NEG_PAIR)
    assert report.rewrites == 0 and "an op of the match is to be kept" in declines(report)


def test_do_not_remove_blocks_matches_and_cleanup():
    module = function("a = Neg x", "b = Neg a", "c = Identity b", "d = Exp c", "e = Exp d", "y = Abs d")
    keep = {"onnx.Neg", "onnx.Identity"}
    renamed = renames(onnx.AbsOp, onnx.SinOp)
    assert rewrite(module, NEG_PAIR, renamed, do_not_remove=lambda op: op.name in keep) == 1
    assert ops(module) == ["Neg", "Neg", "Identity", "Exp", "Exp", "Sin"]


def test_an_output_keeps_its_place():
    module = function("a = Neg x", "b = Neg a", "y = Abs b", returned="b y")
    assert rewrite(module, NEG_PAIR) == 1
    end = body(module).last_op
    assert end is not None and end.operands[0] is value(module, "x")


def test_names_of_nodes_and_values_are_passed_on():
    module = function("y = Neg x")
    op_of(module, "y").attributes["onnx_node_name"] = StringAttr("node")
    rewrite(module, renames(onnx.NegOp, onnx.AbsOp))
    made = op_of(module, "y")
    assert made.name == "onnx.Abs" and made.attributes["onnx_node_name"] == StringAttr("node")


def test_symbolic_dims_survive():
    text = """func.func @f(%x: tensor<?x3xf32> {onnx.dim_params = "0:n"},
                         %y: tensor<?x3xf32> {onnx.dim_params = "0:n"}) -> tensor<?x3xf32> {
      %a = "onnx.Neg"(%x) : (tensor<?x3xf32>) -> tensor<?x3xf32>
      %b = "onnx.Exp"(%a) : (tensor<?x3xf32>) -> tensor<?x3xf32>
      onnx.Return %b : tensor<?x3xf32>
    }"""
    module = parse_module(text)
    seen: list[bool] = []

    def match(graph: GraphIndex, op: Any) -> MatchResult | Miss:
        seen.append(graph.same_shape(op.operands[0], value(module, "y")))
        return no_match(op, "only looks")

    rewrite(
        module,
        renames(onnx.NegOp, onnx.AbsOp),
        pattern(onnx.ExpOp, match, lambda *_: Replacement([], {}), priority=2),
    )
    assert seen == [True]


def test_a_type_that_was_declared_better_than_it_is_inferred_is_kept():
    text = f"""func.func @f(%x: tensor<*xf32>) -> {T} {{
      %y = "onnx.Neg"(%x) : (tensor<*xf32>) -> {T}
      onnx.Return %y : {T}
    }}"""
    module = parse_module(text)
    rewrite(module, renames(onnx.NegOp, onnx.AbsOp))
    assert str(value(module, "y").type) == T


# Patterns that undo each other.


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


# Failures leave the module as it was.


def _raises(*_: Any) -> Any:
    raise KeyError("lost")


def _exits(*_: Any) -> Any:
    sys.exit(7)


def later(text: str) -> ModuleOp:
    """A module in which something was rewritten before the failure."""
    return function(
        "a = Sin x", "b = Cos a", "c = Neg b", "y = Exp c", f"%k = onnx.Constant dense<{text}> : tensor<f32>"
    )


BEFORE = [renames(onnx.SinOp, onnx.AbsOp, priority=0), renames(onnx.CosOp, onnx.AbsOp, priority=0)]


@pytest.mark.parametrize(
    ("failing", "message"),
    [
        (
            pattern(onnx.NegOp, _raises, _raises, "Bad"),
            "Bad failed in match at onnx.Neg -> .*: KeyError: 'lost'",
        ),
        (pattern(onnx.NegOp, _exits, _raises, "Bad"), "Bad failed in match at onnx.Neg -> .*: SystemExit: 7"),
        (
            pattern(onnx.NegOp, lambda _, op: MatchResult((op,)), _exits, "Bad"),
            "Bad failed in apply at onnx.Neg -> .*: SystemExit: 7",
        ),
        (
            pattern(onnx.NegOp, lambda _, op: MatchResult((op,)), _raises, "Bad"),
            "pattern Bad failed in apply at onnx.Neg",
        ),
    ],
)
def test_exceptions_name_the_pattern_and_leave_the_module_unchanged(failing: Any, message: str):
    module = later("1.0")
    before, kept = text_of(module), list(body(module).ops)
    with pytest.raises(PassError, match=message):
        rewrite(module, *BEFORE, failing)
    assert text_of(module) == before
    assert list(body(module).ops) == kept, "the very same ops"
    assert rewrite(module, *BEFORE) == 2, "and usable as ever"


def test_a_pattern_that_cannot_be_made_is_named():
    made = type(pattern(onnx.NegOp, _raises, _raises, "Bad"))
    for init in (_raises, _exits, lambda self, size: None):  # pyright: ignore
        bad = cast(type[PatternOptimization], type("Bad", (made,), {"__init__": init, "name": "Bad"}))
        with pytest.raises(PassError, match="pattern Bad cannot be made without arguments: "):
            optimize(function("y = Neg x"), [bad])


def test_ops_built_before_a_failure_read_nothing():
    def build(graph: GraphIndex, match: MatchResult) -> Replacement:
        (op,) = match.ops
        assert op is not None
        graph.make(onnx.SinOp, [op.operands[0]])
        raise KeyError

    module = function("a = Exp x", "b = Neg a", "c = Abs a", "y = Add b c")
    with pytest.raises(PassError):
        rewrite(
            module,
            renames(onnx.NegOp, onnx.CosOp, priority=0),
            pattern(onnx.AbsOp, lambda _, op: MatchResult((op,)), build, priority=0),
        )
    assert [use.operation.name for use in value(module, "a").uses] == ["onnx.Abs", "onnx.Neg"] or value(
        module, "a"
    ).uses.get_length() == 2


def test_an_interrupted_run_leaves_the_module_unchanged():
    def interrupt(*_: Any) -> Any:
        raise KeyboardInterrupt

    module = later("1.0")
    before = text_of(module)
    with pytest.raises(KeyboardInterrupt):
        rewrite(module, *BEFORE, pattern(onnx.NegOp, interrupt, _raises))
    assert text_of(module) == before


def answers(match: Any) -> type[PatternOptimization]:
    return pattern(onnx.NegOp, match, _raises, "Bad")


@pytest.mark.parametrize(
    ("match", "message"),
    [
        (lambda _, op: None, r"match gives a NoneType; expected a MatchResult or no_match\(op, reason\)"),
        (lambda _, op: MatchResult(()), "the match replaces no op"),
        (lambda _, op: MatchResult((None,)), "the match replaces no op"),
        (lambda _, op: MatchResult(cast(Any, op)), "ops is a NegOp; expected a tuple of ops"),
        (lambda _, op: MatchResult((op,), op), "reads is a NegOp; expected a tuple of ops"),
        (lambda _, op: MatchResult((op.results[0],)), "the match lists a OpResult; expected ops"),
        (lambda _, op: MatchResult((op, op)), "the match lists an op twice"),
        (lambda _, op: MatchResult((op,), (op,)), "the match lists an op twice"),
        (
            lambda _, op: MatchResult((op,), insert_at=onnx.NoValueOp.make()),
            "insert_at is an op of another block",
        ),
        (
            lambda _, op: MatchResult((onnx.NoValueOp.make(),)),
            "the match replaces onnx.NoValue -> none, .* of another block",
        ),
        (
            lambda g, op: MatchResult((g.block.last_op,)),
            "the match replaces onnx.Return, which ends the block",
        ),
    ],
)
def test_answers_that_are_no_match(match: Any, message: str):
    with pytest.raises(PassError, match=f"pattern Bad at onnx.Neg -> .*: {message}"):
        rewrite(later("1.0"), answers(match))


def replaces(build: Any) -> type[PatternOptimization]:
    return pattern(onnx.NegOp, lambda _, op: MatchResult((op,)), build, "Bad")


def _reads_replaced(graph: GraphIndex, match: Any) -> Replacement:
    made = graph.make(onnx.AbsOp, [match.ops[0].results[0]])
    return Replacement([made], {match.ops[0].results[0]: made.results[0]})


def _reads_unattached(graph: GraphIndex, match: Any) -> Replacement:
    lost = graph.make(onnx.AbsOp, [match.ops[0].operands[0]])
    made = graph.make(onnx.AbsOp, [lost.results[0]])
    return Replacement([made], {match.ops[0].results[0]: made.results[0]})


def _wrong_type(graph: GraphIndex, match: Any) -> Replacement:
    made = graph.make(onnx.CastOp, [match.ops[0].operands[0]], to=10)
    return Replacement([made], {match.ops[0].results[0]: made.results[0]})


def _wrong_shape(graph: GraphIndex, match: Any) -> Replacement:
    made = graph.make(onnx.ReduceSumOp, [match.ops[0].operands[0], None])
    return Replacement([made], {match.ops[0].results[0]: made.results[0]})


def _twice(graph: GraphIndex, match: Any) -> Replacement:
    made = graph.make(onnx.AbsOp, [match.ops[0].operands[0]])
    return Replacement([made, made], {match.ops[0].results[0]: made.results[0]})


def _attached(graph: GraphIndex, match: Any) -> Replacement:
    maker = match.ops[0].operands[0].owner
    return Replacement([maker], {match.ops[0].results[0]: maker.results[0]})


def _made(graph: GraphIndex, match: Any, op_class: Any, **attributes: Any) -> Replacement:
    made = graph.make(op_class, match.ops[0].operands, **attributes)
    return Replacement([made], {match.ops[0].results[0]: made.results[0]})


def _value_not_there(graph: GraphIndex, match: Any) -> Replacement:
    lost = graph.make(onnx.AbsOp, [match.ops[0].operands[0]])
    return Replacement([], {match.ops[0].results[0]: lost.results[0]})


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda g, m: None, "apply gives a NoneType; expected a Replacement"),
        (lambda g, m: Replacement([], {}), "has no value for a result of onnx.Neg -> .* that is read"),
        (
            lambda g, m: Replacement([], {g.block.args[0]: g.block.args[0]}),
            "an entry for what is no result",
        ),
        (
            lambda g, m: Replacement([], {m.ops[0].results[0]: m.ops[0].results[0]}),
            "gives a result of an op it replaces",
        ),
        (_reads_replaced, "onnx.Abs -> .* reads a result of an op it replaces"),
        (
            _reads_unattached,
            "onnx.Abs -> .* reads a value of onnx.Abs -> .* nor listed in Replacement.ops before it",
        ),
        (_value_not_there, "gives a value of onnx.Abs -> .*, which is neither in the graph nor listed"),
        (lambda g, m: Replacement(m.ops[0], {}), "Replacement.ops is a NegOp; expected a list of ops"),
        (lambda g, m: Replacement(cast(Any, [None]), {}), "Replacement.ops holds a NoneType; expected ops"),
        (
            lambda g, m: Replacement([], cast(Any, [1])),
            "Replacement.values is a list; expected {old result: its new value}",
        ),
        (
            lambda g, m: Replacement([], {m.ops[0].results[0]: m.ops[0]}),
            "Replacement.values holds a NegOp; expected values; take its `results",
        ),
        (
            lambda g, m: Replacement([], cast(Any, {1: 1})),
            "Replacement.values holds a int; expected values",
        ),
        (lambda g, m: _made(g, m, onnx.AddOp), "onnx.Add: operand B has type none"),
        (lambda g, m: _made(g, m, onnx.AbsOp, axis=3), "onnx.Abs: attribute axis is not one of this op"),
        (lambda g, m: _made(g, m, "Abs"), "making 'Abs': expected an op class such as onnx.AddOp"),
        (lambda g, m: g.make(onnx.AbsOp, m.ops), "making onnx.Abs: an operand is a NegOp; take its `results"),
        (lambda g, m: g.make(onnx.AbsOp, [1]), "making onnx.Abs: an operand is a int"),
        (_wrong_type, r"has type tensor<4x4xf16>; expected tensor<4x4xf32>"),
        (_wrong_shape, r"has type tensor<1x1xf32>; expected tensor<4x4xf32>"),
        (_twice, "lists onnx.Abs -> .* twice"),
        (_attached, "lists onnx.Cos -> .*, which stands in the graph already"),
    ],
)
def test_replacements_that_would_break_the_graph(build: Any, message: str):
    module = later("1.0")
    before = text_of(module)
    with pytest.raises(PassError, match=f"pattern Bad at onnx.Neg -> .*: .*{message}"):
        rewrite(module, replaces(build))
    assert text_of(module) == before


def test_shapes_of_a_replacement_that_contradict_each_other():
    def build(graph: GraphIndex, match: Any) -> Replacement:
        three = graph.make_constant(np.ones(3, np.float32))
        made = graph.make(onnx.AddOp, [match.ops[0].operands[0], three.output])
        return Replacement([made], {match.ops[0].results[0]: made.results[0]})

    with pytest.raises(PassError, match="pattern Bad failed in apply at onnx.Neg -> .*: onnx.Add"):
        rewrite(later("1.0"), replaces(build))


def test_no_patterns_no_work():
    module = function("a = Identity x", "y = Abs a")
    assert optimize(module, []) == 0 and ops(module) == ["Identity", "Abs"]


@pytest.mark.parametrize("shape", ["chain", "fan"])
def test_the_time_is_linear(shape: str):
    def calls(count: int) -> int:
        names = [f"v{i}" for i in range(count)]
        lines = {
            "chain": [f"{n} = Neg {names[i - 1] if i else 'x'}" for i, n in enumerate(names)],
            "fan": [f"{n} = Neg {names[i - 1] if i % 2 else 'x'}" for i, n in enumerate(names)],
        }[shape]
        module = function(*lines, f"y = Sum {' '.join(names[-1:-400:-2])}")
        return count_calls(lambda: optimize(module, [NEG_PAIR, renames(onnx.SumOp, onnx.MaxOp)]))

    calls(100)
    assert calls(4000) < 6 * calls(1000)
