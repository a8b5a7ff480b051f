"""Levels, passes that are left out, and passes that fail, as callers and users of the programs see them."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest
from text_models import model_of

import onnxloom
from onnxloom.errors import PassError
from onnxloom.tools.cli import main
from onnxloom.tools.onnxloom_opt import main as opt_main
from onnxloom.transforms.fusion.create import FuseOpsPass

GRAPH = """agraph (float[N] x) => (float[N] y) <float[2] a = {1, 2}> {
    b = Exp(a)
    c = ReduceSum(b)
    d = Neg(x)
    e = Mul(d, c)
    y = Exp(e)
}"""

X = np.array([0.1, -0.2], np.float32)
EXPECTED = np.exp(-X * np.exp(np.array([1, 2], np.float32)).sum())


@pytest.fixture(autouse=True)
def no_switches(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("ONNXLOOM_SKIP_PASSES", raising=False)
    monkeypatch.delenv("ONNXLOOM_PASS_LOG", raising=False)
    monkeypatch.setenv("ONNXLOOM_CACHE_DIR", str(tmp_path))


def kernels(model: Any) -> set[str]:
    np.testing.assert_allclose(model(X)[0], EXPECTED, rtol=1e-6)
    return {kind for kind, _ in model.artifact.fused}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    file = tmp_path / "model.onnx"
    file.write_bytes(model_of(GRAPH).SerializeToString())
    return file


def steps(model: Any) -> int:
    """How many ops there are to run, constants among them."""
    return len(model.artifact.constants.values)


@pytest.mark.parametrize(
    ("level", "expected"),
    [
        ("ORT_DISABLE_ALL", 0),
        ("ORT_ENABLE_BASIC", 1),
        ("ORT_ENABLE_EXTENDED", 2),
        ("ORT_ENABLE_LAYOUT", 3),
        ("ORT_ENABLE_ALL", 3),
    ],
)
def test_the_levels_of_onnxruntime(level: str, expected: int, path: Path) -> None:
    ours = onnxloom.SessionOptions(graph_optimization_level=onnxloom.GraphOptimizationLevel[level])
    assert ours.opt_level == expected
    theirs = onnxruntime.SessionOptions()
    theirs.graph_optimization_level = getattr(onnxruntime.GraphOptimizationLevel, level)
    session = onnxloom.InferenceSession(path, theirs)  # pyright: ignore[reportArgumentType]
    assert session.get_session_options().opt_level == expected
    assert bool(session.model.artifact.fused) == (expected >= 2)


def test_passes_are_left_out(path: Path) -> None:
    assert kernels(onnxloom.compile(path)) == {"onnx.elementwise"}
    assert kernels(onnxloom.compile(path, skip_passes="fuse-ops")) == set()
    options = onnxloom.SessionOptions(skip_passes=["fuse-ops"])
    assert kernels(onnxloom.InferenceSession(path, options).model) == set()


def test_the_environment_leaves_passes_out_of_stored_plans_too(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert kernels(onnxloom.compile(path)) == {"onnx.elementwise"}
    monkeypatch.setenv("ONNXLOOM_SKIP_PASSES", "fuse-ops")
    assert kernels(onnxloom.compile(path)) == set()
    monkeypatch.setenv("ONNXLOOM_SKIP_PASSES", "fuse-op")
    with pytest.raises(PassError, match=r"ONNXLOOM_SKIP_PASSES: .*'fuse-op' to skip \(did you mean fuse-ops"):
        onnxloom.compile(path)
    monkeypatch.delenv("ONNXLOOM_SKIP_PASSES")
    assert kernels(onnxloom.compile(path)) == {"onnx.elementwise"}


def test_a_name_that_no_pass_has(path: Path) -> None:
    with pytest.raises(PassError, match="there is no pass 'nonsense' to skip"):
        onnxloom.compile(path, skip_passes=["nonsense"])


def test_folding_is_switched_off(path: Path) -> None:
    folded, whole = onnxloom.compile(path), onnxloom.compile(path, constant_folding=False)
    assert kernels(whole) == {"onnx.elementwise"}
    assert steps(whole) > steps(folded)
    options = onnxloom.SessionOptions(constant_folding=False)
    assert steps(onnxloom.InferenceSession(path, options).model) == steps(whole)
    assert steps(onnxloom.compile(path, opt_level=0)) == steps(whole)


def fail(*_: Any) -> None:
    raise ZeroDivisionError("planted")


def test_a_pass_that_fails_is_left_out_with_one_warning(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(FuseOpsPass, "apply", fail)
    with pytest.warns(UserWarning, match="pass 'fuse-ops' failed and was left out: .*planted") as caught:
        model = onnxloom.compile(path, cache=False)
    assert caught[0].filename == __file__ and len(caught) == 1
    assert kernels(model) == set()
    for compile_strictly in (
        lambda: onnxloom.compile(path, cache=False, strict=True),
        lambda: onnxloom.InferenceSession(path.read_bytes(), onnxloom.SessionOptions(strict=True)),
    ):
        with pytest.raises(ZeroDivisionError, match="planted"):
            compile_strictly()


def test_the_log_is_printed_for_stored_plans_too(
    path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    onnxloom.compile(path)(X)
    monkeypatch.setenv("ONNXLOOM_PASS_LOG", "1")
    onnxloom.compile(path)
    lines = capsys.readouterr().err.splitlines()
    assert any(line.startswith("onnxloom: fold-constants: changed, ops 5 -> 3 (-2), FLOP") for line in lines)


def test_the_programs_know_the_switches(
    path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert main(["run", str(path), "--skip-pass", "fuse-ops"]) == 0
    assert "fused: 0 chains" in capsys.readouterr().out
    assert main(["run", str(path), "--skip-pass", "nonsense"]) == 2
    assert "error: there is no pass 'nonsense' to skip" in capsys.readouterr().err
    assert opt_main([str(path), "-p", "fuse-ops", "--skip-pass", "fuse-ops"]) == 0
    assert "onnx.Fused" not in capsys.readouterr().out
    assert opt_main([str(path), "-p", "fuse-ops", "--skip-pass", "nonsense"]) == 2
    assert "error: there is no pass 'nonsense' to skip" in capsys.readouterr().err
    assert opt_main(["--print-pipeline", "O4"]) == 2
    assert "there is no pipeline 'O4'; expected one of O0, O1, O2, O3" in capsys.readouterr().err
    assert opt_main(["--print-pipeline", "O0"]) == 0
    o0 = "shape-inference,rewrite-patterns{stage=contributed_ops},shape-inference\n"
    assert capsys.readouterr().out == o0
    assert opt_main(["--print-pipeline", "O2", "--skip-pass", "fuse-ops"]) == 0
    assert "fuse-ops" not in capsys.readouterr().out
    monkeypatch.setattr(FuseOpsPass, "apply", fail)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert main(["run", str(path), "--no-cache"]) == 0
        assert main(["run", str(path), "--no-cache", "--strict"]) == 3
