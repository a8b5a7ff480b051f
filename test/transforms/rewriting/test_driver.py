"""The driver: priorities, bounds, what stays, cost."""

from __future__ import annotations

from typing import Any, cast

import pytest
from calls import count_calls
from rewriting import (
    NEG_PAIR,
    T,
    body,
    declines,
    function,
    op_of,
    ops,
    pattern,
    renames,
    report_of,
    rewrite,
    text_of,
    value,
)
from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Operation

from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.annotations import KEEP
from onnxloom.dialects.onnx.text import parse_module
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
