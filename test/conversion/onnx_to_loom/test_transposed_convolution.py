"""Compiled transposed convolutions against onnxruntime without optimizations.

All cases are nodes of one model, so that their kernels are compiled in one go.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import onnxruntime as ort
import pytest
from onnx import TensorProto, helper, numpy_helper

import onnxloom
from onnxloom.dialects.loom.conv_space import Window
from onnxloom.dialects.loom.transposed_space import transposed_places

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Case:
    """`[batch, channels, *sizes]` under weights `[channels, rows, *kernel]`."""

    sizes: tuple[int, ...]
    kernel: tuple[int, ...]
    channels: int = 4
    rows: int = 3
    batch: int = 1
    attributes: dict[str, Any] = field(default_factory=dict)
    bias: bool = True


CASES = [
    Case((5,), (3,)),
    Case((5,), (4,), attributes={"strides": [3], "pads": [1, 2], "dilations": [2]}),
    Case((4, 5), (2, 2), attributes={"strides": [2, 2]}, batch=2),
    Case((4, 5), (3, 3), attributes={"strides": [2, 1], "pads": [1, 1, 1, 1], "output_padding": [1, 0]}),
    Case((4, 5), (3, 2), attributes={"group": 2}, batch=2, bias=False),
    Case((4, 5), (3, 3), attributes={"dilations": [2, 2], "pads": [2, 1, 0, 3]}),
    Case((4, 5), (3, 3), attributes={"auto_pad": "SAME_UPPER", "strides": [2, 2]}),
    Case((4, 5), (3, 3), attributes={"auto_pad": "SAME_LOWER", "strides": [2, 2]}),
    Case((4, 5), (3, 3), attributes={"auto_pad": "VALID"}),
    Case((4, 5), (3, 3), attributes={"strides": [3, 2], "output_shape": [10, 8]}),
    Case((3, 2, 4), (2, 3, 2), attributes={"strides": [1, 2, 2]}),
    Case((1, 1), (1, 1)),
]


def model_of(cases: list[Case], dynamic: bool) -> tuple[onnx.ModelProto, dict[str, Array]]:
    rng = np.random.default_rng(0)
    nodes: list[onnx.NodeProto] = []
    weights: list[onnx.TensorProto] = []
    feeds: dict[str, Array] = {}
    inputs: list[onnx.ValueInfoProto] = []
    outputs: list[onnx.ValueInfoProto] = []
    for i, case in enumerate(cases):
        x = rng.standard_normal((case.batch, case.channels, *case.sizes)).astype(np.float32)
        w = rng.standard_normal((case.channels, case.rows, *case.kernel)).astype(np.float32)
        names = [f"x{i}", f"w{i}"]
        weights.append(numpy_helper.from_array(w, f"w{i}"))
        if case.bias:
            b = rng.standard_normal(case.rows * case.attributes.get("group", 1)).astype(np.float32)
            names.append(f"b{i}")
            weights.append(numpy_helper.from_array(b, f"b{i}"))
        feeds[f"x{i}"] = x
        nodes.append(helper.make_node("ConvTranspose", names, [f"y{i}"], **case.attributes))
        dims: list[str | int] = [f"d{i}_{axis}" for axis in range(x.ndim)] if dynamic else list(x.shape)
        dims[1] = case.channels
        inputs.append(helper.make_tensor_value_info(f"x{i}", TensorProto.FLOAT, dims))
        outputs.append(helper.make_tensor_value_info(f"y{i}", TensorProto.FLOAT, None))
    graph = helper.make_graph(nodes, "transposed", inputs, outputs, weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=9), feeds


@pytest.mark.parametrize("dynamic", [False, True], ids=["static", "dynamic"])
def test_transposed_convolutions_match(dynamic: bool) -> None:
    model, feeds = model_of(CASES, dynamic)
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    compiled = onnxloom.compile(model)
    got = compiled.run(feeds).values()
    for case, want, value in zip(CASES, session.run(None, feeds), got, strict=True):
        assert value.shape == np.asarray(want).shape, case
        np.testing.assert_allclose(value, np.asarray(want), rtol=1e-4, atol=1e-5, err_msg=str(case))
    assert compiled.host_steps == 0


def test_negative_result_dims_are_refused() -> None:
    with pytest.raises(ValueError, match="would have -1 results"):
        transposed_places([1], Window((1,), (1,), (1,), (1, 1)), (0,), ())
