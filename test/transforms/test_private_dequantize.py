"""Pass `private-dequantize`: values, what is kept, and the budget."""

from __future__ import annotations

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.text import parse_module
from onnxloom.testing import assert_preserves_numerics
from onnxloom.transforms.private_dequantize import PrivateDequantizePass
from onnxloom.transforms.rewriting.budget import limit_rewrites

T, U = "tensor<4xf32>", "tensor<4xui8>"


def text(attributes: str = "") -> str:
    return f"""
    func.func @f(%x: {U}) -> ({T}, {T}) {{
      %none = "onnx.NoValue"() {{value}} : () -> none
      %s = onnx.Constant dense<0.5> : tensor<f32>
      %0 = "onnx.DequantizeLinear"(%x, %s, %none) {attributes} : ({U}, tensor<f32>, none) -> {T}
      %1 = "onnx.Relu"(%0) : ({T}) -> {T}
      %2 = "onnx.Neg"(%0) : ({T}) -> {T}
      onnx.Return %1, %2 : {T}, {T}
    }}"""


def count(source: str) -> tuple[int, PrivateDequantizePass]:
    module = parse_module(source)
    step = PrivateDequantizePass()
    step.apply(Context(), module)
    return sum(isinstance(op, onnx.DequantizeLinearOp) for op in module.walk()), step


def test_values_are_the_same() -> None:
    def transform(module: ModuleOp) -> None:
        PrivateDequantizePass().apply(Context(), module)

    assert_preserves_numerics(text(), {"x": np.array([0, 3, 7, 255], np.uint8)}, transform)


def test_the_report_says_what_was_copied() -> None:
    copies, step = count(text())
    assert copies == 2 and "2 readers have one each" in str(step.report)


def test_what_is_kept_stays() -> None:
    copies, step = count(text('{"onnxloom.keep"}'))
    assert copies == 1 and "it is marked to be kept" in str(step.report)


def test_it_can_be_stopped() -> None:
    with limit_rewrites(0):
        assert count(text())[0] == 1
