"""`onnxloom-opt` on ONNX models: reading, weights, pipes, targets, plug-ins."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import onnx
import onnx.parser
import pytest

from onnxloom.tools.opt.driver import OnnxloomOpt
from onnxloom.tools.testing.run_line import Command, run_command

ADD = '<ir_version: 10, opset_import: ["" : 21]> g (float[4] x) => (float[4] y) { y = Add(x, x) }'
DRIVER = [sys.executable, "-m", "onnxloom.tools.onnxloom_opt"]


def opt(*args: object, data: bytes = b"", cwd: Path | None = None, code: int = 0) -> tuple[bytes, str]:
    """stdout and stderr of the driver, run in process."""
    with contextlib.chdir(cwd or Path.cwd()):
        returned, out, err = run_command(Command("onnxloom-opt", tuple(map(str, args))), data)
    assert returned == code, err.decode()
    return out, err.decode()


def save_add(path: Path) -> Path:
    onnx.save(onnx.parser.parse_model(ADD), path)
    return path


def save_weighty(path: Path, size: int) -> np.ndarray[tuple[int], np.dtype[np.float32]]:
    weights = np.arange(size, dtype=np.float32)
    graph = onnx.helper.make_graph(
        [onnx.helper.make_node("Add", ["x", "w"], ["y"])],
        "g",
        [onnx.helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [size])],
        [onnx.helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, [size])],
        [onnx.numpy_helper.from_array(weights, "w")],
    )
    onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 21)]), path)
    return weights


def test_model_from_file_and_from_a_pipe(tmp_path: Path) -> None:
    path = save_add(tmp_path / "m.onnx")
    from_file = opt(path)[0]
    assert b'"onnx.Add"' in from_file
    assert opt(data=path.read_bytes())[0] == from_file
    assert opt("-f", "onnx", data=path.read_bytes())[0] == from_file


def test_text_through_a_pipe_finds_the_weights_of_the_model(tmp_path: Path) -> None:
    weights = save_weighty(tmp_path / "m.onnx", 1000)
    text = opt("m.onnx", cwd=tmp_path)[0]
    assert b'#onnx.weights<"m.onnx", "w"' in text
    assert opt(data=text, cwd=tmp_path)[0] == text
    back = opt("-t", "onnx", data=text, cwd=tmp_path)[0]
    stored = onnx.load_from_string(back).graph.initializer[0]
    np.testing.assert_array_equal(onnx.numpy_helper.to_array(stored), weights)


def test_weights_that_are_gone_are_missed_only_when_needed(tmp_path: Path) -> None:
    save_weighty(tmp_path / "m.onnx", 1000)
    text = opt("m.onnx", cwd=tmp_path)[0]
    (tmp_path / "m.onnx").unlink()
    assert opt(data=text, cwd=tmp_path)[0] == text
    error = opt("-t", "onnx", data=text, cwd=tmp_path, code=1)[1]
    assert "m.onnx" in error
    assert error.count("\n") == 1


def test_elided_weights_carry_no_data(tmp_path: Path) -> None:
    save_weighty(tmp_path / "m.onnx", 1000)
    text = opt("m.onnx", "--elide-weights", cwd=tmp_path)[0].decode()
    assert "#onnx.weights" not in text
    assert "__elided__" in text


def test_model_from_a_pipe_keeps_its_weights_in_a_file(tmp_path: Path) -> None:
    weights = save_weighty(tmp_path / "m.onnx", 1000)
    data = (tmp_path / "m.onnx").read_bytes()
    (tmp_path / "m.onnx").unlink()
    text = opt("--weights-out", "w.bin", data=data, cwd=tmp_path)[0]
    assert b'#onnx.weights<"w.bin"' in text
    back = opt("-t", "onnx", data=text, cwd=tmp_path)[0]
    stored = onnx.load_from_string(back).graph.initializer[0]
    np.testing.assert_array_equal(onnx.numpy_helper.to_array(stored), weights)


def test_large_weights_are_never_read_to_print_or_to_fail(tmp_path: Path) -> None:
    """500 MB, sparse on disk. Time is compared with the same run on a tiny model."""
    save_weighty(tmp_path / "small.onnx", 1000)
    size = 500 * 1024 * 1024
    tensor = onnx.TensorProto(name="w", data_type=onnx.TensorProto.FLOAT, dims=[size // 4])
    tensor.data_location = onnx.TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value="w.bin")
    with (tmp_path / "w.bin").open("wb") as file:
        file.truncate(size)
    model = onnx.load(tmp_path / "small.onnx")
    model.graph.initializer[0].CopyFrom(tensor)
    for value in (*model.graph.input, *model.graph.output):
        value.type.tensor_type.shape.dim[0].dim_value = size // 4
    (tmp_path / "large.onnx").write_bytes(model.SerializeToString())

    def seconds(name: str, *args: str, code: int = 0) -> float:
        start = time.perf_counter()
        opt(name, *args, cwd=tmp_path, code=code)
        return time.perf_counter() - start

    for args, code in (((), 0), (("-p", "shape-inference,fuse-ops"), 0), (("-t", "numba"), 1)):
        small = min(seconds("small.onnx", *args, code=code) for _ in range(3))
        large = min(seconds("large.onnx", *args, code=code) for _ in range(3))
        assert large < small + 0.5


def test_target_onnx_is_binary_and_loads(tmp_path: Path) -> None:
    path = save_add(tmp_path / "m.onnx")
    opt(path, "-t", "onnx", "-o", tmp_path / "out.onnx")
    model = onnx.load(tmp_path / "out.onnx")
    onnx.checker.check_model(model)
    assert [node.op_type for node in model.graph.node] == ["Add"]
    opt(path, "-t", "onnx{opset=18}", "-o", tmp_path / "out.onnx")
    assert onnx.load(tmp_path / "out.onnx").opset_import[0].version == 18


def test_missing_kernels_are_one_line(tmp_path: Path) -> None:
    path = save_add(tmp_path / "m.onnx")
    for target in ("llvm", "numba"):
        error = opt(path, "-t", target, code=1)[1]
        assert "has no kernels (convert-onnx-to-loom makes them)" in error
        assert error.count("\n") == 1


def test_targets_of_others_that_have_no_code_are_one_line(tmp_path: Path) -> None:
    """Every target that is offered prints something or says in one line that it cannot."""
    path = save_add(tmp_path / "m.onnx")
    driver = OnnxloomOpt([])
    failed: set[str] = set()
    for target in driver.available_targets:
        returned, _, err = run_command(Command("onnxloom-opt", (str(path), "-t", target)), b"")
        assert returned in (0, 1), (target, err)
        if returned == 1:
            failed.add(target)
            assert err.count(b"\n") == 1, (target, err)
            assert f"target {target}".encode() in err
    assert {"x86-asm", "mps", "numba", "llvm"} <= failed
    assert not {"mlir", "onnx"} & failed


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("raise ValueError('at import')", "ValueError: at import (line 1)"),
        ("def broken(:", "SyntaxError"),
        ("x = 1", "defines no fusion kind"),
    ],
)
def test_plug_in_that_fails_is_one_line(tmp_path: Path, source: str, said: str) -> None:
    plugin = tmp_path / "plugin.py"
    plugin.write_text(source)
    error = opt("--load-plugin", plugin, data=b"builtin.module {}", code=1)[1]
    assert str(plugin) in error
    assert said in error
    assert error.count("\n") == 1


def test_damaged_model_on_a_pipe_is_one_line(tmp_path: Path) -> None:
    data = save_add(tmp_path / "m.onnx").read_bytes()
    error = opt(data=data[:-7], code=1)[1]
    assert error.startswith("<stdin>: error: ")
    assert error.count("\n") == 1


def test_reading_from_a_named_pipe(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.mlir")
    with subprocess.Popen([*DRIVER, str(tmp_path / "pipe.mlir")], stdout=subprocess.PIPE) as driver:
        (tmp_path / "pipe.mlir").write_text("func.func @f() {\n  func.return\n}")
        assert driver.stdout is not None
        assert b"func.func @f()" in driver.stdout.read()
    assert driver.returncode == 0


RAISING_KIND = """
from onnxloom.dialects import onnx
from onnxloom.transforms.fusion.helper import FusionOpKindHelper

