"""Do pooling, triangles and running sums compute what the reference does?"""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx.helper as oh
import onnxruntime
import pytest
from numerics import Array, check_op, compiled, graph_model

RNG = np.random.default_rng(2)


def normal(*shape: int, dtype: str = "float32") -> Array:
    return RNG.normal(size=shape).astype(dtype)


WINDOWS: list[dict[str, Any]] = [
    {"kernel_shape": [3, 3]},
    {"kernel_shape": [3, 2], "strides": [2, 3], "pads": [1, 0, 2, 1]},
    {"kernel_shape": [2, 2], "dilations": [2, 3]},
    {"kernel_shape": [3, 3], "strides": [2, 2], "ceil_mode": 1},
    {"kernel_shape": [3, 3], "strides": [2, 2], "auto_pad": "SAME_UPPER"},
]


@pytest.mark.parametrize("name", ["MaxPool", "AveragePool"])
def test_pools_of_any_window(name: str) -> None:
    for attrs in WINDOWS:
        check_op(name, [[normal(2, 3, 9, 8)], [normal(1, 1, 11, 7)]], **attrs)


def test_rows_longer_than_a_block() -> None:
    check_op("MaxPool", [[normal(1, 2, 4, 700)]], kernel_shape=[3, 3], pads=[1, 1, 1, 1])
    check_op("AveragePool", [[normal(1, 2, 600)]], kernel_shape=[5], strides=[2], pads=[2, 2])


def test_average_that_counts_padding() -> None:
    x = normal(1, 2, 5, 6)
    check_op("AveragePool", [[x]], kernel_shape=[3, 3], pads=[1, 1, 1, 1], count_include_pad=1)


def test_max_pool_keeps_nan_and_handles_integers() -> None:
    x = np.array([[[1, np.nan, 0, 5]]], np.float32)
    node = oh.make_node("MaxPool", ["x"], ["y"], kernel_shape=[2])
    y = compiled(graph_model([node], {"x": x}, {"y": x})).run({"x": x})["y"]
    np.testing.assert_array_equal(y, [[[np.nan, np.nan, 5]]])
    check_op("MaxPool", [[RNG.integers(0, 255, (1, 1, 5, 5)).astype(np.uint8)]], kernel_shape=[2, 2])
    check_op("MaxPool", [[RNG.integers(-99, 99, (1, 1, 5)).astype(np.int8)]], kernel_shape=[2])


def test_same_lower_equals_onnxruntime() -> None:
    # The reference evaluator pads at the wrong end.
    x = normal(1, 2, 9, 8)
    node = oh.make_node("MaxPool", ["x"], ["y"], kernel_shape=[2, 3], strides=[2, 2], auto_pad="SAME_LOWER")
    model = graph_model([node], {"x": x}, {"y": np.zeros((1, 2, 5, 4), np.float32)}, dynamic=False)
    got = compiled(model).run({"x": x})["y"]
    model.opset_import[0].version = 22
    (want,) = onnxruntime.InferenceSession(model.SerializeToString()).run(None, {"x": x})
    np.testing.assert_array_equal(got, want)


def test_volumes() -> None:
    check_op("MaxPool", [[normal(1, 2, 4, 5, 6)]], kernel_shape=[2, 3, 2], strides=[1, 2, 2])


@pytest.mark.parametrize("upper", [0, 1])
def test_triangles(upper: int) -> None:
    check_op("Trilu", [[normal(2, 4, 5)]], upper=upper)
    for k in (-2, 0, 3):
        check_op("Trilu", [[normal(4, 5), np.array(k)]], upper=upper)


@pytest.mark.parametrize("name", ["CumSum", "CumProd"])
def test_running_sums(name: str) -> None:
    for exclusive in (0, 1):
        for reverse in (0, 1):
            cases = [[normal(3, 4, 5), np.array(a)] for a in (0, 1, -1)]
            check_op(name, cases, exclusive=exclusive, reverse=reverse)


@pytest.mark.parametrize(
    ("name", "shapes", "attrs"),
    [
        ("MeanVarianceNormalization", [(2, 3, 4, 4)], {}),
        ("MeanVarianceNormalization", [(2, 3, 4)], {"axes": [1]}),
        ("Attention", [(1, 2, 3, 4), (1, 2, 5, 4), (1, 2, 5, 4)], {}),
    ],
)
def test_ops_defined_by_others_have_no_host_step(
    name: str, shapes: list[tuple[int, ...]], attrs: dict[str, Any]
) -> None:
    check_op(name, [[normal(*s) for s in shapes]], dynamic=False, rtol=1e-4, **attrs)


def test_dynamic_quantization_has_no_host_step() -> None:
    check_op("DynamicQuantizeLinear", [[normal(3, 4)]], dynamic=False, outputs=3)
