"""`onnxloom optimize`: what it writes, what it says, what it keeps, and what it refuses."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.parser
import onnx.reference
import pytest

from onnxloom.dialects.onnx.text import parse_module
from onnxloom.tools.cli import main
from onnxloom.tools.optimizing import Optimizing, op_counts, optimize_module, own_opset, split_globs

MODEL = """
<ir_version: 8, opset_import: ["" : 13]>
graph (float[2, 6] x) => (float[3, 4] y)
<int64[2] first = {4, 3}, int64[2] second = {3, 4}, float low = {-1.0}, float high = {1.0}>
{
    a = Identity(x)
    b = Reshape(a, first)
    c = Reshape(b, second)
    e = Exp(c)
    s = Sigmoid(e)
    m = Mul(e, s)
    y = Clip(m, low, high)
}
"""
"""Two Reshapes in a row, an Identity, and x * Sigmoid(x), which is one op from opset 24 on."""
X = np.linspace(-2, 2, 12, dtype=np.float32).reshape(2, 6)


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


def op_types(path: Path) -> list[str]:
    return [node.op_type for node in onnx.load(path).graph.node]


def opset_of(path: Path) -> int:
    (entry,) = onnx.load(path).opset_import
    return entry.version


def test_the_result_computes_the_same_at_the_models_own_opset(
    run: Callable[..., Any], model: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out.onnx"
    code, said, err = run("optimize", model, "-o", out, "--level", 1)
    assert (code, err) == (0, "")
    assert opset_of(out) == 13
    assert op_types(out) == ["Reshape", "Exp", "Sigmoid", "Mul", "Clip"]
    assert said.startswith("7 ops -> 5 ops (-2)\n")
    assert "  Reshape: 2 -> 1\n" in said and "  ReshapeReshape: 1\n" in said
    results = [
        onnx.reference.ReferenceEvaluator(onnx.load(path)).run(None, {"x": X}) for path in (model, out)
    ]
    np.testing.assert_array_equal(results[0], results[1])


def test_level_0_changes_no_op(run: Callable[..., Any], model: Path, tmp_path: Path) -> None:
    code, said, _ = run("optimize", model, "-o", tmp_path / "out.onnx", "--level", 0)
    assert (code, said) == (0, "7 ops -> 7 ops (+0)\n")
    assert op_types(tmp_path / "out.onnx") == op_types(model)


def test_another_opset_lets_its_ops_be_used(run: Callable[..., Any], model: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.onnx"
    run("optimize", model, "-o", out)
    assert "Swish" not in op_types(out) and opset_of(out) == 13
    code, _, _ = run("optimize", model, "-o", out, "--opset", 24)
    assert code == 0 and "Swish" in op_types(out) and opset_of(out) == 24


def test_patterns_are_chosen_by_glob(run: Callable[..., Any], model: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.onnx"
    run("optimize", model, "-o", out, "--level", 1, "--skip-patterns", "Reshape*,Swish")
    assert op_types(out).count("Reshape") == 2
    run("optimize", model, "-o", out, "--level", 1, "--patterns", "Reshape*")
    assert op_types(out).count("Reshape") == 1
    run("optimize", model, "-o", out, "--level", 1, "--skip-pass", "rewrite-patterns")
    assert op_types(out).count("Reshape") == 2


def test_passes_may_be_named(run: Callable[..., Any], model: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.onnx"
    code, _, _ = run("optimize", model, "-o", out, "--passes", "shape-inference")
    assert code == 0 and op_types(out) == op_types(model)
    passes = 'shape-inference,fixed-point{pipeline="rewrite-patterns{numerics=tolerance}"}'
    code, _, _ = run("optimize", model, "-o", out, "--passes", passes)
    assert code == 0 and "Swish" not in op_types(out), "a named pass keeps to the opset too"
    code, _, _ = run(
        "optimize", model, "-o", out, "--passes", passes.replace("tolerance", "tolerance opset=24")
    )
    assert code == 0 and "Swish" in op_types(out)


def test_text_is_written_and_read(run: Callable[..., Any], model: Path, tmp_path: Path) -> None:
    first, second = tmp_path / "first.mlir", tmp_path / "second.mlir"
    run("optimize", model, "-o", first, "--level", 1)
    assert '"onnx.Reshape"' in first.read_text()
    code, said, _ = run("optimize", first, "-o", second, "--level", 1)
    assert code == 0 and said.startswith("5 ops -> 5 ops (+0)")
    assert op_counts(parse_module(second.read_text()))["onnx.Reshape"] == 1


def test_one_op_is_one_op(run: Callable[..., Any], tmp_path: Path) -> None:
    path = tmp_path / "one.mlir"
    path.write_text(
        "func.func @f(%x: tensor<2xf32>) -> tensor<2xf32> {\n"
        '  %y = "onnx.Exp"(%x) : (tensor<2xf32>) -> tensor<2xf32>\n  onnx.Return %y : tensor<2xf32>\n}\n'
    )
    code, said, _ = run("optimize", path, "-o", tmp_path / "out.mlir", "--level", 1)
    assert code == 0 and said.startswith("1 op -> 1 op (+0)\n")


def test_rewrites_are_saved_and_done_again(run: Callable[..., Any], model: Path, tmp_path: Path) -> None:
    first, second, rewrites = tmp_path / "1.onnx", tmp_path / "2.onnx", tmp_path / "rewrites.json"
    run("optimize", model, "-o", first, "--save-rewrites", rewrites)
    patterns = [record["pattern"] for record in json.loads(rewrites.read_text())["records"]]
    assert "ReshapeReshape" in patterns
    code, said, _ = run("optimize", model, "-o", second, "--replay", rewrites)
    assert code == 0 and "ops -> " in said
    assert first.read_bytes() == second.read_bytes()


def test_no_rewrites_are_saved_of_a_model_that_is_not(
    run: Callable[..., Any], model: Path, tmp_path: Path
) -> None:
    rewrites = tmp_path / "rewrites.json"
    code, _, _ = run("optimize", model, "-o", tmp_path / "no" / "o.onnx", "--save-rewrites", rewrites)
    assert code == 1 and not rewrites.exists()


def test_a_replay_on_another_model_is_refused(run: Callable[..., Any], model: Path, tmp_path: Path) -> None:
    rewrites, other = tmp_path / "rewrites.json", tmp_path / "other.onnx"
    run("optimize", model, "--save-rewrites", rewrites)
    onnx.save(onnx.parser.parse_model(MODEL.replace("low = {-1.0}", "low = {-2.0}")), other)
    code, _, err = run("optimize", other, "-o", tmp_path / "out.onnx", "--replay", rewrites)
    assert (code, err) == (
        1, "onnxloom: error: rewrites: recorded on another model (digest differs)\n",
    )  # fmt: skip
    assert not (tmp_path / "out.onnx").exists()


@pytest.mark.parametrize(
    "data, message",
    [(b"{}", "rewrites.json: rewrites: format is 'None'"), (b"\xff", "rewrites.json: is not UTF-8 text")],
)
def test_a_file_that_holds_no_rewrites_is_named(
    run: Callable[..., Any], model: Path, tmp_path: Path, data: bytes, message: str
) -> None:
    (tmp_path / "rewrites.json").write_bytes(data)
    code, _, err = run("optimize", model, "--replay", tmp_path / "rewrites.json")
    assert code == 1 and message in err and err.count("\n") == 1
    code, _, err = run("optimize", model, "--replay", tmp_path / "none.json")
    assert code == 1 and "none.json: error: No such file" in err


def test_the_report_may_be_data(run: Callable[..., Any], model: Path) -> None:
    code, said, _ = run("optimize", model, "--level", 1, "--report", "json")
    data = json.loads(said)
    assert code == 0 and (data["ops_before"], data["ops_after"]) == (7, 5)
    assert data["before"]["onnx.Reshape"] == 2 and data["after"]["onnx.Reshape"] == 1
    assert {"name": "ReshapeReshape", "applied": 1, "adds_ops": ""} in data["patterns"]
    assert "shape-inference" in {step["name"] for step in data["passes"]}
    assert data["rewriting"]["rewrites"] >= 1


@pytest.mark.parametrize(
    "options, message",
    [
        (["-o", "x.txt"], "expected a file that ends in .onnx or .mlir"),
        (["--patterns", "NoSuch"], "no rewrite pattern 'NoSuch'"),
        (["--skip-patterns", "NoSuch*"], "no rewrite pattern 'NoSuch*'"),
        (["--skip-pass", "no-such"], "no pass 'no-such' to skip"),
        (["--passes", "no-such"], "unknown pass 'no-such'"),
        (["--passes", "{"], "is no list of passes"),
        (["--passes", "rewrite-patterns{stage=late}"], "rewrite-patterns: stage is 'late'; expected one"),
        (["--passes", "rewrite-patterns{numerics=no}"], "rewrite-patterns: numerics is 'no'; expected one"),
        (["--passes", "rewrite-patterns{stop-after=-1}"], "rewrite-patterns: stop_after is -1; expected 0"),
        (["--passes", "fold-dimensions{size-limit=-1}"], "fold-dimensions: size-limit is -1; expected 0"),
        (["--opset", "0"], "--opset 0 is not known; expected 1 to "),
        (["--opset", "999"], "--opset 999 is not known; expected 1 to "),
        (["--passes", "cleanup", "--level", "1"], "--passes does not go with"),
        (["--passes", "cleanup", "--patterns", "Cast*"], "--passes does not go with"),
        (["--level", "4"], "invalid choice"),
        (["--replay", "r.json", "--level", "1"], "options that choose passes do not go with it"),
        (["--replay", "r.json", "--save-rewrites", "s.json"], "--replay does what its file says"),
        (["--replay", "r.json", "--skip-patterns", "A"], "--replay does what its file says"),
    ],
)
def test_what_does_not_fit_together_is_a_usage_error(
    run: Callable[..., Any], model: Path, options: list[str], message: str
) -> None:
    code, out, err = run("optimize", model, *options)
    assert code == 2 and out == "" and message in err and err.count("\n") == 1


def test_an_opset_that_lacks_an_op_is_an_error(run: Callable[..., Any], tmp_path: Path) -> None:
    model = tmp_path / "gelu.onnx"
    text = '<ir_version: 9, opset_import: ["" : 20]> graph (float[2] x) => (float[2] y) { y = Gelu(x) }'
    onnx.save(onnx.parser.parse_model(text), model)
    code, _, err = run("optimize", model, "-o", tmp_path / "out.onnx", "--opset", 13)
    assert code == 1 and "opset 13 cannot express" in err


def test_a_failing_pass_is_told_and_left_out(run: Callable[..., Any], model: Path, tmp_path: Path) -> None:
    plugin = tmp_path / "failing.py"
    plugin.write_text(
        "from dataclasses import dataclass\n"
        "from xdsl.passes import ModulePass\n"
        "@dataclass(frozen=True)\n"
        "class Failing(ModulePass):\n"
        "    name = 'failing'\n"
        "    def apply(self, ctx, op):\n"
        "        raise KeyError('nothing')\n"
    )
    options = ["--load-plugin", plugin, "--passes", "failing"]
    code, said, err = run("optimize", model, *options)
    assert code == 0 and "pass failing failed and was left out: plug-in" in said and "warning" in err
    assert "failing.py: Failing: KeyError: 'nothing' (line 7)" in said
    code, _, err = run("optimize", model, *options, "--strict")
    assert code != 0 and "KeyError" in err


def test_the_opset_of_a_module_is_that_of_its_model() -> None:
    assert own_opset(parse_module("func.func @f() { onnx.Return }")) == 17
    module = parse_module(
        'module attributes {onnx.opset_imports = [":9"]} { func.func @f() { onnx.Return } }'
    )
    assert own_opset(module) == 9


def test_a_module_is_optimized_in_place() -> None:
    module = parse_module(
        "func.func @f(%x: tensor<2xf32>) -> tensor<2xf32> {\n"
        '  %0 = "onnx.Identity"(%x) : (tensor<2xf32>) -> tensor<2xf32>\n'
        '  %1 = "onnx.Relu"(%0) : (tensor<2xf32>) -> tensor<2xf32>\n'
        "  onnx.Return %1 : tensor<2xf32>\n}"
    )
    done = optimize_module(module, Optimizing(level=1))
    assert done.before == {"onnx.Identity": 1, "onnx.Relu": 1}
    assert done.after == op_counts(module) == {"onnx.Relu": 1}


def test_globs_are_listed_with_commas_blanks_or_options() -> None:
    assert split_globs(["A*,B", " C  D,", ""]) == ("A*", "B", "C", "D")
