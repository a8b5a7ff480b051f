"""IR from a file is checked before anything works on it."""

from __future__ import annotations

from pathlib import Path

import pytest

import onnxloom
from onnxloom.dialects.onnx.text import load_module, parse_module
from onnxloom.errors import ModelError

TEXT = """
func.func @main_graph(%x: tensor<2xf32> {onnx.name = "x"}) -> (tensor<2xf32> {onnx.name = "y"}) {
  %a = "onnx.Relu"(USED) : (tensor<2xf32>) -> tensor<2xf32>
  %b = "onnx.Neg"(%a) : (tensor<2xf32>) -> tensor<2xf32>
  onnx.Return %b : tensor<2xf32>
}
"onnx.EntryPoint"() {func = @main_graph} : () -> ()
"""


@pytest.mark.parametrize("used", ["%a", "%b"])
def test_a_value_used_before_it_is_defined_is_named(tmp_path: Path, used: str) -> None:
    path = tmp_path / "m.mlir"
    path.write_text(TEXT.replace("USED", used))
    with pytest.raises(ModelError, match=r"m\.mlir: onnx\.Relu: operand 0"):
        load_module(path)
    with pytest.raises(ModelError, match=r"onnx\.Relu: operand 0"):
        onnxloom.compile(parse_module(path))


def test_bytes_that_are_no_text_are_named(tmp_path: Path) -> None:
    path = tmp_path / "m.mlir"
    path.write_bytes(b"// a\n// b\n\xff\xfe")
    with pytest.raises(ModelError, match=r"m\.mlir:3: is not UTF-8 text"):
        load_module(path)
