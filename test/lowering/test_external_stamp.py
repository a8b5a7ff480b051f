"""A cached model is used again while the files of its external data are the same; no other file matters."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import onnx
import onnx.parser
import pytest
from onnx import TensorProto

import onnxloom
from onnxloom.lowering.external_stamp import external_stamp


def model_bytes(location: str, length: int = 3) -> bytes:
    model = onnx.parser.parse_model(
        '<ir_version: 10, opset_import: ["" : 21]> agraph (float[3] x) => (float[3] y) { y = Add(x, w) }'
    )
    weight = TensorProto(name="w", data_type=1, dims=[length], data_location=TensorProto.EXTERNAL)
    weight.external_data.add(key="location", value=location)
    model.graph.initializer.append(weight)
    return model.SerializeToString()


def save(folder: Path, values: list[float], location: str = "w.bin") -> Path:
    np.array(values, np.float32).tofile(folder / location)
    path = folder / "m.onnx"
    path.write_bytes(model_bytes(location))
    return path


def run(path: Path) -> list[float]:
    model = onnxloom.compile(path)
    return model(np.zeros(3, np.float32))[0].tolist()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ONNXLOOM_CACHE_DIR", str(tmp_path / "cache"))
    (tmp_path / "model").mkdir()
    return tmp_path / "model"


def test_other_files_do_not_matter(folder: Path) -> None:
    path = save(folder, [1, 2, 3])
    assert run(path) == [1, 2, 3]
    (folder / "dangling").symlink_to("nothing")
    (folder / "other").write_text("x")
    assert run(path) == [1, 2, 3]
    data = path.read_bytes()
    stamp = external_stamp(data, [str(folder)])
    (folder / "other").write_text("changed")
    assert external_stamp(data, [str(folder)]) == stamp


@pytest.mark.parametrize("location", ["w.bin", "w" * 200, "ü.bin"])
def test_changed_weights_are_read_again(folder: Path, location: str) -> None:
    path = save(folder, [1, 2, 3], location)
    assert run(path) == [1, 2, 3]
    before = os.stat(folder / location)
    save(folder, [4, 5, 6], location)
    os.utime(folder / location, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert run(path) == [4, 5, 6]


def test_missing_weights_are_named(folder: Path) -> None:
    path = save(folder, [1, 2, 3])
    assert run(path) == [1, 2, 3]
    (folder / "w.bin").unlink()
    with pytest.raises(onnxloom.ModelError, match="initializer 'w' needs the file 'w.bin': No such file"):
        run(path)


def test_a_model_without_external_data_has_an_empty_stamp() -> None:
    assert external_stamp(b"no location here", ["/"]) == ""


@pytest.mark.parametrize("rest", [b"", b"\x1a\x01x", b"\x12\xff\xff\x7f", b"\x12\x05abc"])
def test_what_does_not_say_its_location_is_not_cached(rest: bytes) -> None:
    assert external_stamp(b"\x0a\x08location" + rest, ["/"]) is None


def test_a_pipe_is_not_waited_for(folder: Path) -> None:
    os.mkfifo(folder / "m.onnx")
    with pytest.raises(onnxloom.ModelError, match="not a regular file"):
        onnxloom.compile(folder / "m.onnx")


def test_weights_in_a_file_as_large_as_the_model_are_not_taken_for_a_part_of_it(folder: Path) -> None:
    model = onnx.load_from_string(model_bytes("w.bin", length=1 << 12))
    model.graph.input[0].type.tensor_type.shape.dim[0].dim_value = 1 << 12
    model.graph.output[0].type.tensor_type.shape.dim[0].dim_value = 1 << 12
    values = np.arange(1 << 12, dtype=np.float32)
    values.tofile(folder / "w.bin")
    path = folder / "m.onnx"
    while (missing := values.nbytes - model.ByteSize()) > 0:
        model.doc_string += "a" * max(missing - 4, 1)
    path.write_bytes(model.SerializeToString())
    assert path.stat().st_size == values.nbytes
    for _ in range(2):  # compiled, then from the cache
        (y,) = onnxloom.compile(path)(np.zeros(1 << 12, np.float32))
        np.testing.assert_array_equal(y, values)
