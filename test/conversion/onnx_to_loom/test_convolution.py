"""Compiled convolutions against onnxruntime without optimizations: windows, borders, groups, ranks, types.

All cases of a test are nodes of one model, so that their kernels are compiled in one go.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import onnxruntime as ort
import pytest
from onnx import helper, numpy_helper

import onnxloom

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Conv:
    """One case: `[batch, channels, *sizes]` under `outputs` kernels."""

    sizes: tuple[int, ...]
    kernel: tuple[int, ...]
    channels: int = 3
    outputs: int = 4
    batch: int = 1
    attributes: dict[str, Any] = field(default_factory=dict)
    bias: bool = True


def model_of(
    cases: list[Conv], dynamic: bool = False, dtype: Any = np.float32, rounded: bool = False
) -> tuple[onnx.ModelProto, dict[str, Array]]:
    """A model with a Conv per case; weights are constants. `rounded`: all numbers are ones that f16 has."""
    rng = np.random.default_rng(0)
    nodes: list[onnx.NodeProto] = []
    feeds: dict[str, Array] = {}
    weights: list[onnx.TensorProto] = []
    inputs: list[onnx.ValueInfoProto] = []
    outputs: list[onnx.ValueInfoProto] = []
    for i, case in enumerate(cases):
        group = case.attributes.get("group", 1)
        numbers = np.float16 if rounded else dtype
        x = rng.standard_normal((case.batch, case.channels, *case.sizes)).astype(numbers).astype(dtype)
        w = rng.standard_normal((case.outputs, case.channels // group, *case.kernel))
        w = w.astype(numbers).astype(dtype)
        names = [f"x{i}", f"w{i}"]
        weights.append(numpy_helper.from_array(w, f"w{i}"))
        if case.bias:
            names.append(f"b{i}")
            b = rng.standard_normal(case.outputs).astype(numbers).astype(dtype)
            weights.append(numpy_helper.from_array(b, f"b{i}"))
        feeds[f"x{i}"] = x
        nodes.append(helper.make_node("Conv", names, [f"y{i}"], **case.attributes))
        dims: list[str | int] = [f"d{i}_{axis}" for axis in range(x.ndim)] if dynamic else list(x.shape)
        dims[1] = case.channels
        code = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
        inputs.append(helper.make_tensor_value_info(f"x{i}", code, dims))
        outputs.append(helper.make_tensor_value_info(f"y{i}", code, None))
    graph = helper.make_graph(nodes, "convolutions", inputs, outputs, weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=9), feeds


def reference(model: onnx.ModelProto, feeds: dict[str, Array]) -> list[Array]:
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return [np.asarray(y) for y in session.run(None, feeds)]


CASES = [
    Conv((8,), (3,), attributes={"pads": [1, 1]}),
    Conv((9,), (4,), attributes={"strides": [3], "pads": [2, 1], "dilations": [2]}),
    Conv((6, 7), (3, 3)),
    Conv((6, 7), (3, 3), attributes={"pads": [1, 1, 1, 1]}, batch=2),
    Conv((6, 7), (3, 2), attributes={"pads": [0, 2, 1, 0]}),
    Conv((11, 13), (3, 3), attributes={"strides": [2, 2], "pads": [1, 1, 1, 1]}),
    Conv((11, 13), (5, 4), attributes={"strides": [2, 3], "pads": [2, 1, 2, 2], "dilations": [1, 2]}),
    Conv((20, 30), (7, 7), outputs=19, attributes={"strides": [2, 2], "pads": [3, 3, 3, 3]}),
    Conv((5, 5), (3, 3), attributes={"auto_pad": "SAME_UPPER", "strides": [2, 2]}),
    Conv((5, 6), (2, 4), attributes={"auto_pad": "SAME_LOWER"}),
    Conv((5, 6), (2, 4), attributes={"auto_pad": "VALID"}),
    Conv((9, 9), (1, 1)),
    Conv((9, 9), (1, 1), batch=2, bias=False, outputs=33, channels=7),
    Conv((9, 9), (1, 1), attributes={"strides": [2, 2]}),
    Conv((7, 7), (3, 3), channels=4, outputs=6, attributes={"group": 2, "pads": [1, 1, 1, 1]}, batch=2),
    Conv((7, 7), (3, 3), channels=4, outputs=4, attributes={"group": 4, "pads": [1, 1, 1, 1]}),
    Conv((7, 9), (3, 3), channels=4, outputs=8, attributes={"group": 4, "strides": [2, 2]}),
    Conv((40, 3), (3, 1), channels=6, outputs=6, attributes={"group": 6, "dilations": [2, 1]}),
    Conv((17, 35), (3, 3), channels=3, outputs=6, attributes={"group": 3, "pads": [1, 1, 1, 1]}, batch=2),
    Conv((9, 40), (5, 5), channels=2, outputs=2, attributes={"group": 2, "strides": [2, 2]}, bias=False),
    Conv((3, 4, 5), (2, 2, 3), channels=2, outputs=2, attributes={"group": 2, "pads": [1] * 6}),
    Conv((4, 5, 6), (2, 3, 2), attributes={"pads": [1, 0, 1, 0, 1, 1], "strides": [1, 2, 1]}),
    Conv((4, 5, 6), (3, 3, 3), attributes={"pads": [1] * 6, "dilations": [1, 1, 2]}, batch=2),
    Conv((14, 14), (3, 3), channels=20, outputs=40, attributes={"pads": [1, 1, 1, 1]}),
    Conv((60, 100), (3, 3), channels=2, outputs=9, attributes={"pads": [1, 1, 1, 1]}),
]


@pytest.mark.parametrize("dynamic", [False, True], ids=["static", "dynamic"])
def test_convolutions_match(dynamic: bool) -> None:
    model, feeds = model_of(CASES, dynamic)
    compiled = onnxloom.compile(model)
    got = compiled.run(feeds).values()
    for case, want, value in zip(CASES, reference(model, feeds), got, strict=True):
        np.testing.assert_allclose(value, want, rtol=1e-4, atol=1e-4, err_msg=str(case))
    assert compiled.host_steps == 0


def test_half_precision_sums_in_single_precision() -> None:
    model, feeds = model_of(CASES, dtype=np.float16)
    single, single_feeds = model_of(CASES, rounded=True)
    got = onnxloom.compile(model).run(feeds).values()
    for case, want, value in zip(CASES, reference(single, single_feeds), got, strict=True):
        assert value.dtype == np.float16
        np.testing.assert_allclose(value, want, rtol=6e-4, atol=1e-4, err_msg=str(case))


def test_empty_batch() -> None:
    model, feeds = model_of([Conv((6, 7), (3, 3))], dynamic=True)
    feeds["x0"] = feeds["x0"][:0]
    (got,) = onnxloom.InferenceSession(model).run(None, feeds)
    assert got.shape == (0, 4, 4, 5)


def test_nan_of_the_border_stays_out() -> None:
    model, feeds = model_of([Conv((4, 4), (3, 3), attributes={"pads": [1, 1, 1, 1]})])
    feeds["x0"][0, 0, 0, 0] = np.nan
    (got,) = onnxloom.InferenceSession(model).run(None, feeds)
    (want,) = reference(model, feeds)
    np.testing.assert_array_equal(np.isnan(got), np.isnan(want))
