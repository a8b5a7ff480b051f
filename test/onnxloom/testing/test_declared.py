"""What a module declares of its values is compared with what they hold."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from onnxloom.dialects.onnx.text import parse_module
from onnxloom.testing import evaluate
from onnxloom.testing.declared import DeclaredTypes

TEXT = """
func.func @main_graph(%x: tensor<?x3xf32>, %s: tensor<1x!onnx.String>) -> TYPE {
  %y = "onnx.Neg"(%x) {onnx_node_name = "y"} : (tensor<?x3xf32>) -> TYPE
  %z = "onnx.Abs"(%y) {onnx_node_name = "z"} : (TYPE) -> TYPE
  %q = "onnx.SequenceConstruct"(%x) : (tensor<?x3xf32>) -> !onnx.Seq<tensor<?x3xf32>>
  onnx.Return %z : TYPE
}
"""


def wrong(declared: str, **feeds: Any) -> str:
    types = DeclaredTypes()
    given = {"x": np.ones((2, 3), np.float32), "s": np.array(["a"], object), **feeds}
    evaluate(parse_module(TEXT.replace("TYPE", declared)), given, seen=types.see)
    return types.wrong


@pytest.mark.parametrize("declared", ["tensor<2x3xf32>", "tensor<?x?xf32>", "tensor<*xf32>"])
def test_types_that_hold(declared: str) -> None:
    assert wrong(declared) == ""


@pytest.mark.parametrize(
    "declared", ["tensor<2x4xf32>", "tensor<2xf32>", "tensor<2x3x1xf32>", "tensor<2x3xf16>", "tensor<*xf16>"]
)
def test_the_first_type_that_does_not_hold_is_named(declared: str) -> None:
    assert wrong(declared) == f'onnx.Neg "y" is declared {declared}, but holds float32[2, 3]'


def test_an_argument_and_what_is_no_tensor() -> None:
    x = np.ones((2, 4), np.float32)
    assert wrong("tensor<2x4xf32>", x=x).startswith("a block argument is declared tensor<?x3xf32>, but")
    assert wrong("tensor<2x3xf32>", s=["a"]).endswith("but holds list")
