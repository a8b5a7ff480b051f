"""Where does a pattern match, and how near does it come where it does not?"""

from __future__ import annotations

import numpy as np
import pytest
from ir_graphs import T, graph, scalar
from xdsl.ir import Operation

from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.text import parse_module, print_module
from onnxloom.errors import PassError
from onnxloom.transforms.miss import Miss, no_match
from onnxloom.transforms.rewriting.declarative import (
    DeclarativePattern,
    Inputs,
    Match,
    Tensor,
    one_of,
    op,
    pattern,
)
from onnxloom.transforms.rewriting.explain import PatternExplanation, explain_pattern
from onnxloom.transforms.rewriting.graph_index import GraphIndex
from onnxloom.transforms.rewriting.pattern import MatchResult, PatternOptimization, Replacement


class Gelu(DeclarativePattern):
    @pattern
    def parts(x: Tensor) -> Tensor:
        return op.Mul(op.Mul(x, 0.5), op.Add(op.Erf(one_of(op.Div(x, 2.0), x)), 1.0))

    def replacement(self, inputs: Inputs, match: Match) -> Tensor:
        return op.Gelu(inputs.x)


CONSTANTS = (scalar("%h", "0.5"), scalar("%o", "1.0"), scalar("%t", "2.0"))
PARTS = ("%s = Div %x %t", "%e = Erf %s", "%p = Add %e %o", "%a = Mul %x %h", "%y = Mul %a %p")


def explained(*lines: str, kind: type[PatternOptimization] = Gelu, returns: str = "%y") -> PatternExplanation:
    module = parse_module(graph(*CONSTANTS, *lines, returns=returns))
    before = print_module(module)
    found = explain_pattern(module, kind())
    assert print_module(module) == before
    return found


def test_matches_are_listed():
    found = explained(*PARTS)
    assert found.matches == ("onnx.Mul -> tensor<2x4xf32>",)
    assert found.candidates == 2
    assert str(found).startswith("pattern Gelu: starts from 2 ops, matches 1\n  match at onnx.Mul ->")


def test_one_candidate_is_one_op():
    assert str(explained("%y = Mul %x %x")).startswith("pattern Gelu: starts from 1 op, matches 0\n")


def test_the_best_attempt_and_the_first_difference_are_shown():
    wrong = [line.replace("Erf", "Tanh") for line in PARTS]
    found = explained(*wrong)
    nearest = found.nearest
    assert nearest is not None and not found.matches
    assert [entry[0] for entry in nearest.matched] == ["onnx.Mul", "onnx.Mul", "onnx.Add"]
    assert nearest.total == 5
    line = Gelu.parts.__code__.co_firstlineno + 2
    assert nearest.difference.startswith("expected onnx.Erf, found onnx.Tanh -> tensor<2x4xf32> (")
    assert nearest.difference.endswith(f"test_explain.py:{line})")
    assert f"onnx.Add (test_explain.py:{line}) is onnx.Add -> tensor<2x4xf32>" in str(nearest)


def test_a_constant_that_differs():
    wrong = [line.replace("%p = Add %e %o", "%p = Add %e %t") for line in PARTS]
    nearest = explained(*wrong).nearest
    assert nearest is not None and nearest.difference.startswith(
        "expected the constant 1.0, found another one"
    )


def test_reasons_are_counted_by_kind_of_op():
    found = explained(*(f"%v{index} = Mul %x %x" for index in range(3)), "%y = Neg %v2")
    ((reason, count),) = found.reasons
    assert count == 3 and "expected onnx.Mul, found the input x" in reason


def test_a_boundary_that_declines_is_the_difference():
    found = explained(*PARTS, "%z = Sin %e", "%w = Add %z %y", returns="%w")
    assert found.nearest is not None and len(found.nearest.matched) == 5
    assert "reads it too" in found.nearest.difference


def test_inner_graphs_are_looked_at_and_fused_bodies_are_not():
    inner = '%s = "onnx.Mul"(%x, %x) : ({T}, {T}) -> {T}\n onnx.Yield %s : {T}'.replace("{T}", T)
    text = f"""
    func.func @main(%c: tensor<i1>, %x: {T}) -> {T} {{
      %r = "onnx.If"(%c) ({{ {inner} }}, {{ onnx.Yield %x : {T} }}) : (tensor<i1>) -> {T}
      %f = "onnx.FusedOp"(%r) ({{
        ^bb0(%b: {T}):
        %m = "onnx.Mul"(%b, %b) : ({T}, {T}) -> {T}
        onnx.Yield %m : {T}
      }}) {{kind = "onnx.elementwise"}} : ({T}) -> {T}
      onnx.Return %f : {T}
    }}"""
    assert explain_pattern(parse_module(text), Gelu()).candidates == 1


