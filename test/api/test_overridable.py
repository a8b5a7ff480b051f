"""An initializer that is an input too is a default value: a constant, unless the caller gives another."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest
from onnx import ModelProto, helper, numpy_helper

import onnxloom
from onnxloom.conversion.onnx_export import export_model
from onnxloom.conversion.onnx_import import import_model
from onnxloom.dialects.onnx.text import parse_module, print_module

X = np.arange(6, dtype=np.float32).reshape(2, 3)
B = np.array([1, 2, 3], np.float32)


def model(ir_version: int = 10) -> ModelProto:
    """`shape` decides types of later values, so it may not be believed when it is overridden."""
    nodes = [helper.make_node("Add", ["x", "b"], ["s"]), helper.make_node("Reshape", ["s", "shape"], ["y"])]
    inputs = [
        helper.make_tensor_value_info("x", 1, ["n", 3]),
        helper.make_tensor_value_info("b", 1, ["k"]),
        helper.make_tensor_value_info("shape", 7, [1]),
    ]
    initializers = [numpy_helper.from_array(B, "b"), numpy_helper.from_array(np.array([-1]), "shape")]
    graph = helper.make_graph(nodes, "g", inputs, [helper.make_tensor_value_info("y", 1, None)], initializers)
    return helper.make_model(graph, ir_version=ir_version, opset_imports=[helper.make_opsetid("", 21)])


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"b": np.array([5], np.float32)},
        {"shape": np.array([6])},
        {"b": np.array([7, 8, 9], np.float32), "shape": np.array([6])},
    ],
)
def test_results_are_those_of_onnxruntime(given: dict[str, Any]) -> None:
    proto = model()
    other = onnxruntime.InferenceSession(proto.SerializeToString(), providers=["CPUExecutionProvider"])
    session = onnxloom.InferenceSession(proto.SerializeToString())
    (expected,) = other.run(None, {"x": X, **given})
    for _ in range(2):
        (found,) = session.run(None, {"x": X, **given})
        np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(session.run(["y"], {"x": X})[0], (X + B).reshape(-1))
    np.testing.assert_array_equal(session.model.run({"x": X, **given})["y"], expected)


def test_they_are_no_inputs_but_listed() -> None:
    session = onnxloom.InferenceSession(model())
    assert [arg.name for arg in session.get_inputs()] == ["x"]
    found = [(arg.name, arg.type, arg.shape) for arg in session.get_overridable_initializers()]
    assert found == [("b", "tensor(float)", [None]), ("shape", "tensor(int64)", [1])]


def test_the_cache_keeps_them_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ONNXLOOM_CACHE_DIR", str(tmp_path))
    data = model().SerializeToString()
    for _ in range(2):
        compiled = onnxloom.compile(data)
        np.testing.assert_array_equal(compiled.run({"x": X})["y"], (X + B).reshape(-1))
        np.testing.assert_array_equal(compiled.run({"x": X, "b": B * 2})["y"], (X + B * 2).reshape(-1))


def test_wrong_arrays_are_named() -> None:
    session = onnxloom.InferenceSession(model())
    with pytest.raises(onnxloom.InputError, match="'b'.*float64"):
        session.run(None, {"x": X, "b": B.astype(np.float64)})
    with pytest.raises(onnxloom.InputError, match="'x' is missing"):
        session.run(None, {"b": B})


def test_before_ir_version_4_they_are_constants() -> None:
    session = onnxloom.InferenceSession(model(ir_version=3))
    assert session.get_overridable_initializers() == []
    with pytest.raises(onnxloom.InputError, match="no input 'b'"):
        session.run(None, {"x": X, "b": B})


def test_text_and_export_keep_them() -> None:
    stream = io.StringIO()
    print_module(import_model(model()), stream)
    module = parse_module(stream.getvalue())
    exported = export_model(module)
    assert [info.name for info in exported.graph.input] == ["x", "b", "shape"]
    (dim,) = exported.graph.input[1].type.tensor_type.shape.dim
    assert not dim.HasField("dim_value")  # the type of the input, not that of its default
    compiled = onnxloom.compile(exported)
    np.testing.assert_array_equal(compiled.run({"x": X, "b": B * 2})["y"], (X + B * 2).reshape(-1))


def test_ir_says_that_it_cannot_be_overridden() -> None:
    compiled = onnxloom.compile(import_model(model()))
    np.testing.assert_array_equal(compiled.run({"x": X})["y"], (X + B).reshape(-1))
    with pytest.raises(onnxloom.InputError, match="'b' has a default value .* from an ONNX file"):
        compiled.run({"x": X, "b": B})
