"""Does RoiAlign pool what the reference and onnxruntime pool?"""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnx.helper as oh
import onnxruntime as ort
import pytest
from numerics import Array, assert_close, compiled, graph_model, reference

from onnxloom.errors import OnnxloomError

RNG = np.random.default_rng(9)


def feeds_of(count: int, shape: tuple[int, ...] = (2, 3, 9, 11), dtype: str = "float32") -> dict[str, Array]:
    begins = RNG.uniform(-3, 9, (count, 2))
    regions = np.concatenate([begins, begins + RNG.uniform(-0.5, 9, (count, 2))], 1)
    return {
        "x": (RNG.normal(size=shape) * 9).astype(dtype),
        "r": regions.astype(dtype),
        "b": RNG.integers(0, max(shape[0], 1), count).astype(np.int64),
    }


def model_of(feeds: dict[str, Array], attrs: dict[str, Any], dynamic: bool) -> onnx.ModelProto:
    node = oh.make_node("RoiAlign", ["x", "r", "b"], ["y"], **attrs)
    return graph_model([node], feeds, {"y": feeds["x"]}, dynamic=dynamic)


@pytest.mark.parametrize("mode", ["avg", "max"])
@pytest.mark.parametrize("transform", ["half_pixel", "output_half_pixel"])
@pytest.mark.parametrize("samples", [0, 1, 3])
def test_as_the_reference(mode: str, transform: str, samples: int) -> None:
    attrs: dict[str, Any] = {
        "mode": mode, "coordinate_transformation_mode": transform, "sampling_ratio": samples,
        "output_height": 3, "output_width": 2, "spatial_scale": 0.75,
    }  # fmt: skip
    feeds = feeds_of(7)
    model = model_of(feeds, attrs, True)
    compiled_model = compiled(model)
    got = list(compiled_model.run(feeds).values())
    assert_close(got, reference(model, feeds), rtol=1e-4, atol=1e-4)
    assert not compiled_model.host_counts


@pytest.mark.parametrize("dtype", ["float16", "float64"])
def test_element_types_and_many_bins_and_channels(dtype: str) -> None:
    feeds = feeds_of(2, (1, 70, 6, 7), dtype)
    attrs: dict[str, Any] = {"output_height": 17, "output_width": 17, "sampling_ratio": 1}
    model = model_of(feeds, attrs, True)
    wide = {n: a.astype(np.float64) if n != "b" else a for n, a in feeds.items()}
    want = [y.astype(dtype) for y in reference(model, wide)]
    assert_close(list(compiled(model).run(feeds).values()), want, rtol=1e-3, atol=2e-2)


def test_no_regions_and_no_channels() -> None:
    for feeds in (feeds_of(0), feeds_of(2, (1, 0, 3, 3))):
        (got,) = compiled(model_of(feeds, {"output_height": 2}, True)).run(feeds).values()
        assert got.shape == (len(feeds["r"]), feeds["x"].shape[1], 2, 1)


def test_regions_that_are_no_numbers() -> None:
    feeds = feeds_of(2)
    feeds["r"][:] = [[np.nan] * 4, [0, 0, np.inf, -np.inf]]
    attrs: dict[str, Any] = {"output_height": 2, "output_width": 2, "sampling_ratio": 2}
    assert compiled(model_of(feeds, attrs, True)).run(feeds)["y"].shape == (2, 3, 2, 2)
    feeds["r"][1] = [0, 0, 1, -np.inf]
    assert compiled(model_of(feeds, {}, True)).run(feeds)["y"].shape == (2, 3, 1, 1)


@pytest.mark.parametrize("batch", [2, -1])
def test_an_image_that_is_not_there_is_refused(batch: int) -> None:
    feeds = feeds_of(3)
    feeds["b"][1] = batch
    with pytest.raises(OnnxloomError, match=f"index {batch} is out of range for a dim of 2"):
        compiled(model_of(feeds, {}, True)).run(feeds)


def test_shapes_that_do_not_fit_are_refused() -> None:
    for name, value in (("r", np.zeros((3, 5), np.float32)), ("b", np.zeros(4, np.int64))):
        feeds = {**feeds_of(3), name: value}
        with pytest.raises(OnnxloomError):
            compiled(model_of(feeds, {}, True)).run(feeds)


def test_as_onnxruntime() -> None:
    feeds = feeds_of(5)
    attrs: dict[str, Any] = {"output_height": 4, "output_width": 4, "spatial_scale": 0.5}
    model = model_of(feeds, attrs, False)
    model.graph.output[0].type.tensor_type.ClearField("shape")
    model.opset_import[0].version = 16
    peer = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    want = [np.asarray(y) for y in peer.run(None, feeds)]
    assert_close(list(compiled(model_of(feeds, attrs, True)).run(feeds).values()), want, rtol=1e-4, atol=1e-4)