class Plain(PatternOptimization):
    start_ops = (onnx.NegOp,)

    def match(self, graph: GraphIndex, op: onnx.OnnxOp) -> MatchResult | Miss:  # pyright: ignore[reportIncompatibleMethodOverride]
        return no_match(op, "it is negative")

    def apply(self, graph: GraphIndex, match: MatchResult) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        raise NotImplementedError


def test_other_patterns_have_reasons_only():
    found = explained("%n = Neg %x", "%y = Neg %n", kind=Plain)
    assert found.nearest is None
    assert str(found).endswith(f"test_explain.py:{Plain.match.__code__.co_firstlineno + 1})")
    assert "2 x it is negative (" in str(found)


def test_a_pattern_that_fails_is_named():
    class Failing(Gelu):
        def requirements(self, match: Match) -> Miss | None:
            raise KeyError("axis")

    with pytest.raises(PassError, match="Failing"):
        explained(*PARTS, kind=Failing)


def test_the_command(tmp_path: object, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch):
    from pathlib import Path

    import onnx as onnx_package
    from onnx import TensorProto, helper, numpy_helper

    from onnxloom.tools.cli import main

    folder = Path(str(tmp_path))
    (folder / "mine.py").write_text(
        "from onnxloom.transforms.rewriting.declarative import (\n"
        "    DeclarativePattern, Inputs, Match, Tensor, op, pattern)\n"
        "class Halves(DeclarativePattern):\n"
        "    @pattern\n"
        "    def half(x: Tensor) -> Tensor:\n"
        "        return op.Erf(op.Abs(x) * 0.25)\n"
        "    def replacement(self, inputs: Inputs, match: Match) -> Tensor:\n"
        "        return inputs.x\n"
    )
    # The constant is computed: what other passes do is done before the pattern is asked.
    nodes = [
        helper.make_node("Neg", ["k"], ["m"]),
        helper.make_node("Abs", ["x"], ["a"], name="absolute"),
        helper.make_node("Mul", ["a", "m"], ["s"], name="scaled"),
        helper.make_node("Erf", ["s"], ["y"], name="last"),
    ]
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [2]) for name in "xy"]
    for number, expected in (
        (-0.25, "match at onnx.Erf"),
        (-0.5, "first difference: expected the constant 0.25"),
    ):
        weights = [numpy_helper.from_array(np.array(number, np.float32), "k")]
        made = helper.make_graph(nodes, "g", values[:1], values[1:], weights)
        onnx_package.save(
            helper.make_model(made, opset_imports=[helper.make_opsetid("", 21)]), folder / "m.onnx"
        )
        monkeypatch.setenv("ONNXLOOM_PLUGINS", str(folder / "mine.py"))
        assert main(["explain", "--pattern", "Halves", str(folder / "m.onnx")]) == 0
        assert expected in capsys.readouterr().out
    assert main(["explain", "--pattern", "Mish", str(folder / "m.onnx")]) == 0
    assert "the result needs" not in capsys.readouterr().out
    assert main(["explain", "--pattern", "Swish", str(folder / "m.onnx")]) == 0
    assert "the result needs opset 24, the model has 21" in capsys.readouterr().out
    assert main(["explain", "--pattern", "Thirds", str(folder / "m.onnx")]) == 1
    assert "there is no rewrite pattern 'Thirds'" in capsys.readouterr().err


def test_a_pattern_that_starts_anywhere_is_asked_where_the_engine_asks_it():
    class Anywhere(PatternOptimization):
        def match(self, graph: GraphIndex, op: Operation) -> MatchResult | Miss:
            assert isinstance(op, onnx.AbsOp), "no constant and no end"
            return no_match(op, "only looks")

        def apply(self, graph: GraphIndex, match: MatchResult) -> Replacement:
            raise AssertionError

    assert explained("%y = Abs %x", kind=Anywhere).candidates == 1
