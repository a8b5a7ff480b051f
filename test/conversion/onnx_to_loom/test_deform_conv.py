"""Does DeformConv give what the reference gives?"""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnx.helper as oh
import pytest
from numerics import Array, assert_close, compiled, graph_model, reference

from onnxloom.errors import OnnxloomError

RNG = np.random.default_rng(10)


def feeds_of(
    images: tuple[int, ...],
    weights: tuple[int, ...],
    size: tuple[int, int],
    groups: int,
    dtype: str = "float32",
) -> dict[str, Array]:
    taps = weights[2] * weights[3]
    return {
        "x": RNG.normal(size=images).astype(dtype),
        "w": RNG.normal(size=weights).astype(dtype),
        "o": RNG.uniform(-2, 2, (images[0], 2 * groups * taps, *size)).astype(dtype),
        "b": RNG.normal(size=weights[:1]).astype(dtype),
        "m": RNG.uniform(0, 1, (images[0], groups * taps, *size)).astype(dtype),
    }


def model_of(feeds: dict[str, Array], attrs: dict[str, Any], names: list[str]) -> onnx.ModelProto:
    node = oh.make_node("DeformConv", names, ["y"], **attrs)
    held = {"w": feeds["w"]}
    used = {n: a for n, a in feeds.items() if n in names and n != "w"}
    return graph_model([node], used, {"y": feeds["x"]}, constants=held)


def check(feeds: dict[str, Array], attrs: dict[str, Any], names: list[str], atol: float = 1e-4) -> None:
    model = model_of(feeds, attrs, names)
    used = {n: a for n, a in feeds.items() if n in names and n != "w"}
    compiled_model = compiled(model)
    got = list(compiled_model.run(used).values())
    assert_close(got, reference(model, used), rtol=1e-4, atol=atol)
    assert not compiled_model.host_counts


@pytest.mark.parametrize("names", [["x", "w", "o"], ["x", "w", "o", "b"], ["x", "w", "o", "", "m"]])
def test_operands(names: list[str]) -> None:
    check(feeds_of((2, 3, 5, 6), (4, 3, 2, 3), (4, 4), 1), {}, names)


def test_groups_and_groups_of_offsets() -> None:
    feeds = feeds_of((1, 6, 5, 5), (4, 3, 2, 2), (4, 4), 3)
    check(feeds, {"group": 2, "offset_group": 3}, ["x", "w", "o", "b", "m"])


def test_windows() -> None:
    attrs: dict[str, Any] = {"pads": [1, 2, 0, 1], "strides": [2, 1], "dilations": [1, 2]}
    check(feeds_of((1, 2, 6, 7), (2, 2, 3, 2), (3, 8), 1), attrs, ["x", "w", "o", "b", "m"])


def test_more_points_than_a_block() -> None:
    feeds = feeds_of((1, 1, 18, 19), (1, 1, 1, 1), (18, 19), 1, "float64")
    check(feeds, {}, ["x", "w", "o", "b"])


def test_half_width_floats() -> None:
    feeds = feeds_of((1, 2, 4, 4), (2, 2, 2, 2), (3, 3), 1, "float16")
    check(feeds, {}, ["x", "w", "o", "b", "m"], atol=2e-2)


def test_shapes_that_do_not_fit_are_refused() -> None:
    good = feeds_of((1, 4, 5, 5), (4, 2, 2, 2), (4, 4), 2)
    attrs: dict[str, Any] = {"group": 2, "offset_group": 2}
    names = ["x", "w", "o", "b", "m"]
    check(good, attrs, names)
    changes = {
        "x": [(1, 4, 6, 5), (1, 5, 5, 5), (2, 4, 5, 5), (1, 2, 5, 5), (1, 4, 0, 5)],
        "o": [(1, 16, 4, 3), (1, 8, 4, 4)],
        "m": [(1, 8, 4, 3), (1, 7, 4, 4)],
    }
    model = compiled(model_of(good, attrs, names))
    for name, shapes in changes.items():
        for shape in shapes:
            feeds = {n: a for n, a in good.items() if n != "w"} | {name: np.zeros(shape, np.float32)}
            with pytest.raises(OnnxloomError):
                model.run(feeds)
