"""Which files may a text read its weights from? Those of its own folder, and of folders that were named."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper
from xdsl.dialects.builtin import ModuleOp

from onnxloom import compile as compile_model
from onnxloom.dialects.onnx import ConstantOp, constant_value
from onnxloom.dialects.onnx.text import load_module, parse_module
from onnxloom.dialects.onnx.weights_source import weights_source
from onnxloom.errors import ModelError
from onnxloom.tools.testing.run_line import Command, run_command

W = np.arange(256, dtype=np.float32)
TYPE = "tensor<256xf32>"


def save_model(path: Path) -> Path:
    path.parent.mkdir(exist_ok=True, parents=True)
    info = helper.make_tensor_value_info("x", TensorProto.FLOAT, [256])
    graph = helper.make_graph([], "g", [info], [info], [numpy_helper.from_array(W, "w")])
    path.write_bytes(helper.make_model(graph).SerializeToString())
    return path


def text_naming(file: str) -> str:
    return (
        f"func.func @main_graph(%0: {TYPE}) -> {TYPE} {{\n"
        f'  %1 = onnx.Constant #onnx.weights<"{file}", "w" : {TYPE}>\n'
        f'  %2 = "onnx.Add"(%0, %1) : ({TYPE}, {TYPE}) -> {TYPE}\n'
        f"  onnx.Return %2 : {TYPE}\n}}\n"
    )


def write_text(path: Path, file: str) -> Path:
    path.parent.mkdir(exist_ok=True, parents=True)
    path.write_text(text_naming(file))
    return path


def value_in(module: ModuleOp) -> Any:
    (op,) = (op for op in module.walk() if isinstance(op, ConstantOp))
    return constant_value(op.output)


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory, which holds the file that texts elsewhere name."""
    save_model(tmp_path / "cwd" / "m.onnx")
    monkeypatch.chdir(tmp_path / "cwd")
    return tmp_path / "cwd"


def test_own_folder_and_what_is_in_it(tmp_path: Path) -> None:
    save_model(tmp_path / "a" / "m.onnx")
    save_model(tmp_path / "a" / "b" / "n.onnx")
    names = ["m.onnx", "b/n.onnx", "b/../m.onnx", str(tmp_path / "a" / "m.onnx"), "../a/m.onnx"]
    for name in names:
        text = write_text(tmp_path / "a" / "t.mlir", name)
        assert (value_in(load_module(text)) == W).all(), name


@pytest.mark.parametrize("name", ["../out/m.onnx", "{tmp}/out/m.onnx", "link.onnx", "folder/m.onnx"])
def test_other_folders_only_when_they_are_named(tmp_path: Path, name: str) -> None:
    save_model(tmp_path / "out" / "m.onnx")
    text = write_text(tmp_path / "a" / "t.mlir", name.format(tmp=tmp_path))
    (tmp_path / "a" / "link.onnx").symlink_to(tmp_path / "out" / "m.onnx")
    (tmp_path / "a" / "folder").symlink_to(tmp_path / "out")
    with pytest.raises(ModelError, match=r"outside the folders that may be read; --weights-dir") as caught:
        value_in(load_module(text))
    assert "\n" not in str(caught.value)
    with pytest.raises(ModelError, match="outside the folders"):
        compile_model(text, cache=False)
    assert (value_in(load_module(text, [tmp_path / "out"])) == W).all()
    model = compile_model(text, cache=False, external_data_dirs=(str(tmp_path / "out"),))
    np.testing.assert_array_equal(next(iter(model.run({"arg0": W}).values())), W + W)


def test_working_directory_is_nothing_to_a_file_elsewhere(tmp_path: Path) -> None:
    text = write_text(tmp_path / "a" / "t.mlir", "m.onnx")
    with pytest.raises(ModelError, match="m.onnx, which is not there"):
        value_in(load_module(text))


def test_hard_links_in_the_own_folder_are_refused(tmp_path: Path) -> None:
    text = write_text(tmp_path / "a" / "t.mlir", "m.onnx")
    os.link(save_model(tmp_path / "out" / "n.onnx"), tmp_path / "a" / "m.onnx")
    with pytest.raises(ModelError, match="which is a hard link"):
        value_in(load_module(text))
    assert (value_in(load_module(text, [tmp_path / "a" / ".." / "a"])) == W).all()


@pytest.mark.parametrize("kind", ["fifo", "folder"])
def test_what_is_no_regular_file_is_refused(tmp_path: Path, kind: str) -> None:
    text = write_text(tmp_path / "a" / "t.mlir", "thing")
    (os.mkfifo if kind == "fifo" else os.mkdir)(tmp_path / "a" / "thing")
    with pytest.raises(ModelError, match="not a regular file"):
        value_in(load_module(text))


@pytest.mark.parametrize("name", ["", "a" * 300, "a/" * 3000])
def test_impossible_names(tmp_path: Path, name: str) -> None:
    with pytest.raises(ModelError) as caught:
        value_in(load_module(write_text(tmp_path / "a" / "t.mlir", name)))
    assert "\n" not in str(caught.value)


def test_text_that_is_no_file_may_read_the_working_directory(tmp_path: Path, elsewhere: Path) -> None:
    assert (value_in(parse_module(text_naming("m.onnx"))) == W).all()
    assert (value_in(parse_module(text_naming(str(elsewhere / "m.onnx")))) == W).all()
    save_model(tmp_path / "out" / "m2.onnx")
    for name in ("../out/m2.onnx", str(tmp_path / "out" / "m2.onnx")):
        with pytest.raises(ModelError, match="outside the folders"):
            value_in(parse_module(text_naming(name)))
        with weights_source(tmp_path / "out"):
            module = parse_module(text_naming(name))
        assert (value_in(module) == W).all()


def opt(*args: object, data: bytes = b"") -> tuple[int, bytes, str]:
    code, out, err = run_command(Command("onnxloom-opt", tuple(map(str, args))), data)
    return code, out, err.decode()


def test_pipe_of_a_model_given_by_absolute_path(tmp_path: Path, elsewhere: Path) -> None:
    """Text passes without its data; where they are needed, the error names the option that allows it."""
    inside, outside = elsewhere / "m.onnx", save_model(tmp_path / "out" / "far.onnx")
    for path, options in ((inside, ()), (outside, ("--weights-dir", outside.parent))):
        text = text_naming(str(path)).encode()
        assert opt(data=opt(data=text)[1])[0] == 0
        assert opt("-t", "onnx", *options, data=text)[0] == 0
    code, _, error = opt("-t", "onnx", data=text_naming(str(outside)).encode())
    assert code == 1
    assert error.count("\n") == 1
    assert "--weights-dir" in error
