"""Does GridSample give what the op gives on the host, and what onnxruntime gives?"""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import onnx.helper as oh
import onnxruntime as ort
import pytest
from numerics import Array, assert_close, compiled, graph_model

from onnxloom.errors import OnnxloomError
from onnxloom.lowering.runtime.host_ops.replacements.grid_sample import grid_sample

RNG = np.random.default_rng(8)
PADDINGS = ["zeros", "border", "reflection"]


def images(*shape: int, dtype: Any = np.float32) -> Array:
    return (RNG.normal(size=shape) * 20).astype(dtype)


def points(*shape: int, dtype: Any = np.float32) -> Array:
    return RNG.uniform(-1.7, 1.7, shape).astype(dtype)


def run(x: Array, grid: Array, dynamic: bool, want: Array, **attrs: Any) -> Array:
    node = oh.make_node("GridSample", ["x", "g"], ["y"], **attrs)
    model = compiled(graph_model([node], {"x": x, "g": grid}, {"y": want}, dynamic=dynamic))
    (got,) = model.run({"x": x, "g": grid}).values()
    assert not model.host_counts
    return got


def check(x: Array, grid: Array, dynamic: bool = True, atol: float = 1e-3, **attrs: Any) -> None:
    (want,) = grid_sample(attrs, x, grid)
    assert_close([run(x, grid, dynamic, want, **attrs)], [want], rtol=1e-4, atol=atol)


@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
@pytest.mark.parametrize("padding", PADDINGS)
@pytest.mark.parametrize("aligned", [0, 1])
def test_two_dims(mode: str, padding: str, aligned: int) -> None:
    attrs: dict[str, Any] = {"mode": mode, "padding_mode": padding, "align_corners": aligned}
    check(images(2, 3, 5, 7), points(2, 20, 15, 2), **attrs)
    check(images(1, 1, 1, 2), points(1, 3, 3, 2), **attrs)


@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
@pytest.mark.parametrize("padding", PADDINGS)
def test_one_and_three_dims(mode: str, padding: str) -> None:
    attrs: dict[str, Any] = {"mode": mode, "padding_mode": padding}
    check(images(2, 3, 7), points(2, 20, 1), **attrs)
    check(images(2, 3, 4, 5, 6), points(2, 3, 4, 5, 3), dynamic=False, **attrs)


@pytest.mark.parametrize("dtype", ["float16", "float64", ml_dtypes.bfloat16])
def test_element_types(dtype: Any) -> None:
    check(images(1, 2, 4, 4, dtype=dtype), points(1, 5, 5, 2), mode="linear", atol=0.3)
    check(images(1, 2, 4, 4), points(1, 5, 5, 2, dtype=np.float64), mode="linear")
    for moved in ("uint8", "int64", "bool", dtype):
        check(images(1, 2, 4, 4, dtype=moved), points(1, 5, 5, 2), mode="nearest")


def test_no_points_and_no_channels() -> None:
    check(images(1, 2, 3, 3), points(1, 0, 4, 2))
    check(images(1, 0, 3, 3), points(1, 2, 4, 2))
    check(images(0, 2, 3, 3), points(0, 2, 4, 2))


def test_infinite_elements_next_to_the_border() -> None:
    x = np.full((1, 1, 2, 2), np.inf, np.float32)
    grid = np.array([[[[-1.4, -1.4], [0.0, 3.0]]]], np.float32)
    assert run(x, grid, True, np.zeros((1, 1, 1, 2), np.float32)).tolist() == [[[[np.inf, 0.0]]]]


@pytest.mark.parametrize("padding", PADDINGS)
def test_points_that_are_no_numbers_read_inside(padding: str) -> None:
    x = images(1, 1, 3, 3)
    grid = np.array([[[[np.nan, np.inf], [-np.inf, 1e38]]]], np.float32)
    assert run(x, grid, True, np.zeros((1, 1, 1, 2), np.float32), padding_mode=padding).shape == (1, 1, 1, 2)


@pytest.mark.parametrize(
    ("x", "grid"),
    [((1, 1, 2, 2), (2, 1, 1, 2)), ((1, 1, 2, 2), (1, 1, 1, 3)), ((1, 1, 0, 2), (1, 1, 1, 2))],
)
def test_shapes_that_do_not_fit_are_refused(x: tuple[int, ...], grid: tuple[int, ...]) -> None:
    with pytest.raises(OnnxloomError):
        run(images(*x), points(*grid), True, np.zeros((1, 1, 1, 1), np.float32))


@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
@pytest.mark.parametrize("padding", PADDINGS)
def test_as_onnxruntime(mode: str, padding: str) -> None:
    x, grid = images(1, 2, 9, 12), points(1, 8, 8, 2)
    node = oh.make_node("GridSample", ["x", "g"], ["y"], mode=mode, padding_mode=padding)
    model = graph_model([node], {"x": x, "g": grid}, {"y": x})
    peer = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    (want,) = peer.run(None, {"x": x, "g": grid})
    assert_close(list(compiled(model).run({"x": x, "g": grid}).values()), [want], rtol=1e-4, atol=1e-3)
