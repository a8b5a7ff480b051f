"""Kernels that Numba compiles from their Python form compute what those from LLVM IR compute."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import pytest
from onnx import helper, numpy_helper

import onnxloom
from onnxloom.errors import InputError

Array = npt.NDArray[Any]


def model() -> tuple[onnx.ModelProto, dict[str, Array]]:
    """A product, a softmax, and elementwise ops on floats of both widths, integers and booleans."""
    rng = np.random.default_rng(0)
    feeds = {
        "x": rng.standard_normal((2, 9, 8)).astype(np.float32),
        "half": rng.standard_normal((5, 7)).astype(np.float16),
        "numbers": rng.integers(-9, 9, (5, 7)).astype(np.int8),
        "flags": rng.integers(0, 2, (5, 7)).astype(np.bool_),
    }
    weights = {"m": rng.standard_normal((8, 6)).astype(np.float32)}
    nodes = [
        helper.make_node("MatMul", ["x", "m"], ["product"]),
        helper.make_node("Softmax", ["product"], ["y0"], axis=-1),
        helper.make_node("Sigmoid", ["half"], ["y1"]),
        helper.make_node("Neg", ["numbers"], ["negative"]),
        helper.make_node("Where", ["flags", "numbers", "negative"], ["y2"]),
        helper.make_node("Not", ["flags"], ["y3"]),
    ]
    inputs = [
        helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(x.dtype), x.shape)
        for n, x in feeds.items()
    ]
    outputs = [helper.make_empty_tensor_value_info(f"y{i}") for i in range(4)]
    held = [numpy_helper.from_array(x, name) for name, x in weights.items()]
    graph = helper.make_graph(nodes, "numba", inputs, outputs, held)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10), feeds


def test_results_are_those_of_the_other_emitter() -> None:
    proto, feeds = model()
    ours = onnxloom.compile(proto, cache=False).run(feeds)
    numbas = onnxloom.compile(proto, jit="numba", threads=2).run(feeds)
    for name, want in ours.items():
        got = numbas[name]
        assert got.dtype == want.dtype and got.shape == want.shape
        if want.dtype.kind == "f":
            np.testing.assert_allclose(got, want, rtol=2e-3 if want.dtype == np.float16 else 1e-5, atol=1e-6)
        else:
            np.testing.assert_array_equal(got, want)


def test_a_file_with_its_kernels_runs_them_whole_on_any_number_of_threads(tmp_path: Path) -> None:
    """Such a kernel does all of its tasks in each call."""
    compiled = onnxloom.compile(model()[0], jit="numba")
    assert compiled.artifact.works == {}
    compiled.save(tmp_path / "model.loom")
    loaded = onnxloom.load(tmp_path / "model.loom", threads=2)
    assert loaded.artifact.objects and not loaded.artifact.works


def test_another_compiler_is_refused() -> None:
    with pytest.raises(InputError, match="jit is 'gcc'"):
        onnxloom.compile(model()[0], jit="gcc")
