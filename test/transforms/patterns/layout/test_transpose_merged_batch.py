"""TransposeMergedBatch: values, and why it declines."""

from __future__ import annotations

import pytest
from xdsl.dialects.builtin import ModuleOp

from onnxloom.dialects import onnx
from onnxloom.testing.patterns import check_pattern, decline_reason
from onnxloom.transforms.patterns.layout.transpose_merged_batch import TransposeMergedBatchPattern


def transposed(
    *,
    x: str = "2x3x4x5",
    merged: str = "-1, 4, 5",
    perm: str = "0, 2, 1",
    split: str = "2, 3, 5, 4",
    returned: str = "%y",
    source: str = "%0",
) -> str:
    count = len(split.split(","))
    inner = len(merged.split(","))
    out = ", ".join(["tensor<*xf32>"] * len(returned.split(",")))
    given = "tensor<*xf32>" if source == "%0" else f"tensor<{x}xf32>"
    return f"""
    func.func @f(%x: tensor<{x}xf32>) -> ({out}) {{
      %a = onnx.Constant dense<[{merged}]> : tensor<{inner}xi64>
      %b = onnx.Constant dense<[{split}]> : tensor<{count}xi64>
      %0 = "onnx.Reshape"(%x, %a) : (tensor<{x}xf32>, tensor<{inner}xi64>) -> tensor<*xf32>
      %1 = "onnx.Transpose"({source}) <{{perm = [{perm}]}}> : ({given}) -> tensor<*xf32>
      %y = "onnx.Reshape"(%1, %b) : (tensor<*xf32>, tensor<{count}xi64>) -> tensor<*xf32>
      onnx.Return {returned} : {out}
    }}"""


def reshapes(module: ModuleOp) -> int:
    return sum(isinstance(op, onnx.ReshapeOp) for op in module.walk())


@pytest.mark.parametrize(
    ("changes", "left"),
    [
        ({}, 0),
        ({"x": "2x1x3x4x5", "split": "2, 1, 3, 5, 4"}, 0),
        ({"x": "0x3x4x5", "merged": "0, 4, 5", "split": "0, 3, 5, 4"}, None),
        ({"x": "?x3x4x5", "split": "-1, 3, 5, 4"}, 0),
        ({"x": "4x5", "split": "5, 4"}, 0),
        ({"returned": "%y, %0"}, 1),
    ],
)
def test_matrices_of_a_merged_batch(changes: dict[str, str], left: int | None):
    if left is None:
        changes = {**changes, "merged": "-1, 4, 5", "split": "-1, 3, 5, 4"}
        left = 0
    module = check_pattern(transposed(**changes), TransposeMergedBatchPattern)
    assert reshapes(module) == left
    assert sum(isinstance(op, onnx.TransposeOp) for op in module.walk()) == 1


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"perm": "1, 0, 2", "split": "4, 2, 3, 5"}, "not the last two of three"),
        ({"perm": "2, 1, 0", "split": "5, 4, 2, 3"}, "not the last two of three"),
        ({"source": "%x", "x": "2x3x4", "merged": "2, 3, 4", "split": "2, 4, 3"}, "input is not reshaped"),
        ({"returned": "%y, %1"}, "not reshaped alone"),
        ({"merged": "-1, 3, 20", "split": "2, 20, 3"}, "more than the leading axes"),
        ({"merged": "-1, 5, 4", "split": "2, 3, 4, 5"}, "more than the leading axes"),
        ({"split": "3, 2, 5, 4"}, "not split as they were"),
        ({"split": "6, 5, 4"}, "not split as they were"),
        ({"split": "2, 3, 4, 5"}, "not split as they were"),
        ({"x": "20", "split": "4, 5"}, "a rank is not known"),
    ],
)
def test_declines(changes: dict[str, str], reason: str):
    assert reason in decline_reason(transposed(**changes), TransposeMergedBatchPattern)


def test_a_result_that_is_the_shape_of_a_reshape():
    text = """
    func.func @f(%x: tensor<1x1x2xi64>, %d: tensor<4xf32>) -> tensor<*xf32> {
      %a = onnx.Constant dense<[1, 1, 2]> : tensor<3xi64>
      %0 = "onnx.Reshape"(%x, %a) : (tensor<1x1x2xi64>, tensor<3xi64>) -> tensor<1x1x2xi64>
      %1 = "onnx.Transpose"(%0) <{perm = [0, 2, 1]}> : (tensor<1x1x2xi64>) -> tensor<1x2x1xi64>
      %y = "onnx.Reshape"(%d, %1) : (tensor<4xf32>, tensor<1x2x1xi64>) -> tensor<*xf32>
      onnx.Return %y : tensor<*xf32>
    }"""
    assert "not reshaped alone" in decline_reason(text, TransposeMergedBatchPattern)
