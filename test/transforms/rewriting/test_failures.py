"""Failures of patterns name them and leave the module as it was."""

from __future__ import annotations

import sys
from typing import Any, cast

import numpy as np
import pytest
from rewriting import (
    body,
    function,
    pattern,
    renames,
    rewrite,
    text_of,
    value,
)
from xdsl.dialects.builtin import ModuleOp

from onnxloom.dialects import onnx
from onnxloom.errors import PassError
from onnxloom.transforms.rewriting.driver import optimize
from onnxloom.transforms.rewriting.graph_index import GraphIndex
from onnxloom.transforms.rewriting.pattern import (
    MatchResult,
    PatternOptimization,
    Replacement,
)
from onnxloom.transforms.rewriting.report import RewriteReport


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
    report = RewriteReport()
    with pytest.raises(PassError, match=message):
        rewrite(module, *BEFORE, failing, report=report)
    assert (report.rewrites, report.cleanup, report.graphs) == (0, {}, {}), "what was undone is not counted"
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