class Raising(FusionOpKindHelper):
    kind = "bad.kind"
    anchors = (onnx.AddOp,)

    @classmethod
    def detect_if_beneficial(cls, dims, anchor):
        raise ValueError("in detection")

    def verify(self, body):
        return None
"""
RAISING_LOWERING = """
from onnxloom.conversion.onnx_to_loom.registry import FusedOpKindLowering
from onnxloom.transforms.fusion.kinds.elementwise import ElementwiseFusion

class Raising(FusedOpKindLowering[ElementwiseFusion]):
    helper = ElementwiseFusion

    def lower_verified(self, fused_op, helper, inputs, builder):
        return inputs[7]
"""
CHAIN = (
    '<ir_version: 10, opset_import: ["" : 21]> g (float[4] x) => (float[4] y) { a = Add(x, x) y = Exp(a) }'
)


@pytest.mark.parametrize(
    ("source", "said"),
    [
        (RAISING_KIND, "Raising: ValueError: in detection (line 11)"),
        (RAISING_LOWERING, "Raising: IndexError: list index out of range (line 9)"),
    ],
)
def test_plug_in_that_raises_later_is_named_in_one_line(tmp_path: Path, source: str, said: str) -> None:
    plugin = tmp_path / "plugin.py"
    plugin.write_text(source)
    onnx.save(onnx.parser.parse_model(CHAIN), tmp_path / "m.onnx")
    _, error = opt(
        tmp_path / "m.onnx", "--load-plugin", plugin, "-p", "fuse-ops,convert-onnx-to-loom", code=1
    )
    assert f"plug-in {plugin}: {said}" in error
    assert error.count("\n") == 1
