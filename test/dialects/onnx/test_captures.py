"""What bodies read from outside."""

from __future__ import annotations

from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.captures import captured_values, captures
from onnxloom.dialects.onnx.text import parse_module

TEXT = """
func.func @f(%x: tensor<f32>, %n: tensor<i64>, %c: tensor<i1>) -> tensor<f32> {
  %none = "onnx.NoValue"() {value} : () -> none
  %k = "onnx.Neg"(%x) : (tensor<f32>) -> tensor<f32>
  %y = "onnx.Loop"(%n, %none, %x) ({
  ^bb0(%i: tensor<i64>, %go: tensor<i1>, %v: tensor<f32>):
    %a = "onnx.Add"(%v, %k) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %b = "onnx.If"(%c) ({
      %d = "onnx.Mul"(%a, %k) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      onnx.Yield %d : tensor<f32>
    }, {
      onnx.Yield %v : tensor<f32>
    }) : (tensor<i1>) -> tensor<f32>
    onnx.Yield %go, %b : tensor<i1>, tensor<f32>
  }) : (tensor<i64>, none, tensor<f32>) -> tensor<f32>
  onnx.Return %y : tensor<f32>
}"""


def test_values_that_bodies_read_from_outside_at_any_depth():
    module = parse_module(TEXT)
    loop, branching, neg = (
        next(op for op in module.walk() if isinstance(op, kind))
        for kind in (onnx.LoopOp, onnx.IfOp, onnx.NegOp)
    )
    assert [value.name_hint for value in captured_values(loop)] == ["k", "c"]
    assert [value.name_hint for value in captures(loop)] == ["k", "c", "k"]
    assert [value.name_hint for value in captured_values(branching)] == ["a", "k", "v"]
    assert captured_values(neg) == ()


def test_what_an_op_gives_is_made_outside_of_its_body():
    module = parse_module(TEXT)
    loop = next(op for op in module.walk() if isinstance(op, onnx.LoopOp))
    add = next(op for op in module.walk() if isinstance(op, onnx.AddOp))
    add.operands[1] = loop.results[0]
    assert loop.results[0] in captured_values(loop)
