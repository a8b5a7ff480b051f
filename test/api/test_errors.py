"""Every bad input gives one typed line that names the culprit, what was expected, and what was given."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import helper
from text_models import model_of

import onnxloom

GRAPH = "agraph (float[n, 3] x, float[n, k] b) => (float[n, 3] y) { s = ReduceSum(b) y = Add(x, s) }"


@pytest.fixture(scope="module")
def session() -> onnxloom.InferenceSession:
    return onnxloom.InferenceSession(model_of(GRAPH))


def zeros(*shape: int, dtype: Any = np.float32) -> np.ndarray[Any, Any]:
    return np.zeros(shape, dtype)


@pytest.mark.parametrize(
    ("feeds", "words"),
    [
        ({"x": zeros(2, 3)}, ["'b'", "missing", "'x'"]),
        ({"x": zeros(2, 3), "b": zeros(2, 1), "c": zeros(1)}, ["'c'", "'x'", "'b'"]),
        ({"x": zeros(2, 3, dtype=np.float64), "b": zeros(2, 1)}, ["'x'", "tensor(float)", "float64"]),
        ({"x": zeros(2, 3, dtype=np.int32), "b": zeros(2, 1)}, ["'x'", "tensor(float)", "int32"]),
        ({"x": zeros(2, 3, 1), "b": zeros(2, 1)}, ["'x'", "rank 2", "rank 3", "[n, 3]"]),
        ({"x": zeros(2, 4), "b": zeros(2, 1)}, ["'x'", "dim 1", "3", "[2, 4]"]),
        ({"x": zeros(2, 3), "b": zeros(5, 1)}, ["'b'", "n", "5", "2"]),
        ({"x": "text", "b": zeros(2, 1)}, ["'x'", "str"]),
    ],
)
def test_input_errors(session: onnxloom.InferenceSession, feeds: dict[str, Any], words: list[str]) -> None:
    with pytest.raises(onnxloom.InputError) as raised:
        session.run(None, feeds)
    message = str(raised.value)
    assert "\n" not in message
    for word in words:
        assert word in message


def test_a_good_call_after_a_bad_one(session: onnxloom.InferenceSession) -> None:
    with pytest.raises(onnxloom.InputError):
        session.run(None, {"x": zeros(2, 4), "b": zeros(2, 1)})
    assert session.run(None, {"x": zeros(2, 3), "b": zeros(2, 1)})[0].shape == (2, 3)


def test_unknown_output_name(session: onnxloom.InferenceSession) -> None:
    with pytest.raises(onnxloom.InputError, match="'z'.*y"):
        session.run(["z"], {"x": zeros(2, 3), "b": zeros(2, 1)})


def test_positional_inputs_are_counted(session: onnxloom.InferenceSession) -> None:
    with pytest.raises(onnxloom.InputError, match="2 inputs.*got 1"):
        session.model(zeros(2, 3))


def test_an_unknown_op_is_named_before_anything_runs() -> None:
    graph = "agraph (float[N] x) => (float[N] y) { a = Relu(x) [n1] y = my.domain.Mystery(a) }"
    with pytest.raises(onnxloom.UnsupportedOpError) as raised:
        onnxloom.InferenceSession(model_of(graph))
    for word in ("Mystery", "my.domain", "n1"):
        assert word in str(raised.value)


@pytest.mark.parametrize("data", [b"", b"garbage", bytes(range(256)) * 10])
def test_damaged_files(data: bytes, tmp_path: Path) -> None:
    path = tmp_path / "bad.onnx"
    path.write_bytes(data)
    with pytest.raises(onnxloom.ModelError) as raised:
        onnxloom.InferenceSession(path)
    assert "bad.onnx" in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(onnxloom.ModelError, match="absent.onnx"):
        onnxloom.InferenceSession(tmp_path / "absent.onnx")
    with pytest.raises(onnxloom.ModelError, match="absent.mlir"):
        onnxloom.compile(tmp_path / "absent.mlir")


def test_bad_ir_text_names_file_and_line(tmp_path: Path) -> None:
    path = tmp_path / "bad.mlir"
    path.write_text("builtin.module {\n  nonsense\n}\n")
    with pytest.raises(onnxloom.ModelError) as raised:
        onnxloom.compile(path)
    assert "bad.mlir:2" in str(raised.value)
    assert "\n" not in str(raised.value)


def test_an_op_that_fails_while_running_is_named() -> None:
    graph = "agraph (float[N] x, int64[1] s) => (float[M] y) { [cut] y = Reshape(x, s) }"
    model = onnxloom.compile(model_of(graph))
    with pytest.raises(onnxloom.ModelError, match=r"(?i)reshape"):
        model(zeros(6), np.array([4]))


@pytest.mark.parametrize("feeds", [None, [zeros(2, 3)], "x", 5, zeros(2, 3)])
def test_inputs_that_are_no_dict(session: onnxloom.InferenceSession, feeds: Any) -> None:
    with pytest.raises(onnxloom.InputError, match="expected a dict of arrays by input name"):
        session.run(None, feeds)
    with pytest.raises(onnxloom.InputError, match="expected a dict of arrays by input name"):
        session.model.run(feeds)


@pytest.mark.parametrize(
    ("names", "message"),
    [
        ("y", "'y'; expected a list of names"),
        (5, "5; expected a list of names"),
        ([None], "no output None"),
        ([1], "no output 1"),
    ],
)
def test_output_names_that_are_no_names(session: onnxloom.InferenceSession, names: Any, message: str) -> None:
    with pytest.raises(onnxloom.InputError, match=message):
        session.run(names, {"x": zeros(2, 3), "b": zeros(2, 1)})


@pytest.mark.parametrize("source", [None, 5, [b"x"], object()])
def test_what_is_no_model_is_named(source: Any) -> None:
    with pytest.raises(onnxloom.ModelError, match=f"got {type(source).__name__}; expected a path"):
        onnxloom.compile(source)


def test_line_breaks_and_escapes_in_names_are_written_out() -> None:
    node = helper.make_node("Foo", ["x"], ["y"], name="a\x1b[31m", domain="b\nc\u2028")
    info = [helper.make_tensor_value_info(name, 1, [1]) for name in "xy"]
    graph = helper.make_graph([node], "g", info[:1], info[1:])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("b\nc\u2028", 1)])
    with pytest.raises(onnxloom.UnsupportedOpError) as raised:
        onnxloom.compile(model)
    assert r"b\nc\u2028" in str(raised.value)
    assert str(raised.value).isprintable()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"opt_level": 9}, "opt_level is 9; expected 0, 1, 2 or 3"),
        ({"opt_level": None}, "opt_level is None"),
        ({"disabled_kinds": (None,)}, "disabled_kinds holds None; expected texts"),
        ({"external_data_dirs": (1,)}, "external_data_dirs holds 1; expected texts"),
        ({"progress": 5}, "progress is a int; expected a function"),
    ],
)
def test_options_without_such_a_value(options: dict[str, Any], message: str) -> None:
    with pytest.raises(onnxloom.InputError, match=message):
        onnxloom.compile(model_of(GRAPH), **options)


def test_one_text_or_none_stands_for_a_list_of_them() -> None:
    model = onnxloom.compile(
        model_of(GRAPH), cache=False, disabled_kinds="onnx.elementwise", external_data_dirs=None
    )
    assert model.artifact.fused == ()


def test_session_options_of_the_wrong_kind() -> None:
    with pytest.raises(onnxloom.InputError, match="sess_options is a int; expected SessionOptions"):
        onnxloom.InferenceSession(model_of(GRAPH), 5)  # pyright: ignore[reportArgumentType]


def test_none_for_an_array_is_named(session: onnxloom.InferenceSession) -> None:
    with pytest.raises(onnxloom.InputError, match=r"input 'x' is None; expected tensor\(float\) \[n, 3\]"):
        session.run(None, {"x": None, "b": zeros(2, 1)})
