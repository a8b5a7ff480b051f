"""Ops that a round introduced are computed when all they read is constant."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from rewriting import T, function, op_of, ops, pattern, rewrite, value
from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Operation

from onnxloom.dialects import onnx
from onnxloom.dialects.onnx import constant_value
from onnxloom.dialects.onnx.annotations import DO_NOT_FOLD, FOLDED, OVERRIDABLE
from onnxloom.dialects.onnx.text import make_context
from onnxloom.transforms.folding.evaluator import NumpyEvaluator
from onnxloom.transforms.rewriting.budget import limit_rewrites
from onnxloom.transforms.rewriting.driver import RewriteOptions, optimize
from onnxloom.transforms.rewriting.graph_index import GraphIndex
from onnxloom.transforms.rewriting.pattern import MatchResult, PatternOptimization, Replacement
from onnxloom.transforms.rewriting.registry import use_patterns
from onnxloom.transforms.rewriting.rewrite_pass import RewritePatternsPass

C = f"%c = onnx.Constant dense<2.0> : {T}"
FOLD = {"fold": NumpyEvaluator()}


def built(build: Any) -> type[PatternOptimization]:
    """Sub(x, c) -> what `build` makes of the graph, x and c."""

    def apply(graph: GraphIndex, match: MatchResult) -> Replacement:
        (op,) = match.ops
        assert op is not None
        made = build(graph, *op.operands)
        return Replacement(made, {op.results[0]: made[-1].results[0]})

    return pattern(onnx.SubOp, lambda _, op: MatchResult((op,)), apply, "Negates")


def negates(graph: GraphIndex, x: Any, c: Any) -> list[Any]:
    negated = graph.make(onnx.NegOp, [c])
    again = graph.make(onnx.AddOp, [negated.results[0], negated.results[0]])
    return [negated, again, graph.make(onnx.AddOp, [x, again.results[0]])]


def test_a_chain_of_new_ops_is_folded():
    module = function(C, "y = Sub x c")
    assert rewrite(module, built(negates), **FOLD) == 1
    assert ops(module) == ["Constant", "Add"]
    found = constant_value(op_of(module, "y").operands[1])
    assert found is not None and np.all(found == -4.0)
    folded = op_of(module, "y").operands[1].owner
    assert isinstance(folded, onnx.ConstantOp) and FOLDED in folded.attributes


def test_a_long_chain_of_new_ops_is_folded():
    def chain(graph: GraphIndex, x: Any, c: Any) -> list[Any]:
        made: list[Any] = []
        for _ in range(1200):
            made.append(graph.make(onnx.NegOp, [made[-1].results[0] if made else c]))
        return [*made, graph.make(onnx.AddOp, [x, made[-1].results[0]])]

    module = function(C, "y = Sub x c")
    optimize(module, [built(chain)], RewriteOptions(fold=NumpyEvaluator()))
    assert ops(module) == ["Constant", "Add"]


def test_nothing_is_folded_without_an_evaluator():
    module = function(C, "y = Sub x c")
    rewrite(module, built(negates))
    assert ops(module) == ["Constant", "Neg", "Add", "Add"]


@pytest.mark.parametrize(("fold_added", "left"), [(True, 0), (False, 1)])
def test_the_pass_folds_unless_it_is_told_not_to(fold_added: bool, left: int):
    module = function(C, "y = Sub x c")
    with use_patterns([built(negates)]):
        RewritePatternsPass(("Negates",), fold_added=fold_added).apply(make_context(), module)
    assert ops(module).count("Neg") == left


def test_what_stood_there_before_is_left_to_folding():
    module = function(C, "d = Neg c", "y = Sub x d")
    rewrite(module, built(lambda g, x, d: [g.make(onnx.AddOp, [x, d])]), **FOLD)
    assert ops(module) == ["Constant", "Neg", "Add"]


def test_default_values_of_inputs_are_not_folded():
    module = function(C, "y = Sub x c")
    op_of(module, "c").attributes[OVERRIDABLE] = StringAttr("")
    rewrite(module, built(negates), **FOLD)
    assert ops(module) == ["Constant", "Neg", "Add", "Add"]


def test_ops_that_are_not_to_be_folded_stay():
    def marked(graph: GraphIndex, x: Any, c: Any) -> list[Any]:
        made = negates(graph, x, c)
        made[0].attributes[DO_NOT_FOLD] = StringAttr("")
        return made

    module = function(C, "y = Sub x c")
    rewrite(module, built(marked), **FOLD)
    assert ops(module) == ["Constant", "Neg", "Add", "Add"]


def test_ops_that_the_caller_keeps_stay():
    module = function(C, "y = Sub x c")
    rewrite(module, built(negates), do_not_remove=lambda op: op.name == "onnx.Neg", **FOLD)
    assert ops(module) == ["Constant", "Neg", "Add", "Add"]


def test_left_out_inputs_and_ops_without_inputs():
    def summed(graph: GraphIndex, x: Any, c: Any) -> list[Any]:
        total = graph.make(onnx.ReduceMaxOp, [c])
        return [total, graph.make(onnx.AddOp, [x, total.results[0]])]

    module = function(C, "y = Sub x c")
    rewrite(module, built(summed), **FOLD)
    assert ops(module) == ["Constant", "Add"]


def test_results_that_are_left_out_stay_so():
    class Copies:
        def evaluate(self, op: Operation, inputs: Any) -> Any:
            return [inputs[0], None, None]

    def normalized(graph: GraphIndex, x: Any, c: Any) -> list[Any]:
        made = graph.make(onnx.LayerNormalizationOp, [c, c])
        return [made, graph.make(onnx.AddOp, [x, made.results[0]])]

    module = function(C, "y = Sub x c")
    rewrite(module, built(normalized), fold=Copies())
    assert ops(module) == ["Constant", "Add"]


def test_new_constants_are_not_folded_again():
    def constant(graph: GraphIndex, x: Any, c: Any) -> list[Any]:
        made = graph.make_constant(np.ones(1, np.float32))
        return [made, graph.make(onnx.AddOp, [x, made.output])]

    module = function(C, "y = Sub x c")
    rewrite(module, built(constant), **FOLD)
    owner = op_of(module, "y").operands[1].owner
    assert isinstance(owner, onnx.ConstantOp) and FOLDED not in owner.attributes


def test_a_fold_counts_as_a_rewrite():
    for limit in (1, 2, 3):
        module = function(C, "y = Sub x c")
        with limit_rewrites(limit) as log:
            rewrite(module, built(negates), **FOLD)
        assert ops(module).count("Neg") == (limit < 2)
        assert [name for name, _ in log.taken] == ["rewrite-patterns", "fold-added", "fold-added"][:limit]


def test_a_value_that_is_returned_keeps_its_place():
    module = function(C, "y = Sub c c")
    rewrite(module, built(lambda g, a, b: [g.make(onnx.AddOp, [a, b])]), **FOLD)
    assert ops(module) == ["Constant"] and isinstance(value(module, "y").owner, onnx.ConstantOp)
