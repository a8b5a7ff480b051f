"""The function that a session runs."""

from __future__ import annotations

import pytest
from xdsl.dialects.builtin import ModuleOp, SymbolRefAttr
from xdsl.dialects.func import FuncOp

from onnxloom.conversion.onnx_export import export_model
from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.entry_function import entry_function
from onnxloom.dialects.onnx.text import parse_module
from onnxloom.errors import PassError
from onnxloom.testing import evaluate


def module_of(*names: str, entry: str = "", declared: str = "") -> ModuleOp:
    """Functions of these names; an entry point, and a function without a body, where they are named."""
    module = parse_module(
        "\n".join(
            f"""
func.func @{name}(%x: tensor<f32>) -> tensor<f32> {{
  onnx.Return %x : tensor<f32>
}}"""
            for name in names
        )
    )
    if declared:
        module.body.block.add_op(FuncOp.external(declared, [], []))
    if entry:
        module.body.block.add_op(onnx.EntryPointOp.create(properties={"func": SymbolRefAttr(entry)}))
    return module


@pytest.mark.parametrize(
    ("module", "name"),
    [
        (module_of("f"), "f"),
        (module_of("f", declared="g"), "f"),
        (module_of("f", "g", entry="g"), "g"),
        (module_of("f", "g", entry="f"), "f"),
    ],
)
def test_the_entry_points_function_or_the_only_one(module: ModuleOp, name: str):
    assert entry_function(module).sym_name.data == name


@pytest.mark.parametrize(
    ("module", "message"),
    [
        (module_of("f", entry="g"), "the entry point names no function of the module: 'g'"),
        (module_of("f", entry="g", declared="g"), "the entry point names no function of the module: 'g'"),
        (module_of("f", "g"), "the module has 2 functions and no entry point; expected one function"),
        (ModuleOp([]), "the module has 0 functions and no entry point; expected one function"),
    ],
)
def test_export_and_evaluation_agree_that_there_is_none(module: ModuleOp, message: str):
    with pytest.raises(PassError, match=f"^{message}$"):
        entry_function(module)
    with pytest.raises(PassError, match=message):
        export_model(module)
    with pytest.raises(PassError, match=message):
        evaluate(module, {})
