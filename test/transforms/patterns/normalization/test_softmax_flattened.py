"""SoftmaxFlattened: values, and why it declines."""

from __future__ import annotations

import pytest

from onnxloom.dialects import onnx
from onnxloom.testing.patterns import check_pattern, decline_reason
from onnxloom.transforms.patterns.normalization.softmax_flattened import SoftmaxFlattenedPattern


def flattened(
    op: str = "Softmax",
    *,
    x: str = "2x3x4",
    axis: int = 2,
    over: int = -1,
    shape: str = '"onnx.Shape"(%x) : (X) -> tensor<*xi64>',
    returned: str = "%y",
    source: str = "%0",
    allow_zero: int = 1,
) -> str:
    out = ", ".join(["tensor<*xf32>"] * len(returned.split(",")))
    given = "tensor<*xf32>" if source == "%0" else f"tensor<{x}xf32>"
    return f"""
    func.func @f(%x: X) -> ({out}) {{
      %0 = "onnx.Flatten"(%x) <{{axis = {axis} : si64}}> : (X) -> tensor<*xf32>
      %1 = "onnx.{op}"({source}) <{{axis = {over} : si64}}> : ({given}) -> tensor<*xf32>
      %s = {shape}
      %y = "onnx.Reshape"(%1, %s) <{{allowzero = {allow_zero} : si64}}> : (Y, tensor<*xi64>) -> Y
      onnx.Return {returned} : {out}
    }}""".replace("X", f"tensor<{x}xf32>").replace("Y", "tensor<*xf32>")


@pytest.mark.parametrize("op", ["Softmax", "LogSoftmax", "Hardmax"])
@pytest.mark.parametrize(
    ("x", "axis", "over"),
    [("2x3x4", 2, -1), ("2x3x4", -1, 1), ("?x?x4", 2, -1), ("5", 0, -1), ("0x3", 1, -1)],
)
def test_rows_as_they_are(op: str, x: str, axis: int, over: int):
    module = check_pattern(flattened(op, x=x, axis=axis, over=over), SoftmaxFlattenedPattern)
    if "?" not in x:
        check_pattern(flattened(op, x=x, axis=axis, over=over, allow_zero=0), SoftmaxFlattenedPattern)
    assert not any(isinstance(op, onnx.FlattenOp | onnx.ReshapeOp) for op in module.walk())


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"over": 0}, "not the last one"),
        ({"source": "%x", "x": "2x4", "axis": 1}, "not flattened"),
        ({"axis": 1}, "more than the last axis"),
        ({"x": "4", "axis": 1}, "more than the last axis"),
        ({"returned": "%y, %1"}, "not reshaped alone"),
        ({"x": "?x?x4", "allow_zero": 0}, "of an empty input"),
        ({"shape": "onnx.Constant dense<[3, 2, 4]> : tensor<3xi64>"}, "another shape"),
    ],
)
def test_declines(changes: dict[str, str], reason: str):
    text = flattened(**changes)  # pyright: ignore
    if "dense" in changes.get("shape", ""):
        text = text.replace("tensor<*xi64>) -> tensor<*xf32>", "tensor<3xi64>) -> tensor<*xf32>")
    assert reason in decline_reason(text, SoftmaxFlattenedPattern)
