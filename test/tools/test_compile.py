"""`onnxloom compile`: what it writes, `onnxloom run` runs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from text_models import model_of

import onnxloom
from onnxloom.lowering.artifact.container import read_container
from onnxloom.lowering.cpu_target import LEVELS, CpuTarget
from onnxloom.tools.cli import main

RANGES = """agraph (float[N] x) => (float[K] y) {
    size = Size(x)
    zero = Constant <value_int = 0> ()
    one = Constant <value_int = 1> ()
    places = Range(zero, size, one)
    y = Gather(x, places)
}"""
"""Of which plans need results that are worked out by more than arithmetic."""


@pytest.fixture(autouse=True)
def _no_cache(monkeypatch: pytest.MonkeyPatch) -> None:  # pyright: ignore[reportUnusedFunction]
    monkeypatch.setenv("ONNXLOOM_CACHE_DIR", "")


@pytest.fixture
def model_file(tmp_path: Path) -> Path:
    path = tmp_path / "m.onnx"
    onnx.save(model_of(RANGES), path)
    return path


def test_a_file_that_runs(model_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "m.loom"
    assert main(["compile", str(model_file), "-o", str(out)]) == 0
    assert capsys.readouterr().out == f"{out}: 0.0 MB\n"
    results = tmp_path / "r.npz"
    assert main(["run", str(out), "--dim", "N=3", "--outputs", str(results)]) == 0
    assert np.load(results)["y"].shape == (3,)
    assert "to compile or load" in capsys.readouterr().out


def test_the_model_is_not_written_over(model_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = model_file.read_bytes()
    assert main(["compile", str(model_file), "-o", str(model_file)]) == 1
    assert "is the model itself" in capsys.readouterr().err
    assert model_file.read_bytes() == before


def test_a_compiled_model_is_not_explained(
    model_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "m.loom"
    assert main(["compile", str(model_file), "-o", str(out)]) == 0
    assert main(["explain", str(out)]) == 1
    assert f"{out}: is a compiled model; expected the one it was compiled from" in capsys.readouterr().err


def test_plans_for_given_dims_are_in_the_file(model_file: Path, tmp_path: Path) -> None:
    out = tmp_path / "m.loom"
    arguments = ["compile", str(model_file), "-o", str(out)]
    assert main(arguments) == 0
    one = len(onnxloom.load(out).artifact.memo.entries)
    assert main([*arguments, "--dims", "N=4", "--dims", "N=7"]) == 0
    model = onnxloom.load(out)
    assert len(model.artifact.memo.entries) == 2 * one > 0
    for size in (4, 7, 9):
        assert model(np.ones(size, np.float32))[0].shape == (size,)
        assert model.artifact.memo.grown == (size == 9)


def test_made_up_inputs_that_the_model_refuses_do_no_harm(tmp_path: Path) -> None:
    path, out = tmp_path / "m.onnx", tmp_path / "m.loom"
    proto = model_of("agraph (float[3] x, int64[1] n) => (float[K] y) { y = Reshape(x, n) }")
    onnx.save(proto, path)
    assert main(["compile", str(path), "-o", str(out)]) == 0
    x = np.ones(3, np.float32)
    np.testing.assert_array_equal(onnxloom.load(out)(x, np.array([3]))[0], x)


def test_the_model_is_kept_where_it_is_asked_for(model_file: Path, tmp_path: Path) -> None:
    out = tmp_path / "m.loom"
    assert main(["compile", str(model_file), "-o", str(out)]) == 0
    assert "model" not in read_container(out).sections
    assert main(["compile", str(model_file), "-o", str(out), "--embed-model", "--disable-fused-op"]) == 0
    container = read_container(out)
    assert bytes(container.sections["model"]) == model_file.read_bytes()
    assert container.description["options"]["fuse"] is False


def test_code_for_a_named_processor(model_file: Path, tmp_path: Path) -> None:
    if not CpuTarget.host().is_x86:
        pytest.skip("levels of x86-64 only")
    out = tmp_path / "m.loom"
    assert main(["compile", str(model_file), "-o", str(out), "--cpu", "x86-64-v2"]) == 0
    assert set(onnxloom.load(out).artifact.features) == LEVELS["x86-64-v2"]


def test_code_for_a_processor_that_this_one_is_not(
    model_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "m.loom"
    other = CpuTarget(CpuTarget.host().triple, CpuTarget.host().cpu, "+something-new")
    monkeypatch.setattr(CpuTarget, "named", lambda _: other)
    assert main(["compile", str(model_file), "-o", str(out)]) == 0
    monkeypatch.undo()
    capsys.readouterr()
    assert main(["run", str(out)]) == 1
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert f"{out} was compiled for a processor with something-new" in said


@pytest.mark.parametrize(
    ("extra", "code", "words"),
    [
        (["--cpu", "pdp-11"], 1, "there is no processor 'pdp-11' to compile for; expected host"),
        (["--dims", "N"], 2, "N"),
        (["--dims", "N=4,K"], 2, "K"),
    ],
)
def test_mistakes_are_told_in_one_line(
    extra: list[str],
    code: int,
    words: str,
    model_file: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    out = tmp_path / "m.loom"
    assert main(["compile", str(model_file), "-o", str(out), *extra]) == code
    said = capsys.readouterr().err
    assert words in said
    assert said.count("\n") == 1
    assert not out.exists()


def test_a_folder_that_is_not_there(
    model_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["compile", str(model_file), "-o", str(tmp_path / "no" / "m.loom")]) == 1
    assert "No such file or directory" in capsys.readouterr().err
