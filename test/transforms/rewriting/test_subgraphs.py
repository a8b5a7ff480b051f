"""Graphs inside ops: rewritten first, seen by the outer ones, counted once."""

from __future__ import annotations

from typing import Any

from calls import count_calls
from rewriting import NEG_PAIR, T, function, op_of, ops, pattern, renames, report_of, rewrite, text_of, value
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.text import parse_module
from onnxloom.transforms.rewriting.driver import optimize
from onnxloom.transforms.rewriting.graph_index import GraphIndex
from onnxloom.transforms.rewriting.pattern import (
    MatchResult,
    Miss,
    PatternOptimization,
    Replacement,
    no_match,
)

ARGUMENTS = f"%x: {T}, %c: tensor<i1>, %n: tensor<i64>"


def unary(op: str, result: str, operand: str) -> str:
    return f'%{result} = "onnx.{op}"(%{operand}) : ({T}) -> {T}'


def if_op(result: str, then: list[str], yielded: str, other: str = "x") -> str:
    lines = "\n".join(then)
    return f"""%{result} = "onnx.If"(%c) ({{
      {lines}
      onnx.Yield %{yielded} : {T}
    }}, {{
      onnx.Yield %{other} : {T}
    }}) : (tensor<i1>) -> {T}"""


def loop(result: str, lines: list[str], yielded: str) -> str:
    body = "\n".join(lines)
    return f"""%{result} = "onnx.Loop"(%n, %c, %x) ({{
    ^bb0(%i: tensor<i64>, %go: tensor<i1>, %carried: {T}):
      {body}
      onnx.Yield %go, %{yielded} : tensor<i1>, {T}
    }}) : (tensor<i64>, tensor<i1>, {T}) -> {T}"""


def graph(*lines: str, returned: str = "y") -> ModuleOp:
    return function(*lines, arguments=ARGUMENTS, returned=returned)


def test_bodies_are_rewritten():
    inner = [unary("Neg", "a", "carried"), unary("Neg", "b", "a"), unary("Exp", "d", "b")]
    module = graph(loop("y", inner, "d"))
    report = report_of(module, NEG_PAIR)
    assert report.rewrites == 1 and "onnx.Neg" not in text_of(module)
    assert report.graphs == {"@f/Loop[0].body": 1, "@f": 0}


def test_nested_bodies_and_what_scan_and_sequence_map_hold():
    deep = if_op(
        "r", [unary("Neg", "a", "carried"), unary("Neg", "b", "a"), unary("Exp", "e", "b")], "e", "carried"
    )
    module = graph(loop("y", [deep], "r"))
    assert rewrite(module, NEG_PAIR) == 1
    scan = f"""%y = "onnx.Scan"(%x) ({{
    ^bb0(%row: tensor<4xf32>):
      %a = "onnx.Neg"(%row) : (tensor<4xf32>) -> tensor<4xf32>
      %b = "onnx.Neg"(%a) : (tensor<4xf32>) -> tensor<4xf32>
      %d = "onnx.Exp"(%b) : (tensor<4xf32>) -> tensor<4xf32>
      onnx.Yield %d : tensor<4xf32>
    }}) {{num_scan_inputs = 1 : si64}} : ({T}) -> {T}"""
    assert rewrite(graph(scan), NEG_PAIR) == 1


def test_inner_graphs_come_first():
    order: list[str] = []

    class Looks(PatternOptimization):
        start_ops = (onnx.AbsOp, onnx.ExpOp)

        def match(self, graph: GraphIndex, op: Operation) -> MatchResult | Miss:
            order.append(op.name)
            return no_match(op, "only looks")

        def apply(self, graph: GraphIndex, match: MatchResult) -> Replacement:
            raise AssertionError

    rewrite(graph("a = Exp x", if_op("r", [unary("Abs", "t", "a")], "t"), "y = Exp r"), Looks)
    assert order == ["onnx.Abs", "onnx.Exp", "onnx.Exp"]


def test_a_captured_value_is_not_private():
    module = graph("a = Neg x", "b = Neg a", if_op("r", [unary("Abs", "t", "a")], "t"), "y = Add b r")
    report = report_of(module, NEG_PAIR)
    assert report.rewrites == 0


def test_captured_values_are_replaced_inside():
    module = graph("a = Neg x", "b = Neg a", if_op("r", [unary("Abs", "t", "b")], "t"), "y = Add b r")
    assert rewrite(module, NEG_PAIR) == 1
    assert op_of(module, "t").operands[0] is value(module, "x")


def test_an_inner_graph_is_looked_at_again_when_what_it_reads_has_changed():
    # Only after Sin has become Neg is there anything for the pattern inside to see.
    def match(graph: GraphIndex, op: Any) -> MatchResult | Miss:
        maker = op.operands[0].owner
        return MatchResult((op,)) if isinstance(maker, onnx.NegOp) else no_match(op, "no Neg outside")

    def build(graph: GraphIndex, found: MatchResult) -> Replacement:
        (op,) = found.ops
        assert op is not None
        made = graph.make(onnx.CosOp, [op.operands[0]])
        return Replacement([made], {op.results[0]: made.results[0]})

    module = graph("a = Sin x", if_op("r", [unary("Abs", "t", "a")], "t"), "y = Add a r")
    assert rewrite(module, renames(onnx.SinOp, onnx.NegOp), pattern(onnx.AbsOp, match, build)) == 2
    assert op_of(module, "t").name == "onnx.Cos"


