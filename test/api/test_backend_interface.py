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
