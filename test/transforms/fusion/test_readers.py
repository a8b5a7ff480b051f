"""Every reason why a reader of a chain does not compute element by element."""

from __future__ import annotations

import pytest
from fusion_reasons import first, function_of
from ir_graphs import graph

from onnxloom.transforms.fusion.readers import not_elementwise

FUSED = """
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = "onnx.FusedOp"(%x) <{kind = "test.kind"}> ({
  ^bb0(%a: tensor<4xf32>):
    %b = "onnx.Neg"(%a) : (tensor<4xf32>) -> tensor<4xf32>
    "onnx.Yield"(%b) : (tensor<4xf32>) -> ()
  }) : (tensor<4xf32>) -> tensor<4xf32>
  onnx.Return %y : tensor<4xf32>
}"""


@pytest.mark.parametrize(
    "text, name, reason",
    [
        (graph("%y = Neg %x"), "Return", "a value of the chain is a result of the graph"),
        (FUSED, "FusedOp", "its reader is fused already, as test.kind"),
        (
            graph(
                "%y = BatchNormalization %x %s %s %s %s {training_mode = 1 : si64}",
                inputs=("%x : tensor<2x4xf32>", "%s : tensor<4xf32>"),
            ),
            "BatchNormalization",
            "onnx.BatchNormalization with these types or attributes has no kernel",
        ),
        (graph("%y = Softmax %x"), "Softmax", "onnx.Softmax is not elementwise"),
    ],
    ids=["result", "fused", "no kernel", "not elementwise"],
)
def test_the_reason(text: str, name: str, reason: str) -> None:
    assert not_elementwise(first(function_of(text), name)).reason == reason
