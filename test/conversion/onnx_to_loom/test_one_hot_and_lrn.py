"""Do OneHot and LRN compute what onnxruntime and the standard say?"""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx.helper as oh
import pytest
from numerics import Array, compiled, graph_model

from onnxloom.lowering.runtime.host_ops import evaluate


def check(
    name: str, inputs: list[Array], constants: dict[int, Array], atol: float = 0.0, **attrs: Any
) -> None:
    """Against the host implementation, with dims static and not, without a host step."""
    node = oh.make_node(name, [f"x{i}" for i in range(len(inputs) + len(constants))], ["y"], **attrs)
    whole = dict(constants)
    feeds = iter(inputs)
    for i in range(len(inputs) + len(constants)):
        if i not in whole:
            whole[i] = next(feeds)
    (want,) = evaluate(node, [whole[i] for i in range(len(whole))])
    named = {f"x{i}": a for i, a in whole.items() if i not in constants}
    for dynamic in (False, True):
        model = graph_model(
            [node], named, {"y": want}, constants={f"x{i}": a for i, a in constants.items()}, dynamic=dynamic
        )
        ours = compiled(model)
        got = ours.run(named)["y"]
        assert not ours.host_counts
        assert got.dtype == want.dtype and got.shape == want.shape
        np.testing.assert_allclose(got, want, rtol=0, atol=atol)


@pytest.mark.parametrize("axis", [-1, 0, 1, 2, -2])
@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.int8])
def test_one_hot_along_any_axis(axis: int, dtype: Any) -> None:
    indices = np.array([[0, 3, -1], [-4, 5, 2]], dtype)  # -1 counts from the end, 5 is nowhere
    depth = np.array(4, np.int64)
    for values in (np.array([0, 1], np.float32), np.array([7, -3], np.int64), np.array([False, True])):
        check("OneHot", [indices, values], {1: depth}, axis=axis)


def test_one_hot_of_a_scalar_of_nothing_and_of_depth_zero() -> None:
    values = np.array([2.0, 5.0], np.float32)
    check("OneHot", [np.array(1), values], {1: np.array([3])})
    check("OneHot", [np.zeros((0, 2), np.int64), values], {1: np.array(3)})
    check("OneHot", [np.array([[1, 2]]), values], {1: np.array(0)})


def test_an_index_far_out_of_range_is_off() -> None:
    limits = np.iinfo(np.int64)
    check("OneHot", [np.array([limits.min, limits.max, -5, 4]), np.array([0, 1])], {1: np.array(4)})


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 9])
@pytest.mark.parametrize(
    "shape", [(2, 7, 3, 5), (1, 3, 40, 40), (3, 4), (2, 5, 6), (0, 3, 2, 2), (1, 4, 0, 2)]
)
def test_local_response(size: int, shape: tuple[int, ...]) -> None:
    x = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
    check("LRN", [x], {}, 2e-6, size=size, alpha=0.5, beta=0.75, bias=2.0)
    check("LRN", [x], {}, 2e-6, size=size)


@pytest.mark.parametrize(("dtype", "atol"), [(np.float64, 1e-12), (np.float16, 2e-3)])
def test_local_response_in_other_types(dtype: Any, atol: float) -> None:
    x = np.random.default_rng(0).standard_normal((2, 7, 3, 5)).astype(dtype)
    check("LRN", [x], {}, atol, size=5, alpha=0.5)
