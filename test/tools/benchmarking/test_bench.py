"""`onnxloom bench`: the table, JSON, picture, profile, and one line for each thing that can be wrong."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import onnx
import onnx.parser
import pytest

from onnxloom.tools.benchmarking import contestants
from onnxloom.tools.cli import main

SOURCE = """
<ir_version: 10, opset_import: ["" : 21]>
graph (float[n, 8] x) => (float[n, 8] y)
<float[8, 8] w = {WEIGHTS}>
{
    p = MatMul(x, w)
    y = Relu(p)
}
""".replace("WEIGHTS", ", ".join(str(v % 7) for v in range(64)))

Run = Callable[..., tuple[int, str, str]]
QUICK = ("--rounds", "1", "--seconds", "0.0001")


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "small.onnx"
    onnx.save(onnx.parser.parse_model(SOURCE), path)
    return path


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    def call(*args: object) -> tuple[int, str, str]:
        code = main([str(arg) for arg in args])
        out, err = capsys.readouterr()
        return code, out, err

    return call


def test_table_json_and_picture(run: Run, model: Path, tmp_path: Path):
    figures, drawing = tmp_path / "f.json", tmp_path / "p.svg"
    code, out, err = run("bench", model, *QUICK, "--dim", "n=5", "--json", figures, "--picture", drawing)
    assert (code, err) == (0, "")
    head, row = out.splitlines()
    assert head.split()[:6] == ["model", "ms", "limit", "ms", "onnxruntime", "ms"]
    assert row.split()[0] == "small"
    found = json.loads(figures.read_text())
    (one,) = found["models"]
    assert one["name"] == "small"
    assert one["peers"]["onnxruntime"]["ratio"] > 0
    assert one["peers"]["onnxruntime"]["error"] < 1e-6
    assert one["operations"] >= 2 * 5 * 8 * 8
    assert found["limits"]["is_measured"]
    root = ElementTree.fromstring(drawing.read_text())
    titles = [element.text or "" for element in root.iter("{http://www.w3.org/2000/svg}title")]
    assert any(title.startswith("small: onnxruntime") for title in titles)
    assert any("matmul_epilogue" in title for title in titles)


def test_profile_lists_kernels(run: Run, model: Path):
    code, out, _ = run("bench", model, *QUICK, "--profile")
    assert code == 0
    assert out.startswith("small:\n")
    assert "of limit" in out
    assert "matmul_epilogue" in out


def test_folder_takes_inputs_beside_models_and_goes_on_after_a_bad_one(run: Run, model: Path, tmp_path: Path):
    np.savez(tmp_path / "small.npz", x=np.ones((3, 8), np.float32))
    nested = tmp_path / "other" / "model.onnx"
    nested.parent.mkdir()
    nested.write_bytes(model.read_bytes())
    (tmp_path / "bad.onnx").write_bytes(b"no model")
    figures = tmp_path / "f.json"
    code, out, err = run("bench", tmp_path, *QUICK, "--json", figures)
    assert code == 1
    assert err.startswith("onnxloom: error: bad: ")
    assert len(err.splitlines()) == 1
    assert [line.split()[0] for line in out.splitlines()] == ["model", "other", "small", "geometric"]
    other, small = json.loads(figures.read_text())["models"]
    assert small["operations"] == pytest.approx(3 * other["operations"])


def test_errors_against_a_reference(run: Run, model: Path, tmp_path: Path):
    x = np.full((1, 8), 0.1, np.float32)
    np.savez(tmp_path / "x.npz", x=x)
    np.savez(tmp_path / "y.npz", y=np.zeros((1, 8)))
    given = ("--inputs", tmp_path / "x.npz", "--reference", tmp_path / "y.npz")
    code, out, _ = run("bench", model, *QUICK, *given)
    assert code == 0
    head, row = (line.split() for line in out.splitlines())
    assert head[-4:] == ["error", "onnxruntime's", "in", "Python"]
    assert row[-1] == row[-2] != "0.0e+00"


def test_outputs_that_differ_are_said(run: Run, model: Path, monkeypatch: pytest.MonkeyPatch):
    def zeros(path: str, feeds: Any, threads: int) -> Any:
        return lambda: {"y": np.arange(8, dtype=np.float32)[None]}

    monkeypatch.setattr(contestants, "_onnxruntime", zeros)
    code, out, _ = run("bench", model, *QUICK, "--dim", "n=1")
    assert code == 1
    assert "small: outputs differ from those of onnxruntime by " in out
    assert run("bench", model, *QUICK, "--tolerance", "1e9")[0] == 0


def test_a_model_the_peer_cannot_run_is_an_error(run: Run, tmp_path: Path):
    path = tmp_path / "gap.onnx"
    onnx.save(onnx.parser.parse_model(SOURCE.replace("float", "double").replace("Relu", "Mish")), path)
    code, out, err = run("bench", path, *QUICK)
    assert (code, out) == (1, "")
    assert "onnxruntime cannot run it: " in err
    assert len(err.splitlines()) == 1


@pytest.mark.parametrize(
    ("args", "code", "said"),
    [
        (("nothing-here",), 1, "nothing-here: no such file, folder, or model in "),
        (("MODEL", "--against", "foo"), 2, "--against foo: expected onnxruntime or openvino"),
        (("MODEL", "--against", ","), 2, "--against ,: no peer is named"),
        (("MODEL", "--picture", "x.png"), 2, "--picture x.png: expected a name that ends in .svg"),
        (("MODEL", "MODEL", "--inputs", "x.npz"), 2, "--inputs, --input and --reference are for one model"),
        (("MODEL", "--threads", "0"), 2, "'0' is no number of at least 1"),
        (("MODEL", "--seconds", "0"), 2, "'0' is no number above 0"),
        (("MODEL", "--seconds", "nan"), 2, "'nan' is no number above 0"),
        (("MODEL", "--tolerance", "nan"), 2, "'nan' is no number of at least 0"),
        (("MODEL", "--tolerance", "-1"), 2, "'-1' is no number of at least 0"),
        (("MODEL", "--tolerance", "wide"), 2, "'wide' is no number of at least 0"),
        (("MODEL", "--seconds", "soon"), 2, "'soon' is no number above 0"),
        (("FOLDER",), 1, "holds no model"),
    ],
)
def test_wrong_arguments(run: Run, model: Path, tmp_path: Path, args: tuple[str, ...], code: int, said: str):
    empty = tmp_path / "empty"
    empty.mkdir()
    named = {"MODEL": model, "FOLDER": empty}
    found, out, err = run("bench", *(named.get(arg, arg) for arg in args))
    assert (found, out) == (code, "")
    assert said in err
    assert len(err.splitlines()) == 1


def test_a_peer_that_is_not_installed_is_left_out_or_an_error(
    run: Run, model: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("onnxloom.tools.commands.bench.is_installed", lambda name: name == "onnxruntime")
    code, out, err = run("bench", model, *QUICK, "--against", "onnxruntime,openvino")
    assert code == 0
    assert err == "onnxloom: note: openvino is not installed (pip install openvino); it is left out\n"
    assert "openvino" not in out
    code, _, err = run("bench", model, "--against", "openvino")
    assert code == 1
    assert err == "onnxloom: error: --against openvino: not installed (pip install openvino)\n"
