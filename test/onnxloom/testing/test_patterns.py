"""`check_pattern` and `decline_reason` notice patterns that are wrong, silent, or too eager."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import UnitAttr
from xdsl.ir import Operation

from onnxloom.dialects import onnx
from onnxloom.testing import Ulp
from onnxloom.testing.patterns import check_pattern, decline_reason
from onnxloom.transforms.rewriting.graph_index import GraphIndex
from onnxloom.transforms.rewriting.pattern import (
    MatchResult,
    Miss,
    Numerics,
    PatternOptimization,
    Replacement,
    no_match,
)

DOUBLED = """
func.func @main_graph(%x: tensor<?xf32>) -> tensor<?xf32> {
  %c = onnx.Constant dense<2.0> : tensor<f32>
  %y = "onnx.Mul"(%x, %c) : (tensor<?xf32>, tensor<f32>) -> tensor<?xf32>
  onnx.Return %y : tensor<?xf32>
}
"""
TRIPLED = DOUBLED.replace("dense<2.0>", "dense<3.0>")


class MulByTwoPattern(PatternOptimization):
    """Mul(x, 2) -> Add(x, x)."""

    start_ops = (onnx.MulOp,)
    replacement: Any = onnx.AddOp

    def match(self, graph: GraphIndex, op: Operation) -> MatchResult | Miss:
        if not graph.is_constant_scalar(op.operands[1], 2.0):
            return no_match(op, "the second factor is not 2")
        return MatchResult((op,))

    def apply(self, graph: GraphIndex, match: MatchResult) -> Replacement:
        (op,) = match.ops
        assert op is not None
        fresh = graph.make(self.replacement, [op.operands[0], op.operands[0]])
        return Replacement([fresh], {op.results[0]: fresh.results[0]})


class MulByTwoWrongPattern(MulByTwoPattern):
    """Mul(x, 2) -> Mul(x, x): wrong."""

    replacement = onnx.MulOp

    def match(self, graph: GraphIndex, op: Operation) -> MatchResult | Miss:
        if op.operands[0] is op.operands[1]:
            return no_match(op, "a square")
        return super().match(graph, op)


class MulTolerantPattern(MulByTwoPattern):
    """Mul(x, c) -> Mul(x, the next float after c): one or two ulp off."""

    numerics = Numerics.TOLERANCE

    def match(self, graph: GraphIndex, op: Operation) -> MatchResult | Miss:
        if graph.constant_scalar(op.operands[1]) not in (2.0, 3.0):
            return no_match(op, "neither 2 nor 3")
        return MatchResult((op,))

    def apply(self, graph: GraphIndex, match: MatchResult) -> Replacement:
        (op,) = match.ops
        assert op is not None
        factor = np.float32(graph.constant_scalar(op.operands[1]) or 0)
        constant = graph.make_constant(np.nextafter(factor, np.float32(9)))
        fresh = graph.make(onnx.MulOp, [op.operands[0], constant.results[0]])
        return Replacement([constant, fresh], {op.results[0]: fresh.results[0]})


class MulMutatingPattern(MulByTwoPattern):
    """Changes the graph while it looks."""

    def match(self, graph: GraphIndex, op: Operation) -> MatchResult | Miss:
        op.attributes["seen"] = UnitAttr()
        return no_match(op, "looked only")


def test_a_right_pattern_passes_and_the_rewritten_module_is_given() -> None:
    module = check_pattern(DOUBLED, MulByTwoPattern, times=1)
    names = [op.name for op in module.walk() if op.name.startswith("onnx.")]
    assert "onnx.Add" in names and "onnx.Mul" not in names


def test_a_wrong_pattern_fails() -> None:
    with pytest.raises(AssertionError, match="the transform changed the results"):
        check_pattern(DOUBLED, MulByTwoWrongPattern)


def test_a_pattern_that_does_not_fire_fails_with_its_reason() -> None:
    with pytest.raises(AssertionError, match=r"MulByTwo did not fire: the second .* 2 \(.*py:\d+\)"):
        check_pattern(TRIPLED, MulByTwoPattern)


def test_the_number_of_rewrites_is_checked() -> None:
    with pytest.raises(AssertionError, match="MulByTwo fired 1 times; expected 2"):
        check_pattern(DOUBLED, MulByTwoPattern, times=2)


def test_a_pattern_is_held_to_what_it_promises() -> None:
    check_pattern(TRIPLED, MulTolerantPattern, {"x": np.ones(3, np.float32)}, times=1)
    with pytest.raises(AssertionError, match="ulp apart"):
        check_pattern(TRIPLED, MulTolerantPattern, {"x": np.ones(3, np.float32)}, Ulp(0))


def test_the_reason_of_a_decline_is_given() -> None:
    assert decline_reason(TRIPLED, MulByTwoPattern).startswith("the second factor is not 2 (")


def test_a_pattern_that_fires_did_not_decline() -> None:
    with pytest.raises(AssertionError, match="MulByTwo fired 1 times; expected it to decline"):
        decline_reason(DOUBLED, MulByTwoPattern)


def test_a_model_without_a_place_to_start_is_no_decline() -> None:
    with pytest.raises(AssertionError, match="MulByTwo starts from no op of the model"):
        decline_reason(DOUBLED.replace("onnx.Mul", "onnx.Div"), MulByTwoPattern)


def test_a_match_that_changes_the_module_fails() -> None:
    with pytest.raises(AssertionError, match="MulMutating.match changed the module"):
        decline_reason(DOUBLED, MulMutatingPattern)
