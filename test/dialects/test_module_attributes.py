"""What a text says about its model is checked once, in one line that names what says it."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import pytest
from xdsl.dialects.func import FuncOp

from onnxloom.conversion.onnx_export import export_model
from onnxloom.dialects.onnx.module_attributes import dim_names, metadata, opset_imports
from onnxloom.dialects.onnx.text import load_module, parse_module
from onnxloom.dialects.verify_module import verify_module
from onnxloom.errors import ModelError
from onnxloom.tools.testing.run_line import Command, run_command

TEXT = """builtin.module attributes {{{module}}} {{
  func.func @main_graph(%0: tensor<?x4xf32> {{onnx.name = "x"{arg}}}) -> (tensor<?x4xf32> {{{result}}}) {{
    %1 = "onnx.Relu"(%0) : (tensor<?x4xf32>) -> tensor<?x4xf32>
    onnx.Return %1 : tensor<?x4xf32>
  }}
}}
"""


def text(module: str = 'onnx.opset_imports = [":21"]', arg: str = "", result: str = 'onnx.name = "y"') -> str:
    return TEXT.format(module=module, arg=arg and f", {arg}", result=result)


WRONG = [
    (text('onnx.opset_imports = ["zzz"]'), 'onnx.opset_imports holds "zzz"; expected "domain:version"'),
    (text('onnx.opset_imports = [":"]'), 'holds ":"'),
    (text('onnx.opset_imports = [":-1"]'), 'holds ":-1"'),
    (text('onnx.opset_imports = [":²"]'), 'expected "domain:version"'),
    (text(f'onnx.opset_imports = [":{"9" * 5000}"]'), 'expected "domain:version"'),
    (text("onnx.opset_imports = [21]"), 'expected "domain:version"'),
    (text('onnx.opset_imports = ":21"'), "expected an array"),
    (text('onnx.opset_imports = [":9999"]'), "opset 9999 of ai.onnx is not known; expected 1 to"),
    (text('onnx.opset_imports = ["ai.onnx:0"]'), "opset 0 of ai.onnx is not known"),
    (text('onnx.opset_imports = [":20", "ai.onnx:21"]'), "imports ai.onnx at 20 and at 21"),
    (text('onnx.metadata = [["k"]]'), 'onnx.metadata holds \\["k"\\]; expected \\["key", "value"\\]'),
    (text("onnx.metadata = 5 : i8"), "onnx.metadata holds 5"),
    (text('onnx.ir_version = "x"'), 'onnx.ir_version is "x"; expected a 64-bit number'),
    (text("onnx.model_version = 99999999999999999999999 : i128"), "expected a 64-bit number"),
    (text("onnx.graph_name = 5 : i8"), "onnx.graph_name is 5 : i8; expected a string"),
    (text("onnx.producer_name = [1]"), "onnx.producer_name is .*; expected a string"),
    (
        text(arg='onnx.dim_params = "99999999999:n"'),
        "argument 0 of @main_graph: .* names axis 9",
    ),
    (text(result='onnx.dim_params = "400000000:n"'), "result 0 of @main_graph: onnx.dim_params names axis 4"),
    (text(result='onnx.dim_params = "2:n"'), "names axis 2 of 2 at most"),
    (text(result=f'onnx.dim_params = "0:a,{"1" * 5000}:n"'), "names axis 1{20} of"),
    (text(result='onnx.dim_params = "²:n"'), 'expected "axis:name,..."'),
    (text(arg='onnx.dim_params = "-1:n"'), 'expected "axis:name,..."'),
    (text(arg="onnx.dim_params = [1]"), "onnx.dim_params is .*; expected a string"),
    (text(result="onnx.name = 5 : i8"), "result 0 of @main_graph: onnx.name is 5 : i8; expected a string"),
    (text(result='onnx.declared_type = "t"'), "onnx.declared_type is .*; expected a type"),
]


@pytest.mark.parametrize(("wrong", "problem"), WRONG)
def test_nonsense_is_one_line_at_once(tmp_path: Path, wrong: str, problem: str) -> None:
    path = tmp_path / "m.mlir"
    path.write_text(wrong)
    parse_module(wrong)
    tracemalloc.start()
    with pytest.raises(ModelError, match=problem) as caught:
        load_module(path)
    assert tracemalloc.get_traced_memory()[1] < 10_000_000
    tracemalloc.stop()
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 500
    code, _, error = run_command(Command("onnxloom-opt", (str(path),)), b"")
    assert (code, error.count(b"\n")) == (1, 1)


def test_what_makes_sense_is_read() -> None:
    module = parse_module(
        text(
            'onnx.opset_imports = ["ai.onnx:21", "my.domain:0"], onnx.metadata = [["k", "v"]]',
            'onnx.dim_params = "0:batch"',
            'onnx.dim_params = "0:n, or m,1:"',
        )
    )
    verify_module(module)
    assert opset_imports(module) == {"": 21, "my.domain": 0}
    assert list(metadata(module)) == [("k", "v")]
    (function,) = module.ops
    assert isinstance(function, FuncOp)
    assert function.res_attrs is not None
    assert dim_names(function.res_attrs.data[0].data) == {0: "n, or m", 1: ""}
    assert export_model(module).graph.input[0].type.tensor_type.shape.dim[0].dim_param == "batch"
