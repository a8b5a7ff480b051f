"""Is nothing replaced that something outside the pattern still needs?"""

from __future__ import annotations

import numpy as np
import pytest
from ir_graphs import T, graph

from onnxloom.dialects.onnx.text import parse_module
from onnxloom.testing.patterns import check_pattern, decline_reason
from onnxloom.transforms.rewriting.declarative import (
    DeclarativePattern,
    Inputs,
    Match,
    Tensor,
    op,
    pattern,
    shared,
)
from onnxloom.transforms.rewriting.driver import optimize


class NegAbs(DeclarativePattern):
    """-abs(neg(x)) -> -abs(x)."""

    @pattern
    def both(x: Tensor) -> Tensor:
        return op.Neg(op.Abs(op.Neg(x)))

    def replacement(self, inputs: Inputs, match: Match) -> Tensor:
        return op.Neg(op.Abs(inputs.x))


LINES = ("%n = Neg %x", "%a = Abs %n", "%y = Neg %a")


def test_a_closed_match_is_replaced():
    check_pattern(graph(*LINES), NegAbs, times=1)


@pytest.mark.parametrize("value", ["%n", "%a"])
def test_a_value_that_another_op_reads_is_not_lost(value: str):
    text = graph(*LINES, f"%z = Sin {value}", "%w = Add %y %z", returns="%w")
    reason = decline_reason(text, NegAbs)
    assert "onnx.Sin -> tensor<2x4xf32> reads it too; expected inside the pattern only" in reason
    assert f"test_boundary.py:{NegAbs.both.__code__.co_firstlineno + 2}" in reason


@pytest.mark.parametrize("value", ["%n", "%a"])
def test_a_value_that_is_an_output_of_the_graph_is_not_lost(value: str):
    text = graph(*LINES, returns=f"%y {value}", results=f"{T}, {T}")
    assert "it is an output of the graph" in decline_reason(text, NegAbs)


@pytest.mark.parametrize("value", ["%n", "%a"])
def test_a_value_that_a_nested_region_reads_is_not_lost(value: str):
    lines = graph(*LINES, inputs=[f"%x : {T}", "%c : tensor<i1>"])
    text = lines.replace(
        "  onnx.Return %y",
        f"""  %i = "onnx.If"(%c) ({{
            %w = "onnx.Sin"({value}) : ({T}) -> {T}
            onnx.Yield %w : {T}
        }}, {{
            onnx.Yield %y : {T}
        }}) : (tensor<i1>) -> {T}
      onnx.Return %i""",
    )
    assert "a nested region reads it" in decline_reason(text, NegAbs)


def test_the_output_may_be_read_by_anything():
    text = graph(*LINES, "%z = Sin %y", "%w = Add %y %z", returns="%w %y", results=f"{T}, {T}")
    check_pattern(text, NegAbs, times=1)


class Declared(DeclarativePattern):
    """The inner value is an output too."""

    @pattern
    def both(x: Tensor) -> tuple[Tensor, Tensor]:
        a = op.Abs(op.Neg(x))
        return a, op.Neg(a)

    def replacement(self, inputs: Inputs, match: Match) -> tuple[Tensor, Tensor]:
        a = op.Abs(inputs.x)
        return a, op.Neg(a)


def test_a_declared_inner_value_may_be_read_outside():
    text = graph(*LINES, "%z = Sin %a", "%w = Add %y %z", returns="%w %a", results=f"{T}, {T}")
    assert "onnx.Neg" in str(check_pattern(text, Declared, times=1))
    assert optimize(parse_module(text), [NegAbs]) == 0


def test_what_is_not_declared_is_still_not_lost():
    text = graph(*LINES, "%z = Sin %n", "%w = Add %y %z", returns="%w %a", results=f"{T}, {T}")
    assert "reads it too" in decline_reason(text, Declared)


class Shared(NegAbs):
    @pattern
    def both(x: Tensor) -> Tensor:
        return op.Neg(op.Abs(shared(op.Neg(x))))


def test_a_shared_value_stays_for_those_who_read_it():
    text = graph(*LINES, "%z = Sin %n", "%w = Add %y %z", returns="%w")
    done = str(check_pattern(text, Shared, times=1))
    assert done.count("onnx.Neg") == 2 and done.count("onnx.Abs") == 1
    assert str(check_pattern(graph(*LINES), Shared)).count("onnx.Neg") == 1


def test_what_a_shared_op_reads_must_be_shared_too():
    class Deep(NegAbs):
        @pattern
        def both(x: Tensor) -> Tensor:
            return op.Neg(shared(op.Abs(op.Neg(x))))

    text = graph(*LINES, "%z = Sin %a", "%w = Add %y %z", returns="%w")
    assert "onnx.Abs -> tensor<2x4xf32> reads it too" in decline_reason(text, Deep)


def test_an_op_with_an_output_does_not_stay():
    class Both(DeclarativePattern):
        """The first result of the split is shared, the second one an output."""

        @pattern
        def halves(x: Tensor) -> tuple[Tensor, Tensor]:
            low, high = op.Split(x, num_outputs=2).results(2)
            return high, op.Neg(shared(low))

        def replacement(self, inputs: Inputs, match: Match) -> tuple[Tensor, Tensor]:
            low, high = op.Split(op.Neg(inputs.x), num_outputs=2).results(2)
            return op.Neg(high), low

    half = "tensor<1x4xf32>"
    split = f"%a %b = Split %x %none {{num_outputs = 2 : si64}} : {half}"
    lines = (split, f"%n = Neg %a : {half}")
    check_pattern(graph(*lines, returns="%n %b", results=f"{half}, {half}"), Both, times=1)
    text = graph(*lines, f"%s = Sin %a : {half}", returns="%n %b %s", results=", ".join([half] * 3))
    assert "reads it too" in decline_reason(text, Both)


def test_an_input_made_by_a_replaced_op_is_declined():
    class Product(DeclarativePattern):
        @pattern
        def product(x: Tensor, y: Tensor) -> Tensor:
            return op.Exp(x) * y

        def replacement(self, inputs: Inputs, match: Match) -> Tensor:
            return inputs.y

    text = graph("%e = Exp %x", "%y = Mul %e %e")
    assert "an input of the pattern is made by an op that is replaced" in decline_reason(text, Product)


class Apart(DeclarativePattern):
    """Two sums of one value."""

    @pattern
    def sums(x: Tensor, a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
        e = op.Exp(x)
        return op.Sub(e, a), op.Add(e, b)

    def replacement(self, inputs: Inputs, match: Match) -> tuple[Tensor, Tensor]:
        e = op.Exp(inputs.x)
        return op.Sub(e, inputs.a), op.Sub(e, -inputs.b)


def test_a_replacement_stands_after_its_inputs_and_before_its_readers():
    inputs = [f"%{name} : {T}" for name in "xab"]
    apart = ("%e = Exp %x", "%s = Sub %e %a", "%t = Add %e %b", "%y = Mul %s %t")
    check_pattern(graph(*apart, inputs=inputs), Apart, {name: np.ones((2, 4), np.float32) for name in "xab"})
    # The second sum reads what is made of the first one: the two together would read their own result.
    circle = ("%e = Exp %x", "%s = Sub %e %a", "%n = Sin %s", "%y = Add %e %n")
    reason = decline_reason(graph(*circle, returns="%y %s", results=f"{T}, {T}", inputs=inputs[:2]), Apart)
    assert "reads it before onnx.Sin -> tensor<2x4xf32> makes an input" in reason
