"""How is the mode asked for, and what is the same without it?"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from text_models import model_of

import onnxloom
from onnxloom.dialects.onnx.text import parse_module
from onnxloom.errors import InputError, KernelFault
from onnxloom.lowering.compile import CompileOptions, compile_model, compile_module
from onnxloom.lowering.plan.node import Node
from onnxloom.lowering.runtime.model import CompiledModel
from onnxloom.tools.cli import main

GRAPH = "agraph (float[N] x) => (float[N] y) { y = Abs(x) }"
X = np.array([-1.0, 2.0], np.float32)

WRONG = """
"loom.kernel"() <{sym_name = "k", access = ["read", "write"]}> ({
^bb0(%in: memref<?xf32>, %out: memref<?xf32>, %n: index):
  %c0 = arith.constant 0 : index
  %v = memref.load %in[%c0] : memref<?xf32>
  memref.store %v, %out[%n] : memref<?xf32>
  "loom.end"() : () -> ()
}) : () -> ()
"loom.program"() <{sym_name = "main_graph", arg_names = ["x"], result_names = ["y"]}> ({
^bb0(%x: tensor<2xf32>):
  %n = arith.constant 2 : index
  %e = tensor.empty() : tensor<2xf32>
  %y = "loom.launch"(%x, %e, %n) <{kernel = @k, operandSegmentSizes = array<i32: 1, 1, 1>}> : (tensor<2xf32>, tensor<2xf32>, index) -> tensor<2xf32>
  "loom.return"(%y) : (tensor<2xf32>) -> ()
}) : () -> ()
"""  # noqa: E501


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    path = tmp_path / "m.onnx"
    onnx.save(model_of(GRAPH), path)
    return path


def first_stretch(model: CompiledModel) -> Node:
    np.testing.assert_array_equal(model(X)[0], np.abs(X))
    return model.plans[0]


def test_the_environment_decides_where_nobody_does(monkeypatch: pytest.MonkeyPatch, saved: Path) -> None:
    for value, expected in (("", False), ("0", False), ("1", True)):
        monkeypatch.setenv("ONNXLOOM_CHECKED", value)
        assert CompileOptions().checked is expected
        assert onnxloom.compile(saved).artifact.checked is expected
        assert onnxloom.InferenceSession(saved).model.artifact.checked is expected
        assert onnxloom.compile(saved, checked=False).artifact.checked is False


def test_records_have_more_words_in_the_mode_only(saved: Path) -> None:
    plain, checked = (first_stretch(onnxloom.compile(saved, checked=flag)) for flag in (False, True))
    assert plain.checked is None
    assert checked.checked is not None
    assert checked.table.size == plain.table.size + 3  # two extents and the address of the fault words
    assert list(checked.table[-3:-1]) == [8, 8]


def test_code_with_and_without_checks_is_cached_apart(
    saved: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ONNXLOOM_CACHE_DIR", str(tmp_path / "cache"))
    for flag in (False, True, False, True):  # compiled twice, then found twice
        model = onnxloom.compile(saved, checked=flag)
        assert (first_stretch(model).checked is not None) is flag
        assert model.stored
    names = [model.artifact.symbols for model in (onnxloom.compile(saved, checked=f) for f in (False, True))]
    assert not set(names[0].values()) & set(names[1].values())


def test_kernels_of_numba_are_not_checked(monkeypatch: pytest.MonkeyPatch, saved: Path) -> None:
    with pytest.raises(InputError, match="checked kernels are compiled by LLVM"):
        onnxloom.compile(saved, checked=True, jit="numba")
    monkeypatch.setenv("ONNXLOOM_CHECKED", "1")
    assert first_stretch(onnxloom.compile(saved, jit="numba")).checked is None


def test_a_stored_model_keeps_its_checks(tmp_path: Path) -> None:
    model = compile_module(parse_module(WRONG), CompileOptions(cache=False, checked=True))
    model.save(tmp_path / "m.loom")
    with pytest.raises(KernelFault, match="element 2"):
        onnxloom.load(tmp_path / "m.loom")(X)


def test_threads_that_share_a_kernel_fail_together() -> None:
    graph = "agraph (float[N,256] x) => (float[N,256] y) { y = Exp(x) }"
    data = np.zeros((2000, 256), np.float32)
    model = compile_model(model_of(graph), CompileOptions(cache=False, checked=True, threads=2))
    np.testing.assert_array_equal(model(data)[0], data + 1)
    assert model.plans[0].shared


def test_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "wrong.mlir"
    path.write_text(WRONG)
    assert main(["run", str(path), "--checked", "--no-cache"]) == 3
    message = capsys.readouterr().err
    assert message.count("\n") == 1
    assert (
        "kernel k: store of float in the kernel's loops: 4 bytes at byte 8 (element 2) of buffer 1" in message
    )
    assert main(["run", str(path), "--checked", "--jit", "numba"]) == 2
    assert "--checked needs --jit llvm" in capsys.readouterr().err
