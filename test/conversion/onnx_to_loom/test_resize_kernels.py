"""Does Resize pick and mix the elements that onnxruntime's and the reference's do?"""

from __future__ import annotations

import numpy as np
import onnx.helper as oh
import pytest
from numerics import assert_close, compiled, graph_model, reference

RNG = np.random.default_rng(4)
SHAPE = (1, 2, 5, 7)


def check(scales: list[float] | None, sizes: list[int] | None, dtype: str = "float32", **attrs: str) -> None:
    x = (RNG.normal(size=SHAPE) * 20).astype(dtype)
    held = {"s": np.array(scales, np.float32)} if scales else {"n": np.array(sizes, np.int64)}
    names = ["x", "", "s"] if scales else ["x", "", "", "n"]
    node = oh.make_node("Resize", names, ["y"], **attrs)
    probe = graph_model([node], {"x": x}, {"y": x}, constants=held, dynamic=False)
    (want,) = reference(probe, {"x": x})
    for dynamic in (False, True):
        model = compiled(graph_model([node], {"x": x}, {"y": want}, constants=held, dynamic=dynamic))
        assert_close(list(model.run({"x": x}).values()), [want], rtol=1e-4, atol=1e-4)
        assert not model.host_counts


@pytest.mark.parametrize("nearest", ["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"])
def test_nearest_rounding(nearest: str) -> None:
    check([1, 1, 2, 2.5], None, nearest_mode=nearest, coordinate_transformation_mode="half_pixel")
    check([1, 1, 0.6, 2], None, nearest_mode=nearest, coordinate_transformation_mode="asymmetric")


@pytest.mark.parametrize("mode", ["nearest", "linear"])
@pytest.mark.parametrize(
    "transform", ["half_pixel", "pytorch_half_pixel", "half_pixel_symmetric", "align_corners", "asymmetric"]
)
def test_coordinates(mode: str, transform: str) -> None:
    check([1, 1, 2, 1.7], None, mode=mode, coordinate_transformation_mode=transform)
    check(None, [1, 2, 8, 3], mode=mode, coordinate_transformation_mode=transform)


def test_rows_longer_than_a_block_and_other_axes() -> None:
    check(None, [1, 4, 5, 300], mode="linear")
    check(None, [2, 2, 5, 300], "uint8", mode="nearest")
