"""IR from a file is checked before anything works on it."""

from __future__ import annotations

from pathlib import Path

import pytest
from calls import count_calls

import onnxloom
from onnxloom.conversion.onnx_export import export_model
from onnxloom.dialects.onnx.text import load_module, parse_module
from onnxloom.dialects.verify_module import verify_module
from onnxloom.errors import ModelError
from onnxloom.lowering.compile import compile_module
from onnxloom.tools import cli, onnxloom_opt

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


def test_an_empty_file_is_named(tmp_path: Path) -> None:
    path = tmp_path / "m.mlir"
    path.write_text("\n")
    with pytest.raises(ModelError, match=r"m\.mlir: is empty; expected IR"):
        load_module(path)


def test_bytes_that_are_no_text_are_named(tmp_path: Path) -> None:
    path = tmp_path / "m.mlir"
    path.write_bytes(b"// a\n// b\n\xff\xfe")
    with pytest.raises(ModelError, match=r"m\.mlir:3: is not UTF-8 text"):
        load_module(path)


FUSED = """
func.func @main_graph(%0: tensor<?x4xf32> {onnx.name = "x"}) -> (tensor<?x4xf32> {onnx.name = "y"}) {
  %1 = "onnx.FusedOp"(%0) <{kind = "onnx.elementwise"}> ({
  ^bb0(%2: tensor<?x4xf32>):
    %6 = "onnx.Relu"(USED) {onnx_node_name = "relu 1"} : (tensor<?x4xf32>) -> tensor<?x4xf32>
    %7 = "onnx.Add"(%6, %2) : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
    "onnx.Yield"(%7) : (tensor<?x4xf32>) -> ()
  }) {op_count = 2 : si64} : (tensor<?x4xf32>) -> tensor<?x4xf32>
  onnx.Return %1 : tensor<?x4xf32>
}
"""


@pytest.mark.parametrize("text", [FUSED.replace("USED", "%7"), FUSED.replace("USED", "%6"), TEXT])
def test_no_cycle_gets_past_any_command(
    tmp_path: Path, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "m.mlir"
    path.write_text(text.replace("USED", "%b"))
    output = tmp_path / "out.onnx"
    for program, args in (
        (cli.main, ("run", path)),
        (cli.main, ("explain", path)),
        (cli.main, ("export", path, "-o", output)),
        (onnxloom_opt.main, (path,)),
        (onnxloom_opt.main, (path, "-t", "onnx", "-o", output)),
        (onnxloom_opt.main, (path, "-p", "fuse-ops")),
    ):
        assert program([str(arg) for arg in args]) == 1
        error = capsys.readouterr().err
        assert error.count("\n") == 1
        assert "onnx.Relu" in error
        assert ": operand 0 is" in error
        assert ('(node "relu 1")' in error) == (text != TEXT)
        assert not output.exists()


def test_modules_are_verified_by_every_entrance() -> None:
    module = parse_module(FUSED.replace("USED", "%7"))
    before = str(module)
    with pytest.raises(ModelError, match="onnx.Relu"):
        onnxloom.compile(module)
    with pytest.raises(ModelError, match="onnx.Relu"):
        compile_module(module)
    with pytest.raises(ModelError, match="onnx.Relu"):
        export_model(module)
    assert str(module) == before


def test_verifying_is_linear() -> None:
    """A chain of 4,000 ops takes little more per op than one of 500."""

    def calls(count: int) -> float:
        ops = "".join(
            f'  %v{i + 1} = "onnx.Add"(%v{i}, %v{i}) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>\n'
            for i in range(count)
        )
        module = parse_module(
            f"func.func @main_graph(%v0: tensor<2xf32>) -> tensor<2xf32> {{\n{ops}"
            f"  onnx.Return %v{count} : tensor<2xf32>\n}}"
        )
        return count_calls(lambda: verify_module(module)) / count

    calls(100)
    assert calls(4000) < 1.5 * calls(500)
