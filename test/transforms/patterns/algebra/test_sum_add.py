"""Sum of two operands is Add, bit by bit."""

from __future__ import annotations

import pytest
from ir_graphs import T, graph
from rewritten import op_names

from onnxloom.testing.patterns import check_pattern, decline_reason
from onnxloom.transforms.patterns.algebra.sum_add import SumAddPattern


@pytest.mark.parametrize("shape", [T, "tensor<?x4xf32>", "tensor<f32>", "tensor<0x4xf32>", "tensor<2x4xf16>"])
def test_two_operands(shape: str):
    inputs = [f"%x : {shape}", f"%z : {shape}"]
    done = check_pattern(
        graph(f"%y = Sum %x %z : {shape}", inputs=inputs, results=shape), SumAddPattern, times=1
    )
    assert op_names(done) == ["Add"]


def test_the_result_may_be_an_output_and_read_again():
    text = graph("%y = Sum %x %x", "%n = Neg %y", returns="%y %n", results=f"{T}, {T}")
    assert op_names(check_pattern(text, SumAddPattern)) == ["Add", "Neg"]


@pytest.mark.parametrize(
    ("operands", "reason"), [("%x", "has 1 operands; expected 2"), ("%x %x %x", "an operand more")]
)
def test_other_numbers_of_operands(operands: str, reason: str):
    assert reason in decline_reason(graph(f"%y = Sum {operands}"), SumAddPattern)
