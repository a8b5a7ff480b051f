"""Which kinds may `unfuse-ops` be told? Those that are known, and those the IR has."""

from __future__ import annotations

import pytest

from onnxloom.dialects.onnx.text import parse_module
from onnxloom.errors import PassError
from onnxloom.transforms.fusion.unfuse import unfuse_ops

IR = """
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = "onnx.FusedOp"(%x) <{kind = "acme.double"}> ({
  ^bb0(%a: tensor<4xf32>):
    %b = "onnx.Add"(%a, %a) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    onnx.Yield %b : tensor<4xf32>
  }) : (tensor<4xf32>) -> tensor<4xf32>
  onnx.Return %y : tensor<4xf32>
}
"""


def test_a_kind_that_no_one_knows() -> None:
    with pytest.raises(
        PassError, match=r"unfuse-ops: unknown fusion kind 'onnx.elementwize'; known: acme.double"
    ):
        unfuse_ops(parse_module(IR), {"onnx.elementwize"})


def test_a_kind_of_a_plugin_that_is_not_loaded() -> None:
    assert unfuse_ops(parse_module(IR), {"acme.double"}) == 1


def test_a_known_kind_that_the_ir_does_not_have() -> None:
    assert unfuse_ops(parse_module(IR), {"onnx.elementwise"}) == 0
