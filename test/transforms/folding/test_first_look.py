"""A pass with nothing to do finds out without an analysis, and none misses what it has to do."""

from __future__ import annotations

from typing import Any

import pytest

from onnxloom.dialects.onnx.text import make_context
from onnxloom.testing import as_module
from onnxloom.transforms.dim_analysis import DimAnalysis
from onnxloom.transforms.folding.adjust_dimensions import AdjustDimensionsPass
from onnxloom.transforms.folding.fold_dimensions import FoldDimensionsPass
from onnxloom.transforms.folding.folding_pass import FoldingPass


@pytest.fixture
def analyses(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Grows by one with each analysis."""
    made: list[Any] = []
    analyze = DimAnalysis.of

    def counted(op: Any) -> DimAnalysis:
        made.append(op)
        return analyze(op)

    monkeypatch.setattr(DimAnalysis, "of", counted)
    return made


def look(step: FoldingPass, arguments: str, body: str, result: str) -> int:
    module = as_module(
        f"func.func @f({arguments}) -> {result} {{\n{body}\n  onnx.Return %0 : {result}\n}}",
    )
    step.apply(make_context(), module)
    return step.report.folded


SQUEEZE = """
  %none = "onnx.NoValue"() {value} : () -> none
  %0 = "onnx.Squeeze"(%x, %none) : (tensor<3x1xf32>, none) -> tensor<3xf32>"""
COMPUTED = '%0 = "onnx.Unsqueeze"(%x, %a) : (tensor<3xf32>, tensor<1xi64>) -> tensor<3x1xf32>'
UNRANKED = '%0 = "onnx.Flatten"(%x) {axis = 1 : si64} : (tensor<3x4xf32>) -> tensor<*xf32>'
UNINFERRED = """
  %a = "onnx.Relu"(%x) : (tensor<3x4xf32>) -> tensor<*xf32>
  %0 = "onnx.Flatten"(%a) {axis = 1 : si64} : (tensor<*xf32>) -> tensor<3x4xf32>"""
SAME = '%0 = "onnx.Flatten"(%x) {axis = 1 : si64} : (tensor<3x4xf32>) -> tensor<3x4xf32>'
OPEN = '%0 = "onnx.Flatten"(%x) {axis = 1 : si64} : (tensor<3x4xf32>) -> tensor<?x?xf32>'
ONES = """
  %t = onnx.Constant dense<[1, 3]> : tensor<2xi64>
  %0 = "onnx.Expand"(%x, %t) : (tensor<3xf32>, tensor<2xi64>) -> tensor<1x3xf32>"""


@pytest.mark.parametrize(
    ("arguments", "body", "result"),
    [
        ("%x: tensor<3x1xf32>", SQUEEZE, "tensor<3xf32>"),
        ("%x: tensor<3xf32>, %a: tensor<1xi64>", COMPUTED, "tensor<3x1xf32>"),
        ("%x: tensor<3x4xf32>", UNRANKED, "tensor<*xf32>"),
        ("%x: tensor<3x4xf32>", UNINFERRED, "tensor<3x4xf32>"),
        ("%x: tensor<3x4xf32>", SAME, "tensor<3x4xf32>"),
        ("%x: tensor<3x4xf32>", OPEN, "tensor<?x?xf32>"),
        ("%x: tensor<3xf32>", ONES, "tensor<1x3xf32>"),
    ],
)
def test_what_may_be_adjusted_is_looked_at(analyses: list[Any], arguments: str, body: str, result: str):
    assert look(AdjustDimensionsPass(), arguments, body, result) == 1
    assert len(analyses) == 1


FLATTEN = '%0 = "onnx.Flatten"(%x) {axis = 1 : si64} : (tensor<3x4x5xf32>) -> tensor<3x20xf32>'
RESHAPE = """
  %t = onnx.Constant dense<[4, 3]> : tensor<2xi64>
  %0 = "onnx.Reshape"(%x, %t) : (tensor<3x4xf32>, tensor<2xi64>) -> tensor<4x3xf32>"""
AXES = """
  %t = onnx.Constant dense<1> : tensor<1xi64>
  %0 = "onnx.Squeeze"(%x, %t) : (tensor<3x1x4xf32>, tensor<1xi64>) -> tensor<3x4xf32>"""
RELU = '%0 = "onnx.Relu"(%x) : (tensor<3xf32>) -> tensor<3xf32>'


@pytest.mark.parametrize(
    ("arguments", "body", "result"),
    [
        ("%x: tensor<3x4x5xf32>", FLATTEN, "tensor<3x20xf32>"),
        ("%x: tensor<3x4xf32>", RESHAPE, "tensor<4x3xf32>"),
        ("%x: tensor<3x1x4xf32>", AXES, "tensor<3x4xf32>"),
        ("%x: tensor<3xf32>", RELU, "tensor<3xf32>"),
    ],
)
def test_what_types_settle_is_not_analyzed(analyses: list[Any], arguments: str, body: str, result: str):
    for step in (AdjustDimensionsPass(), FoldDimensionsPass()):
        assert look(step, arguments, body, result) == 0
    assert analyses == []


LOOP = """
  %none = "onnx.NoValue"() {value} : () -> none
  %go = onnx.Constant dense<true> : tensor<i1>
  %n = onnx.Constant dense<4> : tensor<i64>
  %c = onnx.Constant dense<5> : tensor<i64>
  %0 = "onnx.Loop"(%n, %none, %c) ({
  ^body(%i: tensor<i64>, %g: tensor<i1>, %v: tensor<i64>):
    %k = onnx.Constant dense<5> : tensor<i64>
    onnx.Yield %go, %k : tensor<i1>, tensor<i64>
  }) : (tensor<i64>, none, tensor<i64>) -> tensor<i64>"""
BRANCH = """
  %0 = "onnx.If"(%x) ({
    %k = onnx.Constant dense<5> : tensor<i64>
    onnx.Yield %k : tensor<i64>
  }, {
    %k = onnx.Constant dense<5> : tensor<i64>
    onnx.Yield %k : tensor<i64>
  }) : (tensor<i1>) -> tensor<i64>"""
DIM = '%0 = "onnx.Dim"(%x) {axis = 0 : si64} : (tensor<3xf32>) -> tensor<1xi64>'
SIZE = '%0 = "onnx.Size"(%x) : (tensor<3xf32>) -> tensor<i64>'
SHAPE = '%0 = "onnx.Shape"(%x) : (tensor<3xf32>) -> tensor<1xi64>'


@pytest.mark.parametrize(
    ("arguments", "body", "result"),
    [
        ("%x: tensor<i1>", LOOP, "tensor<i64>"),
        ("%x: tensor<i1>", BRANCH, "tensor<i64>"),
        ("%x: tensor<3xf32>", DIM, "tensor<1xi64>"),
        ("%x: tensor<3xf32>", SIZE, "tensor<i64>"),
        ("%x: tensor<3xf32>", SHAPE, "tensor<1xi64>"),
    ],
)
def test_every_source_of_known_elements_is_one(analyses: list[Any], arguments: str, body: str, result: str):
    assert look(FoldDimensionsPass(), arguments, body, result) == 1
    assert len(analyses) == 1


def test_a_target_that_is_constant_stays():
    body = """
      %t = onnx.Constant dense<[12, -1]> : tensor<2xi64>
      %0 = "onnx.Reshape"(%x, %t) : (tensor<?x12xf32>, tensor<2xi64>) -> tensor<12x?xf32>"""
    assert look(AdjustDimensionsPass(), "%x: tensor<?x12xf32>", body, "tensor<12x?xf32>") == 0
