"""`--weights-out` never costs anybody the weights."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

from onnxloom.tools import cli, onnxloom_opt

W = np.random.default_rng(0).random((64, 64), np.float32)
IMPORT: tuple[Callable[[list[str]], int], list[str]] = (cli.main, ["import"])
OPT: tuple[Callable[[list[str]], int], list[str]] = (onnxloom_opt.main, [])


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    x, y = (helper.make_tensor_value_info(name, 1, ["n", 64]) for name in "xy")
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], ["y"])], "g", [x], [y], [numpy_helper.from_array(W, "w")]
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)]), "m.onnx")
    return Path("m.onnx")


@pytest.mark.parametrize("program", [IMPORT, OPT])
def test_the_input_is_refused(
    model: Path, program: tuple[Callable[[list[str]], int], list[str]], capsys: pytest.CaptureFixture[str]
) -> None:
    main, command = program
    before = model.read_bytes()
    Path("link").symlink_to(model)
    os.link(model, "hard")
    for name in ("m.onnx", "link", "hard"):
        assert main([*command, "./m.onnx", "--weights-out", name]) == 2
        assert f"--weights-out {name} is the input" in capsys.readouterr().err
    assert main([*command, "m.onnx", "--weights-out", ""]) == 2
    assert "--weights-out needs the name of a file" in capsys.readouterr().err
    assert main([*command, "m.onnx", "-o", "out", "--weights-out", "./out"]) == 2
    assert model.read_bytes() == before


def test_a_file_that_the_text_refers_to_is_refused(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["import", "m.onnx", "-o", "a.mlir", "--weights-out", "w"]) == 0
    before = Path("w").read_bytes()
    os.link("w", "hard")
    for name in ("w", "./w", "hard"):
        assert onnxloom_opt.main(["a.mlir", "-o", "b.mlir", "--weights-out", name, "--weights-dir", "."]) == 2
        assert f"--weights-out {name} holds weights of the input" in capsys.readouterr().err
    assert Path("w").read_bytes() == before
    assert not Path("b.mlir").exists()


@pytest.mark.parametrize("program", [IMPORT, OPT])
def test_external_data_are_not_written_over(
    model: Path, program: tuple[Callable[[list[str]], int], list[str]], capsys: pytest.CaptureFixture[str]
) -> None:
    main, command = program
    onnx.save(onnx.load(model), "e.onnx", save_as_external_data=True, location="e.data", size_threshold=0)
    before = Path("e.data").read_bytes()
    assert main([*command, "e.onnx", "--weights-out", "e.data"]) == 1
    assert "e.data is there and is no weights file" in capsys.readouterr().err
    assert Path("e.data").read_bytes() == before


def test_an_older_weights_file_gives_way(model: Path) -> None:
    for _ in range(2):
        assert cli.main(["import", "m.onnx", "-o", "a.mlir", "--weights-out", "w"]) == 0
    assert cli.main(["export", "a.mlir", "-o", "again.onnx"]) == 0
    (weight,) = onnx.load("again.onnx").graph.initializer
    np.testing.assert_array_equal(numpy_helper.to_array(weight), W)
