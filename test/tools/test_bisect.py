"""`onnxloom bisect` finds planted faults, each to the exact place, and writes a model that shows them.

The faults come from plug-in files: nothing in onnxloom knows of them.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import numpy as np
import onnx
import pytest
from text_models import model_of

from onnxloom.dialects import onnx as onnx_dialect
from onnxloom.tools.cli import main
from onnxloom.tools.commands.run import save_arrays
from onnxloom.transforms.folding.evaluator import numpy_ops

INPUTS = Path(__file__).parent / "Inputs"

MODEL = """agraph (float[N, 4] x, float[4] w) => (float[N, 4] y, float[N, 4] z)
<float two = {2.0}, float one = {1.0}, float half = {0.5}> {
  ["first"] a = Sub(x, w)
  ["same"] i = Identity(a)
  ["triple"] p = Mul(i, one)
  ["double"] d = Mul(p, two)
  ["sum"] s = Add(one, half)
  ["shift"] t = Add(d, s)
  ["grow"] e = Exp(t)
  ["turn"] y = Neg(e)
  ["other"] z = Tanh(x)
}"""

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.chdir(tmp_path)

    def call(*args: object) -> tuple[int, str, str]:
        code = main([str(arg) for arg in args])
        out, err = capsys.readouterr()
        return code, out, err

    return call


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "model.onnx"
    onnx.save(model_of(MODEL), path)
    return path


@pytest.fixture
def wrong_fold(monkeypatch: pytest.MonkeyPatch) -> Path:
    """The plug-in; what it does to the table of folding is undone after the test."""
    table = cast(Any, numpy_ops())
    monkeypatch.setitem(table, onnx_dialect.AddOp, table[onnx_dialect.AddOp])
    return INPUTS / "wrong_fold.py"


def nodes(path: Path) -> list[str]:
    return [node.op_type for node in onnx.load(path).graph.node if node.op_type != "Identity"]


def test_a_right_model_is_found_right(run: Run, model: Path, tmp_path: Path) -> None:
    code, out, err = run("bisect", model)
    assert (code, err) == (0, "")
    assert "all passes are right" in out
    assert out.endswith("the compiled model is right, too\n")
    assert not list(tmp_path.glob("*reduced*"))


def test_a_wrong_rewrite_is_found(run: Run, model: Path) -> None:
    plugin = INPUTS / "wrong_rewrite.py"
    code, out, err = run("bisect", model, "--load-plugin", plugin, "-o", "r.onnx")
    assert (code, err) == (1, "")
    assert 'by rewrite-patterns: PlantedSquare at onnx.Mul "double"\n  output y: element' in out
    assert "reduced model: r.onnx (1 op), its inputs: r.npz\n  it shows: output out0: element" in out
    assert 'it replaces: onnx.Mul "double" (op ' in out
    assert nodes(Path("r.onnx")) == ["Mul"]


def test_a_wrong_fold_is_found(run: Run, model: Path, wrong_fold: Path) -> None:
    code, out, err = run("bisect", model, "--load-plugin", wrong_fold, "-o", "r.onnx")
    assert (code, err) == (1, "")
    line = next(line for line in out.splitlines() if line.startswith("first wrong rewrite"))
    assert "by fold-constants: " in line
    assert line.endswith('at onnx.Add "sum"')
    assert nodes(Path("r.onnx")) == ["Add"]


def test_a_wrong_kernel_is_found(run: Run, model: Path) -> None:
    plugin = INPUTS / "wrong_kernel.py"
    code, out, err = run("bisect", model, "--load-plugin", plugin, "-o", "r.onnx")
    assert (code, err) == (1, "")
    assert "all passes are right: " in out
    assert 'first wrong kernel: planted.neg_exp of onnx.Exp "grow", onnx.Neg "turn"\n  out0: element' in out
    assert nodes(Path("r.onnx")) == ["Exp", "Neg"]


@pytest.mark.parametrize("plugin", ["wrong_rewrite.py", "wrong_kernel.py"])
@pytest.mark.parametrize("suffix", [".onnx", ".mlir"])
def test_the_reduced_model_still_shows_the_fault(run: Run, model: Path, plugin: str, suffix: str) -> None:
    more = ["--load-plugin", INPUTS / plugin]
    assert run("bisect", model, "-o", f"r{suffix}", *more)[0] == 1
    again = [f"r{suffix}", "--inputs", "r.npz"]
    assert run("check", *again, *more)[0] == 1
    code, out, _ = run("bisect", *again, "-o", "smaller.onnx", *more)
    assert code == 1
    assert "first wrong" in out


def test_a_pass_that_does_not_ask_is_found_as_a_whole(run: Run, model: Path) -> None:
    passes = "shape-inference,cleanup,planted-abs,rewrite-patterns,fuse-ops"
    code, out, _ = run("bisect", model, "--load-plugin", INPUTS / "wrong_pass.py", "--passes", passes)
    assert code == 1
    assert "first wrong pass: planted-abs, after 0 of " in out
    assert 'it replaces: onnx.Exp "grow" (op ' in out
    assert "the pass does not ask for each of its rewrites" in out
    assert "reduced model: model-reduced.onnx (1 op)" not in out or nodes(Path("model-reduced.onnx")) == [
        "Exp"
    ]


def test_the_inputs_given_decide(run: Run, model: Path) -> None:
    """x * x is 2 * x where it is 0 or 2."""
    np.savez("in.npz", x=np.array([[0, 2, 2, 0]], np.float32), w=np.zeros(4, np.float32))
    more = ["--load-plugin", INPUTS / "wrong_rewrite.py"]
    assert run("bisect", model, "--inputs", "in.npz", *more)[0] == 0
    assert run("bisect", model, *more)[0] == 1


def test_the_tolerance_given_decides(run: Run, model: Path) -> None:
    more = ["--load-plugin", INPUTS / "wrong_rewrite.py"]
    assert run("bisect", model, "--tolerance", "abs:1e9", *more)[0] == 0


def test_a_pattern_left_out_does_no_harm(run: Run, model: Path) -> None:
    more = ["--load-plugin", INPUTS / "wrong_rewrite.py"]
    assert run("bisect", model, "--skip-patterns", "Planted*", *more)[0] == 0
    assert run("check", model, "--skip-patterns", "PlantedSquare", *more)[0] == 0
    assert run("check", model, *more)[0] == 1
    code, _, err = run("check", model, "--skip-patterns", "NoSuch")
    assert code == 2
    assert "NoSuch" in err


def test_a_fault_inside_a_loop_is_found(run: Run, tmp_path: Path) -> None:
    text = """agraph (float[3] x, int64 trips) => (float[3] y, float[T, 3] rows)
    <bool yes = {1}, float two = {2.0}> {
      y, rows = Loop <
        body = body (int64 i, bool c, float[3] a) => (bool go, float[3] b, float[3] row) {
          go = Identity(yes)
          ["inner"] b = Mul(a, two)
          ["e"] e = Exp(b)
          ["n"] row = Neg(e)
      }> (trips, yes, x)
    }"""
    onnx.save(model_of(text), tmp_path / "loop.onnx")
    np.savez("in.npz", x=np.ones(3, np.float32), trips=np.array(3, np.int64))
    given = [tmp_path / "loop.onnx", "--inputs", "in.npz"]
    code, out, _ = run("bisect", *given, "--load-plugin", INPUTS / "wrong_rewrite.py")
    assert code == 1
    assert 'PlantedSquare at onnx.Mul "inner"' in out
    code, out, _ = run("bisect", *given, "--load-plugin", INPUTS / "wrong_kernel.py")
    assert code == 1
    assert 'first wrong kernel: planted.neg_exp of onnx.Exp "e", onnx.Neg "n"' in out
    assert nodes(Path("loop-reduced.onnx")) == ["Exp", "Neg"]


def test_strings_sequences_and_host_steps(run: Run, tmp_path: Path) -> None:
    text = """agraph (string[2] s, float[3] x, seq(float[3]) q)
      => (string[2] t, seq(float[3]) r, int64[2, K] n)
    <float two = {2.0}> {
      t = StringConcat(s, s)
      n = NonZero(x)
      ["double"] d = Mul(x, two)
      r = SequenceInsert(q, d)
    }"""
    onnx.save(model_of(text), tmp_path / "m.onnx")
    save_arrays("in.npz", {"q": [np.zeros(3, np.float32), np.ones(3, np.float32)]})
    given = [tmp_path / "m.onnx", "--inputs", "in.npz"]
    assert run("bisect", *given)[0] == 0
    code, out, err = run("bisect", *given, "--load-plugin", INPUTS / "wrong_rewrite.py")
    assert (code, err) == (1, "")
    assert 'PlantedSquare at onnx.Mul "double"\n  output r[2]: element' in out
    assert "(1 op)" in out


def test_kernels_that_are_right_alone_are_not_blamed(
    run: Run, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("onnxloom.tools.bisecting.find.find_wrong_kernel", lambda *_: None)
    code, out, _ = run("bisect", model, "--load-plugin", INPUTS / "wrong_kernel.py")
    assert code == 1
    assert "each kernel alone is right\nthe compiled model as a whole is not: output y: element" in out
    assert out.endswith("no smaller model shows it: the model itself is the case to report\n")


def test_a_pass_that_fails_is_told(run: Run, model: Path, tmp_path: Path) -> None:
    text = (INPUTS / "wrong_pass.py").read_text().replace("if old is None or old.parent is None:", "if old:")
    text = text.replace("            return\n", "            raise RuntimeError('no')\n")
    (tmp_path / "failing.py").write_text(text)
    passes = "shape-inference,planted-abs,fuse-ops"
    code, out, _ = run("bisect", model, "--load-plugin", "failing.py", "--passes", passes)
    assert code == 0
    said = f"planted-abs: plug-in {tmp_path / 'failing.py'}: PlantedAbsPass: RuntimeError: no"
    assert f"a pass failed and was left out: {said}" in out


def test_a_model_that_is_random_is_refused(run: Run, tmp_path: Path) -> None:
    onnx.save(model_of("agraph () => (float[3] y) { y = RandomNormal <shape = [3]> () }"), "m.onnx")
    code, _, err = run("bisect", "m.onnx")
    assert code == 1
    assert "is random: each run gives something else" in err


def test_usage_errors(run: Run, model: Path) -> None:
    code, _, err = run("bisect", model, "-o", "r.txt")
    assert (code, err) == (2, "onnxloom: error: -o r.txt: expected a name that ends with .onnx or .mlir\n")
    code, _, err = run("bisect", model, "--passes", "no-such-pass")
    assert code == 2
    assert "no-such-pass" in err
