"""The standard's backend interface works without the conformance suite around it."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import helper
from text_models import model_of

import onnxloom
import onnxloom.backend as backend

X = np.array([[1, -2], [3, -4]], np.float32)


def test_one_node_runs() -> None:
    (y,) = backend.run_node(helper.make_node("Relu", ["x"], ["y"]), [X])
    np.testing.assert_array_equal(y, np.maximum(X, 0))


def test_a_node_of_an_older_opset_means_what_it_meant_there() -> None:
    node = helper.make_node("Softmax", ["x"], ["y"])
    x = np.arange(8, dtype=np.float32).reshape(2, 2, 2)
    (old,) = backend.run_node(node, [x], opset_version=11)
    flat = np.exp(x.reshape(2, 4) - x.reshape(2, 4).max(1, keepdims=True))
    np.testing.assert_allclose(old, (flat / flat.sum(1, keepdims=True)).reshape(2, 2, 2), rtol=1e-6)


def test_outputs_are_reached_by_position_and_name() -> None:
    model = model_of("agraph (float[N, 2] x) => (float[N, 2] a, float[N, 2] b) { a = Relu(x) b = Neg(x) }")
    found = backend.prepare(model, "CPU", opt_level=0).run({"x": X})
    np.testing.assert_array_equal(found.b, -X)  # pyright: ignore[reportAttributeAccessIssue]
    np.testing.assert_array_equal(found[0], np.maximum(X, 0))
    np.testing.assert_array_equal(backend.run_model(model, [X])[1], -X)


def test_only_the_cpu_is_supported() -> None:
    assert backend.supports_device("CPU:0")
    assert not backend.supports_device("CUDA")


def test_a_model_nobody_can_run_is_a_typed_error() -> None:
    with pytest.raises(onnxloom.UnsupportedOpError, match="Mystery"):
        backend.prepare(model_of("agraph (float[N] x) => (float[N] y) { y = my.domain.Mystery(x) }"))


def test_a_node_may_read_a_value_twice_and_leave_inputs_out() -> None:
    (twice,) = backend.run_node(helper.make_node("Add", ["x", "x"], ["y"]), [X, X])
    np.testing.assert_array_equal(twice, X + X)
    (once,) = backend.run_node(helper.make_node("Add", ["x", "x"], ["y"]), [X])
    np.testing.assert_array_equal(once, X + X)
    clip = helper.make_node("Clip", ["x", "", "high"], ["y"])
    for inputs in ([X, None, np.float32(0)], [X, np.float32(0)]):
        (clipped,) = backend.run_node(clip, inputs)
        np.testing.assert_array_equal(clipped, np.minimum(X, 0))


@pytest.mark.filterwarnings("ignore::onnxloom.HostStepWarning")
def test_a_node_takes_strings() -> None:
    node = helper.make_node("StringConcat", ["a", "b"], ["y"])
    (y,) = backend.run_node(node, [np.array(["a"]), np.array(["b"])])
    assert y.tolist() == ["ab"]


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ([], r"Sum has 3 inputs \(x, x, z\), got 0"),
        ([X], "got 1"),
        ([X, X, X, X], "got 4"),
        ([X, None, X], "'x' of node Sum is None"),
        ([X, X + 1, X], "reads 'x' more than once; got different arrays"),
        ([X, X, np.zeros(2, "M8[s]")], "'z': dtype datetime64"),
        ([X, X, [object()]], "'z': an array of objects other than strings"),
    ],
)
def test_arrays_that_do_not_fit_the_node(inputs: list[object], message: str) -> None:
    with pytest.raises(onnxloom.InputError, match=message):
        backend.run_node(helper.make_node("Sum", ["x", "x", "z"], ["y"]), inputs)
    with pytest.raises(onnxloom.InputError, match="expected None there"):
        backend.run_node(helper.make_node("Clip", ["x", "", "high"], ["y"]), [X, X, X])


def test_another_device_is_refused() -> None:
    with pytest.raises(onnxloom.InputError, match="'CUDA'.*'CPU' only"):
        backend.prepare(model_of("agraph (float[N] x) => (float[N] y) { y = Relu(x) }"), "CUDA")


def test_what_is_no_node_or_opset_is_named() -> None:
    with pytest.raises(onnxloom.InputError, match="node is a str; expected a NodeProto"):
        backend.run_node("Relu", [X])  # pyright: ignore[reportArgumentType]
    with pytest.raises(onnxloom.InputError, match="opset_version is 'x'; expected a number"):
        backend.run_node(helper.make_node("Relu", ["x"], ["y"]), [X], opset_version="x")
