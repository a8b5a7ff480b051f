"""Which ops are to be left alone?"""

from __future__ import annotations

import pytest

from onnxloom.dialects.onnx.annotations import is_kept
from onnxloom.dialects.onnx.text import parse_module

TEXT = """
func.func @f(%x: tensor<f32>, %c: tensor<i1>) -> tensor<f32> {
  %y = "onnx.If"(%c) ({
    %z = "onnx.If"(%c) ({
      %a = "onnx.Neg"(%x) ATTRIBUTES : (tensor<f32>) -> tensor<f32>
      onnx.Yield %a : tensor<f32>
    }, {
      onnx.Yield %x : tensor<f32>
    }) : (tensor<i1>) -> tensor<f32>
    onnx.Yield %z : tensor<f32>
  }, {
    %b = "onnx.Abs"(%x) : (tensor<f32>) -> tensor<f32>
    onnx.Yield %b : tensor<f32>
  }) : (tensor<i1>) -> tensor<f32>
  onnx.Return %y : tensor<f32>
}"""


@pytest.mark.parametrize(
    ("attributes", "kept"),
    [
        ("{onnxloom.keep}", {"onnx.Neg", "onnx.If"}),
        ('{onnx_node_name = "_DONOTREMOVE_1"}', {"onnx.Neg", "onnx.If"}),
        ('{onnx_node_name = "no_DONOTREMOVE_"}', set[str]()),
        ("{onnxloom.do_not_fold}", set[str]()),
        ("", set[str]()),
    ],
)
def test_kept_ops_and_what_they_stand_in(attributes: str, kept: set[str]):
    module = parse_module(TEXT.replace("ATTRIBUTES", attributes))
    ops = [op for op in module.walk() if op.name.startswith("onnx.")]
    assert {op.name for op in ops if is_kept(op)} == kept
    assert sum(map(is_kept, ops)) == (3 if kept else 0)
