"""Is a launch that does not fit its kernel refused before anything runs, wherever the text comes from?"""

from __future__ import annotations

from pathlib import Path

import pytest
from xdsl.dialects.builtin import SymbolRefAttr

import onnxloom
from onnxloom.dialects import loom
from onnxloom.dialects.onnx.text import parse_module
from onnxloom.errors import ModelError
from onnxloom.lowering.compile import CompileOptions, compile_module

TEXT = """
"loom.kernel"() <{sym_name = "k", access = ["read", "write"]}> ({
^bb0(%in: memref<?xf32>, %out: memref<?xf32>, %n: index):
  %0 = arith.constant 0 : index
  %v = memref.load %in[%0] : memref<?xf32>
  memref.store %v, %out[%0] : memref<?xf32>
  "loom.end"() : () -> ()
}) : () -> ()
"loom.program"() <{sym_name = "main_graph", arg_names = ["x"], result_names = ["y"]}> ({
^bb0(%x: tensor<1xf32>):
  %n = arith.constant 1 : index
  %e = tensor.empty() : tensor<1xf32>
  %y = "loom.launch"(%x, %e, %n) <{kernel = @k, operandSegmentSizes = array<i32: 1, 1, 1>}> : (tensor<1xf32>, tensor<1xf32>, index) -> tensor<1xf32>
  "loom.return"(%y) : (tensor<1xf32>) -> ()
}) : () -> ()
"""  # noqa: E501
MESSAGE = "kernel k takes 1 input and 1 size, got 1 and 0"


def test_text_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "wrong.mlir"
    wrong = TEXT.replace("(%x, %e, %n)", "(%x, %e)").replace("1, 1, 1>", "1, 1, 0>")
    path.write_text(wrong.replace("tensor<1xf32>, index) ->", "tensor<1xf32>) ->"))
    with pytest.raises(ModelError, match=MESSAGE):
        onnxloom.compile(path)


def test_a_module_that_nobody_verified() -> None:
    module = parse_module(TEXT)
    launch = next(op for op in module.walk() if isinstance(op, loom.LaunchOp))
    launch.properties["kernel"] = SymbolRefAttr("nowhere")
    with pytest.raises(ModelError, match="names kernel @nowhere, which the module lacks"):
        compile_module(module, CompileOptions(cache=False))
