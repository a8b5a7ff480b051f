"""A model reads weights from its own folder only, unless told otherwise, and only what it may."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from onnx import ModelProto, TensorProto, helper

from onnxloom.conversion.onnx_import import import_model
from onnxloom.dialects import onnx
from onnxloom.errors import ModelError

WEIGHTS = np.arange(300, dtype=np.float32)


def model_with(**entries: str) -> ModelProto:
    weight = TensorProto(
        name="w", data_type=TensorProto.FLOAT, dims=[300], data_location=TensorProto.EXTERNAL
    )
    for key, value in entries.items():
        weight.external_data.add(key=key, value=value)
    graph = helper.make_graph(
        [helper.make_node("Add", ["x", "w"], ["y"])],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [300])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [300])],
        [weight],
    )
    return helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 17)])


def write(folder: Path, **entries: str) -> Path:
    folder.mkdir(exist_ok=True)
    path = folder / "m.onnx"
    path.write_bytes(model_with(**entries).SerializeToString())
    return path


def weight_of(path: Path | bytes, *dirs: Path) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
    module = import_model(path, external_data_dirs=dirs)
    constants = [op for op in module.walk() if isinstance(op, onnx.ConstantOp)]
    array = onnx.constant_value(constants[0].output)
    assert array is not None
    return array


def refusal(path: Path | bytes, *dirs: Path) -> str:
    with pytest.raises(ModelError) as caught:
        weight_of(path, *dirs)
    assert "\n" not in str(caught.value)
    assert "initializer 'w'" in str(caught.value)
    return str(caught.value)


def test_file_beside_the_model_is_mapped(tmp_path: Path) -> None:
    (tmp_path / "w.bin").write_bytes(WEIGHTS.tobytes())
    array = weight_of(write(tmp_path, location="w.bin"))
    np.testing.assert_array_equal(array, WEIGHTS)
    assert not array.flags.writeable
    assert not array.flags.owndata


def test_offset_and_length_select_the_bytes(tmp_path: Path) -> None:
    (tmp_path / "w.bin").write_bytes(bytes(64) + WEIGHTS.tobytes() + bytes(8))
    path = write(tmp_path, location="w.bin", offset="64", length="1200")
    np.testing.assert_array_equal(weight_of(path), WEIGHTS)


def test_file_in_a_folder_below_is_accepted(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "w.bin").write_bytes(WEIGHTS.tobytes())
    np.testing.assert_array_equal(weight_of(write(tmp_path, location="data/../data/w.bin")), WEIGHTS)


def test_symbolic_link_to_the_model_leads_to_the_folder_of_its_target(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "w.bin").write_bytes(WEIGHTS.tobytes())
    target = write(tmp_path / "real", location="w.bin")
    link = tmp_path / "link.onnx"
    link.symlink_to(target)
    np.testing.assert_array_equal(weight_of(link), WEIGHTS)


def test_symbolic_link_inside_the_folder_is_followed(tmp_path: Path) -> None:
    (tmp_path / "blob").write_bytes(WEIGHTS.tobytes())
    (tmp_path / "w.bin").symlink_to("blob")
    np.testing.assert_array_equal(weight_of(write(tmp_path, location="w.bin")), WEIGHTS)


@pytest.mark.parametrize("location", ["../w.bin", "data/../../w.bin"])
def test_parent_folder_is_refused_unless_allowed(tmp_path: Path, location: str) -> None:
    (tmp_path / "w.bin").write_bytes(WEIGHTS.tobytes())
    path = write(tmp_path / "model", location=location)
    (tmp_path / "model" / "data").mkdir()
    assert "external_data_dirs=" in refusal(path)
    np.testing.assert_array_equal(weight_of(path, tmp_path), WEIGHTS)


def test_absolute_path_is_refused_unless_allowed(tmp_path: Path) -> None:
    (tmp_path / "w.bin").write_bytes(WEIGHTS.tobytes())
    path = write(tmp_path / "model", location=str(tmp_path / "w.bin"))
    message = refusal(path)
    assert "absolute" in message and "external_data_dirs=" in message
    np.testing.assert_array_equal(weight_of(path, tmp_path), WEIGHTS)


def test_symbolic_link_out_of_the_folder_is_refused_unless_allowed(tmp_path: Path) -> None:
    (tmp_path / "w.bin").write_bytes(WEIGHTS.tobytes())
    path = write(tmp_path / "model", location="w.bin")
    (tmp_path / "model" / "w.bin").symlink_to(tmp_path / "w.bin")
    assert "external_data_dirs=" in refusal(path)
    np.testing.assert_array_equal(weight_of(path, tmp_path), WEIGHTS)


def test_hard_link_is_refused_unless_allowed(tmp_path: Path) -> None:
    (tmp_path / "secret").write_bytes(WEIGHTS.tobytes())
    path = write(tmp_path / "model", location="w.bin")
    os.link(tmp_path / "secret", tmp_path / "model" / "w.bin")
    message = refusal(path)
    assert "hard link" in message and "external_data_dirs=" in message
    np.testing.assert_array_equal(weight_of(path, tmp_path / "model"), WEIGHTS)


def test_model_that_is_not_a_file_needs_a_folder(tmp_path: Path) -> None:
    (tmp_path / "w.bin").write_bytes(WEIGHTS.tobytes())
    data = model_with(location="w.bin").SerializeToString()
    assert "external_data_dirs=" in refusal(data)
    np.testing.assert_array_equal(weight_of(data, tmp_path), WEIGHTS)


@pytest.mark.parametrize(
    ("entries", "expected"),
    [
        ({"location": "missing.bin"}, "No such file"),
        ({"location": "."}, "not a regular file"),
        ({"location": ""}, "without a location"),
        ({}, "without a location"),
        ({"location": "w\0.bin"}, "without a location"),
        ({"location": "w.bin", "offset": "4"}, "needs bytes 4 to 1204"),
        ({"location": "w.bin", "offset": "-4"}, "external offset '-4'"),
        ({"location": "w.bin", "offset": "9" * 30}, "external offset"),
        ({"location": "w.bin", "length": "8"}, "external length 8; expected 1200"),
        ({"location": "w.bin", "length": "x"}, "external length 'x'"),
    ],
)
def test_wrong_entries_are_named(tmp_path: Path, entries: dict[str, str], expected: str) -> None:
    (tmp_path / "w.bin").write_bytes(WEIGHTS.tobytes())
    assert expected in refusal(write(tmp_path, **entries))


def test_named_pipe_does_not_block(tmp_path: Path) -> None:
    path = write(tmp_path, location="pipe")
    os.mkfifo(tmp_path / "pipe")
    assert "not a regular file" in refusal(path)


def test_a_location_longer_than_any_path_is_named(tmp_path: Path) -> None:
    assert "location of 5000 characters" in refusal(write(tmp_path, location="x" * 5000))
    assert "File name too long" in refusal(write(tmp_path, location="x" * 300))


def test_a_symbolic_link_to_itself_is_named(tmp_path: Path) -> None:
    (tmp_path / "w.bin").symlink_to("w.bin")
    assert "symbolic link" in refusal(write(tmp_path, location="w.bin"))


def test_one_folder_may_stand_for_a_list(tmp_path: Path) -> None:
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "w.bin").write_bytes(WEIGHTS.tobytes())
    path = write(tmp_path / "model", location="w.bin")
    module = import_model(path, external_data_dirs=str(tmp_path / "more"))
    assert any(isinstance(op, onnx.ConstantOp) for op in module.walk())
