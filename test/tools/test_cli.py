"""`onnxloom run`, `explain`, `import`, `export`: results, exit codes and error lines."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.parser
import pytest

from onnxloom.lowering.compile import compile_model
from onnxloom.tools.cli import commands, main

MODEL = """
<ir_version: 10, opset_import: ["" : 21]>
graph (float[batch, 3] x, float[3] b) => (float[batch, 3] y, int32[batch, 2] z)
{
    s = Add(x, b)
    y = Relu(s)
    z = Multinomial <sample_size = 2, seed = 1.0> (y)
}
"""
"""One chain to fuse, and one op without a kernel."""


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "model.onnx"
    onnx.save(onnx.parser.parse_model(MODEL), path)
    return path


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    def call(*args: object) -> tuple[int, str, str]:
        code = main([str(arg) for arg in args])
        out, err = capsys.readouterr()
        return code, out, err

    return call


def save(path: Path, **arrays: Any) -> Path:
    np.savez(path, **arrays)
    return path


X = np.array([[-1, 2, 3], [4, -5, 6]], np.float32)
B = np.array([10, 0, -4], np.float32)


def test_run_computes_saves_and_reports(run: Callable[..., Any], model: Path, tmp_path: Path) -> None:
    inputs = save(tmp_path / "in.npz", x=X, b=B)
    code, out, err = run("run", model, "--inputs", inputs, "--outputs", tmp_path / "out.npz", "--repeat", 3)
    assert (code, err) == (0, "")
    with np.load(tmp_path / "out.npz") as saved:
        np.testing.assert_array_equal(saved["y"], np.maximum(X + B, 0))
    assert "output y: float32 [2, 3]  9 2 0 14 0 2" in out
    assert "onnx.elementwise: Add Relu" in out
    assert "1 x Multinomial: there is no kernel for onnx.Multinomial" in out
    assert "median of 2 more" in out


@pytest.mark.parametrize("threads", ["0", "1", "3"])
def test_run_takes_a_number_of_threads(
    run: Callable[..., Any], model: Path, threads: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[int] = []
    known = compile_model

    def noted(source: Any, options: Any) -> Any:
        seen.append(options.threads)
        return known(source, options)

    monkeypatch.setattr("onnxloom.lowering.compile.compile_model", noted)
    assert run("run", model, "--threads", threads)[0] == 0
    assert seen == [int(threads)]


@pytest.mark.parametrize("threads", ["-1", "two", "1.5"])
def test_other_numbers_of_threads_are_usage_errors(
    run: Callable[..., Any], model: Path, threads: str
) -> None:
    code, _, err = run("run", model, "--threads", threads)
    assert code == 2 and "no number of at least 0" in err


def test_single_arrays_and_dims(run: Callable[..., Any], model: Path, tmp_path: Path) -> None:
    np.save(tmp_path / "b.npy", B)
    code, out, _ = run("run", model, "--input", f"b={tmp_path / 'b.npy'}", "--dim", "batch=5")
    assert code == 0
    assert "input x: float32 [5, 3]" in out
    assert "(random, seed 0)" in out


def test_made_up_inputs_depend_on_the_seed_alone(run: Callable[..., Any], model: Path) -> None:
    def values(*args: object) -> list[str]:
        out = run("run", model, *args)[1]
        return [line.partition("  (")[0] for line in out.splitlines() if line.startswith(("input", "output"))]

    assert values() == values("--seed", 0)
    assert values() != values("--seed", 1)


def test_sizes_are_learnt_from_given_arrays(run: Callable[..., Any], tmp_path: Path) -> None:
    path = tmp_path / "two.onnx"
    header = '<ir_version: 10, opset_import: ["" : 21]>'
    text = header + " g (float[n] x, float[n] b) => (float[n] y) { y = Add(x, b) }"
    onnx.save(onnx.parser.parse_model(text), path)
    np.save(tmp_path / "x.npy", np.ones(7, np.float32))
    code, out, _ = run("run", path, "--input", f"x={tmp_path / 'x.npy'}")
    assert code == 0
    assert "input b: float32 [7]" in out


@pytest.mark.parametrize(
    "switch", [["--disable-fused-op"], ["-O", "0"], ["--disable-kind", "onnx.elementwise"]]
)
def test_fusion_can_be_switched_off(run: Callable[..., Any], model: Path, switch: list[str]) -> None:
    code, out, _ = run("run", model, *switch)
    assert code == 0
    assert "fused: 0 chains" in out


MEAN_SQUARE = """
<ir_version: 10, opset_import: ["" : 21]> g (float[n, 4] x) => (float[n, 1] y) <int64[1] axes = {-1}>
{ s = Mul(x, x)  y = ReduceMean(s, axes) }
"""
PLUGIN = Path(__file__).parents[2] / "docs" / "examples" / "mean_square.py"


@pytest.mark.parametrize("command", ["run", "explain"])
def test_plug_ins_can_be_loaded(run: Callable[..., Any], tmp_path: Path, command: str) -> None:
    path = tmp_path / "mean_square.onnx"
    onnx.save(onnx.parser.parse_model(MEAN_SQUARE), path)
    assert "example.mean_square" not in run(command, path)[1]
    code, out, err = run(command, path, "--load-plugin", PLUGIN)
    assert (code, err) == (0, "")
    assert "example.mean_square" in out
    assert "example.mean_square" not in run(command, path)[1]


def test_explain_lists_chains_declines_and_host_steps(run: Callable[..., Any], model: Path) -> None:
    code, out, err = run("explain", model)
    assert (code, err) == (0, "")
    assert "model: 3 ops" in out
    assert "fused onnx.elementwise at onnx.Add" in out
    assert re.search(r"ends: .+ \(transforms/fusion/[\w/]+\.py:\d+\)", out)
    assert "in Python: 1 op\n  onnx.Multinomial" in out


def test_explain_tells_ops_that_cannot_run_from_those_in_python(
    run: Callable[..., Any], tmp_path: Path
) -> None:
    path = tmp_path / "foreign.onnx"
    header = '<ir_version: 10, opset_import: ["" : 21, "foreign" : 1]>'
    text = header + " g (float[3] x, float[1, 3] m) => (float[3] y, int32[1, 1] z)"
    text += " { y = foreign.Thing(x)  z = Multinomial(m) }"
    onnx.save(onnx.parser.parse_model(text), path)
    code, out, err = run("explain", path)
    assert (code, err) == (0, "")
    assert "in Python: 1 op\n  onnx.Multinomial" in out
    refused = out.partition("not supported, the model does not run: 1 op\n")[2]
    assert refused.endswith("there is no kernel for foreign::Thing\n")
    assert run("run", path)[0] == 1


def test_explain_lists_fused_ops_that_run_op_by_op(run: Callable[..., Any], tmp_path: Path) -> None:
    path = tmp_path / "foreign.mlir"
    path.write_text(
        "func.func @f(%x: tensor<8xf32>) -> tensor<8xf32> {\n"
        '  %0 = "onnx.FusedOp"(%x) <{kind = "other.thing"}> ({\n  ^bb0(%a: tensor<8xf32>):\n'
        '    %1 = "onnx.Neg"(%a) : (tensor<8xf32>) -> tensor<8xf32>\n'
        '    "onnx.Yield"(%1) : (tensor<8xf32>) -> ()\n  }) : (tensor<8xf32>) -> tensor<8xf32>\n'
        "  onnx.Return %0 : tensor<8xf32>\n}\n"
    )
    code, out, err = run("explain", path)
    assert (code, err) == (0, "")
    assert "not compiled as one kernel after all: 1 fused op\n  fused op of kind 'other.thing' runs op" in out


def test_explain_plan_shows_stretches(run: Callable[..., Any], model: Path) -> None:
    code, out, _ = run("explain", model, "--plan")
    assert code == 0
    assert "limits assumed, one core: " in out
    assert "stretch 1: 1 kernel call" in out
    row = next(line for line in out.splitlines() if "array0 array1" in line)
    assert row.split()[:2] == ["0", "100.0%"]
    assert "then in Python: Multinomial" in out
    assert "then return" in out


def test_profile_lists_kernels_and_steps_in_python(run: Callable[..., Any], model: Path) -> None:
    code, out, _ = run("run", model, "--profile", "--dim", "batch=4")
    assert code == 0
    table = out[out.index("limits measured, one core: ") :]
    assert "in 1 kernel call, at least " in table
    assert re.search(r"100\.0% .+ chain_\w+ +Add \+ Relu", table)
    assert "us Multinomial" in table


def test_a_compiled_file_has_no_kernels_to_look_at(
    run: Callable[..., Any], model: Path, tmp_path: Path
) -> None:
    file = tmp_path / "model.loom"
    assert run("compile", model, "-o", file)[0] == 0
    for command in (("run", file, "--profile"), ("bench", file)):
        code, _, err = run(*command)
        assert code == 1
        assert f"{file}: is a compiled model; expected the one it was compiled from" in err


def test_import_and_export_round_trip(run: Callable[..., Any], model: Path, tmp_path: Path) -> None:
    text, back = tmp_path / "model.mlir", tmp_path / "back.onnx"
    assert run("import", model, "-o", text) == (0, "", "")
    assert '"onnx.Relu"' in text.read_text()
    assert run("export", text, "-o", back) == (0, "", "")
    again = onnx.load(back)
    onnx.checker.check_model(again)
    assert [node.op_type for node in again.graph.node] == ["Add", "Relu", "Multinomial"]
    assert again.opset_import[0].version == 21


def test_imported_weights_file_makes_the_text_independent(run: Callable[..., Any], tmp_path: Path) -> None:
    weights = np.arange(1000, dtype=np.float32)
    graph = onnx.helper.make_graph(
        [onnx.helper.make_node("Add", ["x", "w"], ["y"])],
        "g",
        [onnx.helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [1000])],
        [onnx.helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, [1000])],
        [onnx.numpy_helper.from_array(weights, "w")],
    )
    path = tmp_path / "weighty.onnx"
    onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 21)]), path)
    text, data = tmp_path / "weighty.mlir", tmp_path / "weighty.weights"
    assert run("import", path, "-o", text, "--weights-out", data)[0] == 0
    path.unlink()
    assert run("export", text, "-o", tmp_path / "back.onnx") == (0, "", "")
    stored = onnx.load(tmp_path / "back.onnx").graph.initializer[0]
    np.testing.assert_array_equal(onnx.numpy_helper.to_array(stored), weights)


def assert_refused(result: tuple[int, str, str], code: int, *words: str) -> None:
    assert result[0] == code
    assert result[2].count("\n") == 1, result[2]
    assert result[2].startswith("onnxloom: error: ") or ": error: " in result[2]
    for word in words:
        assert word in result[2]


def test_wrong_inputs_name_the_culprit(run: Callable[..., Any], model: Path, tmp_path: Path) -> None:
    npz = tmp_path / "in.npz"
    assert_refused(run("run", model, "--inputs", save(npz, no=X)), 1, "no input 'no'")
    assert_refused(run("run", model, "--inputs", save(npz, x=X.astype(np.float64), b=B)), 1, "x", "float64")
    assert_refused(run("run", model, "--inputs", save(npz, x=X[:, :2], b=B)), 1, "x", "3")
    assert_refused(run("run", model, "--inputs", save(npz, x=X[0], b=B)), 1, "x")
    assert_refused(run("run", model, "--inputs", tmp_path / "absent.npz"), 1, "absent.npz: no such file")
    assert_refused(run("run", model, "--inputs", model), 1, "is not a numpy file")
    whole = save(npz, x=X, b=B).read_bytes()
    for damaged in (b"PK\x03\x04 no archive", whole[: len(whole) // 2], whole.replace(b"NUMPY", b"numpy")):
        npz.write_bytes(damaged)
        assert_refused(run("run", model, "--inputs", npz), 1, str(npz))
    assert_refused(run("run", model, "--input", "x"), 2, "expected NAME=FILE.npy")
    assert_refused(run("run", model, "--dim", "other=3"), 1, "no input has a dim 'other' (there are: batch)")
    assert_refused(run("run", model, "--dim", "batch=-3"), 2, "--dim batch=-3")
    assert_refused(run("run", model, "--dim", "batch=abc"), 2, "--dim batch=abc: expected NAME=SIZE")


@pytest.mark.parametrize("command", ["run", "explain", "import"])
def test_damaged_models_are_one_line(
    run: Callable[..., Any], model: Path, tmp_path: Path, command: str
) -> None:
    broken = tmp_path / "broken.onnx"
    assert_refused(run(command, broken), 1, str(broken), "No such file")
    broken.write_bytes(model.read_bytes()[:-20])
    assert_refused(run(command, broken), 1, str(broken))
    broken.write_bytes(np.random.default_rng(0).bytes(500))
    assert_refused(run(command, broken), 1, str(broken))
    broken.write_bytes(b"")
    assert_refused(run(command, broken), 1, str(broken), "empty")


def test_unknown_op_is_one_line(run: Callable[..., Any], tmp_path: Path) -> None:
    path = tmp_path / "unknown.onnx"
    graph = onnx.helper.make_graph(
        [onnx.helper.make_node("Frobnicate", ["x"], ["y"], name="middle", domain="com.example")],
        "g",
        [onnx.helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [2])],
        [onnx.helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, [2])],
    )
    opsets = [onnx.helper.make_opsetid("", 21), onnx.helper.make_opsetid("com.example", 1)]
    onnx.save(onnx.helper.make_model(graph, opset_imports=opsets), path)
    assert_refused(run("run", path), 1, "Frobnicate", "com.example", "middle")


def test_syntax_error_in_mlir_has_its_place(run: Callable[..., Any], tmp_path: Path) -> None:
    path = tmp_path / "wrong.mlir"
    path.write_text("func.func @f() {\n  nonsense\n}")
    assert_refused(run("run", path), 1, f"{path}:2:")
    assert_refused(run("export", path, "-o", tmp_path / "x.onnx"), 1, f"{path}:2:")


def test_wrong_command_line_is_exit_code_2(run: Callable[..., Any], model: Path) -> None:
    assert_refused(run(), 2, "which command?")
    assert_refused(run("frobnicate"), 2, "frobnicate")
    assert_refused(run("run"), 2, "model")
    assert_refused(run("run", model, "--nothing"), 2, "--nothing", "see onnxloom run --help")
    assert_refused(run("--nothing"), 2, "--nothing", "see onnxloom --help")
    assert_refused(run("run", model, "-O", "7"), 2, "7")
    assert_refused(run("run", model, "--repeat", "0"), 2, "--repeat")


def test_unknown_fusion_kind_is_refused(run: Callable[..., Any], model: Path) -> None:
    assert_refused(run("run", model, "--disable-kind", "onnx.nothing"), 1, "onnx.nothing", "onnx.elementwise")


def test_help_lists_the_commands_that_exist() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "onnxloom.tools.cli", "--help"], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0
    assert {"run", "explain", "import", "export"} <= set(commands())
    for name in commands():
        assert f"\n    {name} " in done.stdout
    for name in ("compile", "bench", "check", "bisect", "optimize", "view"):
        assert (f"\n    {name} " in done.stdout) == (name in commands())


@pytest.mark.parametrize(
    ("options", "expected_code", "message"),
    [
        (["--seed", "-1"], 2, "argument --seed: '-1' is no seed"),
        (["--seed", "x"], 2, "argument --seed: 'x' is no seed"),
        (["--dim", "batch=99999999999999"], 2, "--dim batch=99999999999999: expected a size of at most"),
        (["--dim", "batch=-1"], 2, "--dim batch=-1: expected NAME=SIZE"),
        (["--dim", "batch=\u0663"], 2, "--dim batch=\u0663: expected NAME=SIZE"),
    ],
)
def test_options_out_of_range_are_named(
    run: Callable[..., Any], model: Path, options: list[str], expected_code: int, message: str
) -> None:
    code, out, err = run("run", model, *options)
    assert (code, out, err.count("\n")) == (expected_code, "", 1)
    assert message in err


def test_an_input_too_large_for_memory_is_named(run: Callable[..., Any], tmp_path: Path) -> None:
    path = tmp_path / "large.onnx"
    graph = "agraph (float[n, m] x) => (float[n, m] y) { y = Relu(x) }"
    onnx.save(onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["" : 21]> {graph}'), path)
    code, _, err = run("run", path, "--dim", "n=2000000000", "--dim", "m=2000000000")
    assert (code, err.count("\n")) == (1, 1)
    assert "input 'x' of shape [2000000000, 2000000000] does not fit into memory" in err


def test_a_dim_without_a_name_is_given_by_input_and_axis(run: Callable[..., Any], tmp_path: Path) -> None:
    path = tmp_path / "open.mlir"
    path.write_text(
        'func.func @f(%x: tensor<?x3xf32> {onnx.name = "x"}) -> tensor<?x3xf32> {\n'
        '  %y = "onnx.Relu"(%x) : (tensor<?x3xf32>) -> tensor<?x3xf32>\n'
        "  onnx.Return %y : tensor<?x3xf32>\n}\n"
    )
    code, out, _ = run("run", path, "--dim", "x:0=4")
    assert code == 0
    assert "input x: float32 [4, 3]" in out
    assert_refused(run("run", path, "--dim", "x:1=4"), 1, "no input has a dim 'x:1' (there are: x:0)")


def odd_model(path: Path) -> Path:
    """Names that a terminal or a simple encoding does not take."""
    graph = onnx.helper.make_graph(
        [onnx.helper.make_node("Relu", ["\xfc"], ["y\x1b[31m\n"], name="\xe9")],
        "g",
        [onnx.helper.make_tensor_value_info("\xfc", 1, [1])],
        [onnx.helper.make_tensor_value_info("y\x1b[31m\n", 1, [1])],
    )
    onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 21)]), path)
    return path


def test_names_do_nothing_to_a_terminal(run: Callable[..., Any], tmp_path: Path) -> None:
    code, out, _ = run("run", odd_model(tmp_path / "odd.onnx"))
    assert code == 0
    assert r"output y\x1b[31m\n: float32 [1]" in out


@pytest.mark.parametrize("command", ["run", "explain", "import"])
def test_names_need_no_encoding(tmp_path: Path, command: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "onnxloom.tools.cli", command, odd_model(tmp_path / "odd.onnx")],
        capture_output=True, text=True, env={**os.environ, "PYTHONIOENCODING": "ascii"}, timeout=120,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.isascii()


def test_an_input_with_a_default_value_may_be_given(run: Callable[..., Any], tmp_path: Path) -> None:
    model = onnx.parser.parse_model(
        """<ir_version: 10, opset_import: ["" : 21]> g (float[2] x, float[2] b) => (float[2] y)
        <float[2] b = {1, 2}> { y = Sub(b, x) }"""
    )
    onnx.save(model, tmp_path / "m.onnx")
    inputs = save(tmp_path / "in.npz", x=np.ones(2, np.float32), b=np.full(2, 9, np.float32))
    assert "output y: float32 [2]  8 8" in run("run", tmp_path / "m.onnx", "--inputs", inputs)[1]
    inputs = save(tmp_path / "in.npz", x=np.ones(2, np.float32))
    assert "output y: float32 [2]  0 1" in run("run", tmp_path / "m.onnx", "--inputs", inputs)[1]


@pytest.mark.parametrize(
    "args", [("import", "-o", ""), ("export", "-o", ""), ("run", "--outputs", ""), ("run", "--inputs", "")]
)
def test_an_empty_file_name_is_an_error(run: Callable[..., Any], model: Path, args: tuple[str, ...]) -> None:
    code, out, err = run(args[0], model, *args[1:])
    assert (code, out, err.count("\n")) == (1, "", 1)
