"""Windows of pools that are too long by less than a stride have one place, as onnxruntime has it.

Longer ones, those over no data, and those of convolutions are refused.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnx.helper as oh
import onnxruntime
import pytest
from numerics import Array

import onnxloom
from onnxloom.conversion.onnx_import import import_model
from onnxloom.errors import ModelError, OnnxloomError
from onnxloom.lowering.evaluate_module import evaluate_module

OPS: dict[str, tuple[str, dict[str, Any]]] = {
    "max": ("MaxPool", {}),
    "average": ("AveragePool", {}),
    "average of the border too": ("AveragePool", {"count_include_pad": 1}),
    "sum of magnitudes": ("LpPool", {"p": 1}),
    "length": ("LpPool", {"p": 2}),
}

SHAPES: dict[str, tuple[list[int], dict[str, Any]]] = {
    "one dim": ([2, 5, 1], {"kernel_shape": [2], "strides": [2]}),
    "two missing": ([1, 3, 2], {"kernel_shape": [4], "strides": [3]}),
    "rows": ([2, 3, 1, 40], {"kernel_shape": [2, 2], "strides": [2, 1]}),
    "columns": ([2, 3, 40, 1], {"kernel_shape": [2, 3], "strides": [1, 3]}),
    "both": ([1, 19, 2, 1], {"kernel_shape": [3, 2], "strides": [2, 2]}),
    "gaps": ([1, 3, 4, 6], {"kernel_shape": [3, 2], "strides": [2, 2], "dilations": [2, 1]}),
    "borders": ([1, 3, 1, 9], {"kernel_shape": [5, 3], "strides": [3, 2], "pads": [1, 1, 1, 1]}),
    "volume": ([1, 2, 3, 1, 2], {"kernel_shape": [2, 2, 3], "strides": [1, 2, 2]}),
    "many taps": ([2, 3, 5, 9], {"kernel_shape": [9, 9], "strides": [5, 5]}),
    "auto_pad": ([2, 3, 1, 8], {"kernel_shape": [3, 2], "strides": [3, 2], "auto_pad": "VALID"}),
}


def model(
    op: str, attributes: dict[str, Any], shape: list[int], *, dynamic: bool, channels_last: bool = False
) -> onnx.ModelProto:
    """A pool, and the shape of its result as data."""
    rank = len(shape)
    dims: list[Any] = [*shape[:2], *(f"d{i}" if dynamic else size for i, size in enumerate(shape[2:]))]
    nodes = [oh.make_node(op, ["x"], ["y"], name="pool", **attributes), oh.make_node("Shape", ["y"], ["s"])]
    result = "y"
    if channels_last:
        dims = [dims[0], *dims[2:], dims[1]]
        nodes.insert(0, oh.make_node("Transpose", ["z"], ["x"], perm=[0, rank - 1, *range(1, rank - 1)]))
        nodes.append(oh.make_node("Transpose", ["y"], ["r"], perm=[0, *range(2, rank), 1]))
        result = "r"
    source = oh.make_tensor_value_info("z" if channels_last else "x", 1, dims)
    results = [oh.make_tensor_value_info(result, 1, None), oh.make_tensor_value_info("s", 7, None)]
    graph = oh.make_graph(nodes, "pool", [source], results)
    return oh.make_model(graph, opset_imports=[oh.make_opsetid("", 22)], ir_version=10)


def numbers(shape: list[int]) -> Array:
    return np.random.default_rng(3).normal(size=shape).astype(np.float32)


def as_onnxruntime_has_it(proto: onnx.ModelProto, feeds: dict[str, Array]) -> list[Array]:
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return onnxruntime.InferenceSession(proto.SerializeToString(), options).run(None, feeds)


def assert_as_onnxruntime(got: list[Array], want: list[Array]) -> None:
    for mine, theirs in zip(got, want, strict=True):
        assert mine.shape == theirs.shape
        np.testing.assert_allclose(mine, theirs, rtol=2e-6, atol=1e-7)


@pytest.mark.parametrize("dynamic", [False, True], ids=["static", "dynamic"])
@pytest.mark.parametrize("case", SHAPES)
def test_places_and_values(case: str, dynamic: bool) -> None:
    shape, attributes = SHAPES[case]
    for op, more in OPS.values():
        if "dilations" in attributes and op == "LpPool":
            continue
        proto, feeds = model(op, attributes | more, shape, dynamic=dynamic), {"x": numbers(shape)}
        want = as_onnxruntime_has_it(proto, feeds)
        assert want[0].size
        assert_as_onnxruntime(list(onnxloom.compile(proto).run(feeds).values()), want)
        assert_as_onnxruntime(list(evaluate_module(import_model(proto), feeds).values()), want)


@pytest.mark.filterwarnings("error")  # of a kernel that is declined
@pytest.mark.parametrize("dynamic", [False, True], ids=["static", "dynamic"])
@pytest.mark.parametrize("case", ["rows", "columns", "both", "borders"])
def test_channels_last(case: str, dynamic: bool) -> None:
    shape, attributes = SHAPES[case]
    for op, more in list(OPS.values())[:3]:
        proto = model(op, attributes | more, shape, dynamic=dynamic, channels_last=True)
        feeds = {"z": np.ascontiguousarray(np.moveaxis(numbers(shape), 1, -1))}
        compiled = onnxloom.compile(proto)
        assert_as_onnxruntime(list(compiled.run(feeds).values()), as_onnxruntime_has_it(proto, feeds))


@pytest.mark.parametrize("op", OPS)
def test_one_kernel_for_sizes_that_fit_and_that_do_not(op: str) -> None:
    name, more = OPS[op]
    attributes = {"kernel_shape": [3, 2], "strides": [2, 2]} | more
    proto = model(name, attributes, [1, 3, 9, 9], dynamic=True)
    compiled = onnxloom.compile(proto)
    for sizes in ([2, 1], [3, 2], [2, 37], [23, 1], [4, 3], [2, 2]):
        feeds = {"x": numbers([1, 3, *sizes])}
        assert_as_onnxruntime(list(compiled.run(feeds).values()), as_onnxruntime_has_it(proto, feeds))


def test_places_of_maxima() -> None:
    node = oh.make_node("MaxPool", ["x"], ["y", "i"], kernel_shape=[3, 2], strides=[2, 2])
    source = oh.make_tensor_value_info("x", 1, [1, 2, "h", "w"])
    results = [oh.make_tensor_value_info("y", 1, None), oh.make_tensor_value_info("i", 7, None)]
    graph = oh.make_graph([node], "places", [source], results)
    proto = oh.make_model(graph, opset_imports=[oh.make_opsetid("", 22)], ir_version=10)
    compiled, module = onnxloom.compile(proto), import_model(proto)
    for sizes in ([2, 1], [2, 9], [7, 1]):
        feeds = {"x": numbers([1, 2, *sizes])}
        want = as_onnxruntime_has_it(proto, feeds)
        assert_as_onnxruntime(list(compiled.run(feeds).values()), want)
        assert_as_onnxruntime(list(evaluate_module(module, feeds).values()), want)


REFUSED: dict[str, tuple[int, dict[str, Any], str]] = {
    "a stride is missing": (
        1,
        {"kernel_shape": [3], "strides": [2]},
        "a window of 3 does not fit a dim of 1 with pads 0 and 0",
    ),
    "more than a stride is missing": (
        2,
        {"kernel_shape": [9], "strides": [2], "pads": [1, 2]},
        "a window of 9 does not fit a dim of 2 with pads 1 and 2",
    ),
    "no data": (
        0,
        {"kernel_shape": [3], "strides": [4], "pads": [1, 1]},
        "a window of 3 does not fit a dim of 0 with pads 1 and 1",
    ),
}


@pytest.mark.parametrize("op", ["MaxPool", "AveragePool", "LpPool"])
@pytest.mark.parametrize("case", REFUSED)
def test_what_does_not_fit_is_refused(case: str, op: str) -> None:
    size, attributes, message = REFUSED[case]
    feeds = {"x": numbers([1, 1, size])}
    proto = model(op, attributes, [1, 1, size], dynamic=True)
    with pytest.raises(ModelError, match=f'{op} "pool".*{message}'):
        onnxloom.compile(proto).run(feeds)
    with pytest.raises(OnnxloomError, match=message):
        evaluate_module(import_model(proto), feeds)
    with pytest.raises(ModelError, match=rf'{op} .node "pool".: .* does not fit into a padded dim'):
        onnxloom.compile(model(op, attributes, [1, 1, size], dynamic=False))


@pytest.mark.parametrize("dynamic", [False, True], ids=["static", "dynamic"])
def test_convolutions_are_not_cut(dynamic: bool) -> None:
    node = oh.make_node("Conv", ["x", "w"], ["y"], strides=[2])
    source = oh.make_tensor_value_info("x", 1, [1, 1, "n" if dynamic else 1])
    weights = onnx.numpy_helper.from_array(np.ones((1, 1, 2), np.float32), "w")
    graph = oh.make_graph([node], "conv", [source], [oh.make_tensor_value_info("y", 1, None)], [weights])
    proto = oh.make_model(graph, opset_imports=[oh.make_opsetid("", 22)], ir_version=10)
    feeds = {"x": numbers([1, 1, 1])}
    with pytest.raises(ModelError, match="a window of 2 does not fit"):
        onnxloom.compile(proto).run(feeds)
    with pytest.raises(OnnxloomError, match="a window of 2 does not fit"):
        evaluate_module(import_model(proto), feeds)
