"""`onnxloom check`: the table of errors, what it is compared with, and the exit code."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import onnx
import pytest
from text_models import model_of

from onnxloom.tools.cli import main
from onnxloom.tools.commands.run import save_arrays

WRONG_KERNEL = Path(__file__).parent / "Inputs" / "wrong_kernel.py"

MODEL = """agraph (float[N, 4] x, float[4] w) => (float[N, 4] y, float[N, 4] z) {
  ["first"] a = Sub(x, w)
  ["grow"] e = Exp(a)
  ["turn"] y = Neg(e)
  ["other"] z = Tanh(x)
}"""

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    def call(*args: object) -> tuple[int, str, str]:
        code = main([str(arg) for arg in args])
        out, err = capsys.readouterr()
        return code, out, err

    return call


def saved(path: Path, text: str) -> Path:
    onnx.save(model_of(text), path)
    return path


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return saved(tmp_path / "model.onnx", MODEL)


def rows(out: str) -> list[str]:
    """Titles of the table, in order."""
    lines = out.splitlines()
    end = next(i for i, line in enumerate(lines) if not line.startswith("  ") and i > 1)
    column = lines[1].index("value")
    return [line[column:] for line in lines[2:end]]


@pytest.mark.parametrize("against", ["reference", "onnxruntime", "O0"])
@pytest.mark.parametrize("scope", [[], ["--all-values"]])
def test_a_right_model_is_within_tolerance(run: Run, model: Path, against: str, scope: list[str]) -> None:
    if against == "onnxruntime":
        pytest.importorskip("onnxruntime")
    code, out, err = run("check", model, "--against", against, "--dim", "N=3", *scope)
    assert (code, err) == (0, "")
    assert out.startswith(f"-O3 against {against}, tolerance rel 0.001")
    assert "random inputs of seed 0: x, w" in out
    assert {"output y", "output z"} <= set(rows(out))
    assert out.endswith("values are within tolerance\n")


def test_inner_values_are_named_by_node_and_op(run: Run, model: Path) -> None:
    code, out, _ = run("check", model, "--all-values", "-O", 0)
    assert code == 0
    assert {'onnx.Sub "first"', 'onnx.Exp "grow"', 'onnx.Neg "turn"'} <= set(rows(out))


def test_a_fused_value_is_named_by_its_last_op(run: Run, tmp_path: Path) -> None:
    chain = 'agraph (float[8] x) => (float y) { a = Neg(x) b = Abs(a) ["last"] c = Exp(b) y = MatMul(c, c) }'
    for against in ("reference", "O0"):
        _, out, _ = run("check", saved(tmp_path / "m.onnx", chain), "--all-values", "--against", against)
        assert 'onnx.Exp "last", end of onnx.elementwise' in rows(out)


def test_a_wrong_kernel_is_out_of_tolerance_and_comes_first(run: Run, model: Path) -> None:
    plugin = ["--load-plugin", WRONG_KERNEL]
    code, out, _ = run("check", model, *plugin)
    assert code == 1
    assert rows(out) == ["output y", "output z"]
    assert "out of tolerance: output y: element [0, " in out
    assert "output z:" not in out
    code, out, _ = run("check", model, *plugin, "--all-values")
    assert code == 1
    assert 'out of tolerance: onnx.Neg "turn", end of planted.neg_exp: element' in out
    code, out, _ = run("check", model, *plugin, "-O", 0)
    assert code == 0


def test_the_tolerance_decides(run: Run, model: Path) -> None:
    assert run("check", model, "--tolerance", "abs:1e-3")[0] == 0
    code, out, _ = run("check", model, "--tolerance", "exact")
    assert code == 1
    assert "tolerance exact" in out
    code, _, err = run("check", model, "--tolerance", "about")
    assert code == 2
    assert (
        err == "onnxloom: error: --tolerance 'about' is no tolerance; expected exact, abs:X, rel:X or ulp:N\n"
    )


def test_given_inputs_are_used(run: Run, model: Path, tmp_path: Path) -> None:
    np.savez(tmp_path / "in.npz", x=np.full((2, 4), np.nan, np.float32), w=np.zeros(4, np.float32))
    code, out, _ = run("check", model, "--inputs", tmp_path / "in.npz")
    assert code == 0
    assert "random" not in out
    assert "0 of 8" in out


def test_inputs_that_do_not_fit_are_named(run: Run, model: Path, tmp_path: Path) -> None:
    np.savez(tmp_path / "in.npz", x=np.zeros((2, 5), np.float32))
    code, _, err = run("check", model, "--inputs", tmp_path / "in.npz")
    assert (code, err) == (1, "onnxloom: error: input 'x': expected shape [N, 4], got [2, 5]\n")
    np.savez(tmp_path / "in.npz", x=np.zeros((2, 4)))
    code, _, err = run("check", model, "--inputs", tmp_path / "in.npz")
    assert (code, err) == (1, "onnxloom: error: input 'x': expected tensor(float), got dtype float64\n")


def test_special_values_count_as_equal_only_to_themselves(run: Run, tmp_path: Path) -> None:
    chain = 'agraph (float[3] x) => (float[3] y) { ["e"] a = Exp(x) y = Neg(a) }'
    path = saved(tmp_path / "m.onnx", chain)
    np.savez(tmp_path / "in.npz", x=np.array([np.inf, -np.inf, np.nan], np.float32))
    code, out, _ = run("check", path, "--inputs", tmp_path / "in.npz")
    assert code == 0
    code, out, _ = run("check", path, "--inputs", tmp_path / "in.npz", "--load-plugin", WRONG_KERNEL)
    assert code == 1
    assert "expected -0.0, got inf" in out
    line = next(line for line in out.splitlines() if line.endswith("output y"))
    assert line.split()[4] == "1"  # infinite in one of them only


def test_strings_sequences_control_flow_and_defaults(run: Run, tmp_path: Path) -> None:
    text = """agraph (string[2] s, bool c, float[3] x, float[3] d)
      => (string[2] t, seq(float[3]) q, float[3] y, int64[2, K] n)
    <float[3] d = {1.0, 2.0, 3.0}> {
      t = StringConcat(s, s)
      q = SequenceConstruct(x, d)
      y = If <then_branch = a () => (float[3] p) { p = Add(x, d) },
              else_branch = b () => (float[3] p) { p = Sub(x, d) }> (c)
      n = NonZero(x)
    }"""
    path = saved(tmp_path / "m.onnx", text)
    np.savez(tmp_path / "in.npz", d=np.zeros(3, np.float32))
    for more in ([], ["--inputs", tmp_path / "in.npz"]):
        code, out, err = run("check", path, *more)
        assert (code, err) == (0, ""), out
        assert len(rows(out)) == 4


def test_saved_bfloat16_and_sequences_are_read_again(run: Run, tmp_path: Path) -> None:
    text = """agraph (bfloat16[2] h, seq(float[2]) s) => (bfloat16[2] y, float[2] z)
    <int64 one = {1}> { y = Neg(h) z = SequenceAt(s, one) }"""
    values = {"h": np.ones(2, ml_dtypes.bfloat16), "s": [np.zeros(2, np.float32), np.ones(2, np.float32)]}
    save_arrays(str(tmp_path / "in.npz"), values)
    path = saved(tmp_path / "m.onnx", text)
    code, out, err = run("check", path, "--inputs", tmp_path / "in.npz")
    assert (code, err) == (0, "")
    assert "random" not in out
    code, _, err = run("check", path)
    assert code == 1
    assert "input 's' is a seq(tensor(float)): give it" in err


def test_a_value_that_a_pass_gave_another_meaning_is_left_out(run: Run, tmp_path: Path) -> None:
    """The BatchNormalization goes into the weights of the Conv, which keeps its name."""
    text = """agraph (float[1, 1, 3] x) => (float[1, 1, 2] y)
    <float[1, 1, 2] w = {1.0, 2.0}, float[1] s = {6.0}, float[1] b = {1.0}, float[1] v = {4.0}> {
      ["conv"] a = Conv(x, w)
      ["norm"] c = BatchNormalization(a, s, b, b, v)
      ["end"] y = Sigmoid(c)
    }"""
    arguments = [saved(tmp_path / "m.onnx", text), "--all-values", "--disable-fused-op"]
    for against, shown in (("reference", True), ("O0", False)):
        code, out, _ = run("check", *arguments, "--against", against)
        assert code == 0
        assert ('onnx.Conv "conv"' in rows(out)) is shown
        assert 'onnx.Sigmoid "end"' in rows(out)


def test_onnxruntime_is_optional(run: Run, model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    code, _, err = run("check", model, "--against", "onnxruntime")
    assert code == 2
    assert "onnxruntime: it is not installed" in err


def test_text_is_checked_too(run: Run, tmp_path: Path) -> None:
    (tmp_path / "m.mlir").write_text("""
      func.func @main_graph(%x: tensor<4xf32>) -> tensor<4xf32> {
        %y = "onnx.Exp"(%x) : (tensor<4xf32>) -> tensor<4xf32>
        onnx.Return %y : tensor<4xf32>
      }""")
    against: list[Any] = ["reference", "O0"]
    for witness in against:
        assert run("check", tmp_path / "m.mlir", "--against", witness)[0] == 0
