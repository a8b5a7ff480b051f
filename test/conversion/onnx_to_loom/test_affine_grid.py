"""Does AffineGrid move the centres of pixels as affine maps say?"""

from __future__ import annotations

import numpy as np
import onnx.helper as oh
import pytest
from numerics import Array, assert_close, compiled, graph_model

from onnxloom.errors import OnnxloomError

RNG = np.random.default_rng(15)


def centres(size: int, aligned: bool) -> Array:
    if not aligned:
        return (np.arange(size) * 2 + 1) / size - 1
    return np.linspace(-1, 1, size) if size > 1 else np.zeros(size)


def grid(maps: Array, sizes: list[int], aligned: bool) -> Array:
    axes = np.meshgrid(*(centres(s, aligned) for s in sizes[2:]), indexing="ij")
    points = np.stack([*axes[::-1], np.ones(sizes[2:])], -1)
    return np.einsum("nij,...j->n...i", maps.astype(np.float64), points)


def run(maps: Array, sizes: list[int], aligned: int, known: bool = True) -> Array:
    feeds = {"m": maps, "s": np.array(sizes)}
    held = {"s": feeds.pop("s")} if known else {}
    want = grid(maps, sizes, bool(aligned)).astype(maps.dtype)
    node = oh.make_node("AffineGrid", ["m", "s"], ["y"], align_corners=aligned)
    model = compiled(graph_model([node], feeds, {"y": want}, constants=held))
    (got,) = model.run(feeds).values()
    assert not model.host_counts
    return got


@pytest.mark.parametrize("aligned", [0, 1])
@pytest.mark.parametrize("sizes", [[2, 3, 4, 5], [1, 1, 1, 7], [2, 1, 3, 4, 5], [1, 1, 0, 2]])
@pytest.mark.parametrize("known", [False, True])
def test_points(sizes: list[int], aligned: int, known: bool) -> None:
    maps = RNG.normal(size=(sizes[0], len(sizes) - 2, len(sizes) - 1)).astype(np.float32)
    want = grid(maps, sizes, bool(aligned)).astype(np.float32)
    assert_close([run(maps, sizes, aligned, known)], [want], rtol=1e-6)


@pytest.mark.parametrize("dtype", ["float16", "float64"])
def test_element_types(dtype: str) -> None:
    maps = RNG.normal(size=(1, 2, 3)).astype(dtype)
    want = grid(maps, [1, 1, 3, 4], False).astype(dtype)
    assert_close([run(maps, [1, 1, 3, 4], 0)], [want], rtol=1e-3 if dtype == "float16" else 1e-12)


@pytest.mark.parametrize("shape", [(1, 2, 3), (2, 3, 3), (2, 2, 4)])
def test_maps_that_do_not_fit_are_refused(shape: tuple[int, ...]) -> None:
    maps = np.zeros(shape, np.float32)
    node = oh.make_node("AffineGrid", ["m", "s"], ["y"])
    want = np.zeros((2, 4, 5, 2), np.float32)
    model = compiled(graph_model([node], {"m": maps}, {"y": want}, constants={"s": np.array([2, 1, 4, 5])}))
    with pytest.raises(OnnxloomError, match="of the maps does not fit the size"):
        model.run({"m": maps})