def test_what_an_inner_graph_no_longer_reads_goes():
    def build(graph: GraphIndex, found: MatchResult) -> Replacement:
        (op,) = found.ops
        assert op is not None
        made = graph.make(onnx.CosOp, [value(module, "x")])
        return Replacement([made], {op.results[0]: made.results[0]})

    module = graph("a = Sin x", "b = Exp a", if_op("y", [unary("Abs", "t", "b")], "t"))
    rewrite(module, pattern(onnx.AbsOp, lambda _, op: MatchResult((op,)), build))
    assert ops(module) == ["If"]


def test_an_op_with_regions_that_goes_is_not_looked_into_again():
    # What the branch reads is replaced, and so nobody misses the If.
    module = graph("a = Neg x", "b = Neg a", if_op("r", [unary("Neg", "t", "b")], "t"), "y = Abs b")
    assert rewrite(module, NEG_PAIR) == 1
    assert ops(module) == ["Abs"]


def test_an_op_with_regions_may_be_replaced():
    def build(graph: GraphIndex, found: Any) -> Replacement:
        return Replacement([], {found.ops[0].results[0]: value(module, "x")})

    module = graph("a = Sin x", if_op("r", [unary("Abs", "t", "a")], "t"), "y = Exp r")
    assert rewrite(module, pattern(onnx.IfOp, lambda _, op: MatchResult((op,)), build)) == 1
    assert ops(module) == ["Exp"]


def test_a_failure_later_brings_an_op_with_regions_back():
    def build(graph: GraphIndex, found: Any) -> Replacement:
        return Replacement([], {found.ops[0].results[0]: value(module, "x")})

    def fail(*_: Any) -> Any:
        raise KeyError

    module = graph("a = Sin x", if_op("r", [unary("Abs", "t", "a")], "t"), "y = Exp r")
    before = text_of(module)
    try:
        rewrite(
            module,
            pattern(onnx.IfOp, lambda _, op: MatchResult((op,)), build),
            pattern(onnx.ExpOp, fail, fail, priority=2),
        )
    except Exception:
        assert text_of(module) == before
        return
    raise AssertionError("it should have failed")


def test_a_replacement_may_hold_regions_that_read_what_is_around():
    def build(graph: GraphIndex, found: MatchResult) -> Replacement:
        (op,) = found.ops
        assert op is not None
        moved = [region.clone() for region in op.regions]
        made = graph.make(onnx.IfOp, [op.operands[0]], regions=moved, result_types=[op.results[0].type])
        return Replacement([made], {op.results[0]: made.results[0]})

    def match(graph: GraphIndex, op: Operation) -> MatchResult | Miss:
        return MatchResult((op,)) if "seen" not in seen else no_match(op, "once")

    seen: set[str] = set()

    def once(graph: GraphIndex, found: MatchResult) -> Replacement:
        seen.add("seen")
        return build(graph, found)

    module = graph("a = Sin x", if_op("y", [unary("Abs", "t", "a")], "t"))
    assert rewrite(module, pattern(onnx.IfOp, match, once)) == 1
    assert ops(module) == ["Sin", "If"]


def test_bodies_of_fused_ops_are_left_alone():
    text = f"""func.func @f(%x: {T}) -> {T} {{
      %y = "onnx.FusedOp"(%x) <{{kind = "onnx.elementwise"}}> ({{
      ^bb0(%a: {T}):
        %b = "onnx.Neg"(%a) : ({T}) -> {T}
        %c = "onnx.Neg"(%b) : ({T}) -> {T}
        %d = "onnx.Abs"(%c) : ({T}) -> {T}
        onnx.Yield %d : {T}
      }}) : ({T}) -> {T}
      onnx.Return %y : {T}
    }}"""
    assert rewrite(parse_module(text), NEG_PAIR) == 0


def test_the_input_of_a_fused_op_may_become_better_known():
    text = f"""func.func @f(%x: {T}) -> tensor<*xf32> {{
      %n = "onnx.Neg"(%x) : ({T}) -> tensor<*xf32>
      %y = "onnx.FusedOp"(%n) <{{kind = "onnx.elementwise"}}> ({{
      ^bb0(%a: tensor<*xf32>):
        %d = "onnx.Abs"(%a) : (tensor<*xf32>) -> tensor<*xf32>
        onnx.Yield %d : tensor<*xf32>
      }}) : (tensor<*xf32>) -> tensor<*xf32>
      onnx.Return %y : tensor<*xf32>
    }}"""
    module = parse_module(text)
    assert rewrite(module, renames(onnx.NegOp, onnx.SinOp)) == 1
    assert str(op_of(module, "y").operands[0].type) == T


def test_all_functions_are_rewritten():
    text = f"""
    func.func @f(%x: {T}) -> {T} {{
      %y = "onnx.Neg"(%x) : ({T}) -> {T}
      onnx.Return %y : {T}
    }}
    func.func @g(%x: {T}) -> {T} {{
      %y = "onnx.Neg"(%x) : ({T}) -> {T}
      onnx.Return %y : {T}
    }}"""
    report = report_of(parse_module(text), renames(onnx.NegOp, onnx.AbsOp))
    assert report.graphs == {"@f": 1, "@g": 1}


def test_the_time_is_linear_in_the_number_of_bodies_that_read_one_value():
    def calls(count: int) -> int:
        ifs = [if_op(f"y{i}", [unary("Neg", f"a{i}", "w")], f"a{i}", "w") for i in range(count)]
        module = function("w = Sin x", *ifs, f"y = Sum y0 y{count - 1} w", arguments=ARGUMENTS)
        return count_calls(lambda: optimize(module, [renames(onnx.NegOp, onnx.AbsOp)]))

    calls(50)
    assert calls(800) < 6 * calls(200)
