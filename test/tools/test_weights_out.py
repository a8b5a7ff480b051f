"""`--weights-out` never costs anybody the weights."""

from __future__ import annotations

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
    for name in ("m.onnx", "link"):
        assert main([*command, "./m.onnx", "--weights-out", name]) == 2
        assert f"--weights-out {name} is the input" in capsys.readouterr().err
    assert main([*command, "m.onnx", "-o", "out", "--weights-out", "./out"]) == 2
    assert model.read_bytes() == before


def test_a_file_that_the_text_refers_to_keeps_what_it_refers_to(model: Path) -> None:
    assert cli.main(["import", "m.onnx", "-o", "a.mlir", "--weights-out", "w"]) == 0
    assert onnxloom_opt.main(["a.mlir", "-o", "b.mlir", "--weights-out", "w"]) == 0
    assert cli.main(["export", "b.mlir", "-o", "again.onnx"]) == 0
    (weight,) = onnx.load("again.onnx").graph.initializer
    np.testing.assert_array_equal(numpy_helper.to_array(weight), W)
