"""Does Resize pick and mix the elements that the reference does?"""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import onnx.helper as oh
import onnxruntime as ort
import pytest
from numerics import Array, assert_close, compiled, graph_model, reference

from onnxloom.errors import OnnxloomError

RNG = np.random.default_rng(4)
SHAPE = (1, 2, 5, 7)
TRANSFORMS = [
    "half_pixel", "pytorch_half_pixel", "half_pixel_symmetric", "align_corners", "asymmetric",
    "tf_crop_and_resize",
]  # fmt: skip


def numbers(shape: tuple[int, ...], dtype: Any = np.float32) -> Array:
    return (RNG.normal(size=shape) * 20).clip(0 if np.dtype(dtype).kind == "u" else -100, 100).astype(dtype)


def run(
    x: Array, target: Array, *, constant: bool, dynamic: bool, roi: Array | None = None, **attrs: Any
) -> tuple[Array, Array]:
    """What we give and what the reference gives; `target` holds scales if it is of floats, else sizes."""
    feeds = {"x": x, "t": target}
    names = ["x", "", "t"] if target.dtype == np.float32 else ["x", "", "", "t"]
    if roi is not None:
        names[1], feeds["r"] = "r", roi
    node = oh.make_node("Resize", names, ["y"], **attrs)
    exact = x.astype(np.float32) if x.dtype == ml_dtypes.bfloat16 else x
    (want,) = reference(graph_model([node], feeds, {"y": x}, dynamic=False), feeds | {"x": exact})
    want = want.astype(x.dtype)
    held = {"t": feeds.pop("t")} if constant else {}
    model = compiled(graph_model([node], feeds, {"y": want}, constants=held, dynamic=dynamic))
    (got,) = model.run(feeds).values()
    assert not model.host_counts
    return got, want


def check(x: Array, target: Array, *, roi: Array | None = None, **attrs: Any) -> None:
    for known in (False, True):
        got, want = run(x, target, constant=known, dynamic=not known, roi=roi, **attrs)
        if x.dtype.kind in "iu":
            # A sum of f64 next to a half may fall to either side.
            assert got.shape == want.shape and got.dtype == want.dtype
            assert np.abs(got.astype(np.int64) - want.astype(np.int64)).max(initial=0) <= 1
        else:
            assert_close([got], [want], rtol=1e-4, atol=1e-4)


def test_constant_sizes_of_dynamic_dims() -> None:
    for dtype in (np.float32, np.float16):
        got, want = run(numbers(SHAPE, dtype), sizes(1, 2, 8, 3), constant=True, dynamic=True, mode="linear")
        assert_close([got], [want], rtol=1e-4, atol=1e-4)


def scales(*values: float) -> Array:
    return np.array(values, np.float32)


def sizes(*values: int) -> Array:
    return np.array(values, np.int64)


@pytest.mark.parametrize("nearest", ["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"])
@pytest.mark.parametrize("transform", ["half_pixel", "asymmetric", "align_corners"])
def test_nearest_rounding(nearest: str, transform: str) -> None:
    attrs: dict[str, Any] = {"nearest_mode": nearest, "coordinate_transformation_mode": transform}
    for factors in ([1, 1, 0.6, 2.5], [1, 1, 2, 3]):
        check(numbers(SHAPE), scales(*factors), **attrs)


@pytest.mark.parametrize("mode", ["nearest", "cubic"])
@pytest.mark.parametrize("transform", TRANSFORMS)
def test_coordinates(mode: str, transform: str) -> None:
    roi = scales(0, 0, 0.1, -0.2, 1, 1, 0.8, 1.3) if transform == "tf_crop_and_resize" else None
    attrs: dict[str, Any] = {
        "mode": mode, "coordinate_transformation_mode": transform, "extrapolation_value": -3.0
    }  # fmt: skip
    check(numbers(SHAPE), scales(1, 1, 2, 1.7), roi=roi, **attrs)
    check(numbers(SHAPE), sizes(1, 2, 8, 3), roi=roi, **attrs)
    check(numbers(SHAPE), sizes(1, 2, 1, 1), roi=roi, **attrs)


@pytest.mark.parametrize("mode", ["linear", "cubic"])
@pytest.mark.parametrize("exclude", [0, 1])
def test_filters_against_aliasing(mode: str, exclude: int) -> None:
    attrs: dict[str, Any] = {"mode": mode, "antialias": 1, "exclude_outside": exclude}
    check(numbers((2, 9, 23)), scales(1, 0.3, 0.41), **attrs)
    check(numbers((2, 9, 23)), sizes(3, 1, 40), **attrs)


@pytest.mark.parametrize("a", [-0.5, -0.75])
def test_cubic_without_what_lies_outside(a: float) -> None:
    check(numbers((4, 4)), scales(0.8, 2.3), mode="cubic", cubic_coeff_a=a, exclude_outside=1)


@pytest.mark.parametrize("policy", ["not_larger", "not_smaller"])
@pytest.mark.parametrize("mode", ["nearest", "linear"])
def test_kept_aspect_ratio(policy: str, mode: str) -> None:
    check(numbers((2, 4, 6)), sizes(9, 8), mode=mode, axes=[2, 1], keep_aspect_ratio_policy=policy)
    check(numbers((4, 6)), sizes(3, 3), mode=mode, keep_aspect_ratio_policy=policy)


@pytest.mark.parametrize("dtype", ["float16", "float64", "int8", "uint64"])
@pytest.mark.parametrize("mode", ["nearest", "linear"])
def test_element_types(dtype: str, mode: str) -> None:
    check(numbers((2, 5, 7), dtype), scales(1, 1.3, 0.7), mode=mode)
    roi = scales(0, 0, 0.5, 1, 1, 1.5)
    attrs: dict[str, Any] = {
        "coordinate_transformation_mode": "tf_crop_and_resize",
        "extrapolation_value": 2.6,
    }
    check(numbers((2, 5, 7), dtype), scales(1, 1.3, 0.7), roi=roi, mode=mode, **attrs)


def test_bfloat16_is_rounded_once() -> None:
    check(numbers((3, 5), ml_dtypes.bfloat16), scales(1.3, 0.7), mode="linear")


def test_integers_saturate() -> None:
    x = np.array([0, 255, 255, 0, 0], np.uint8)
    check(x, scales(3.1), mode="cubic")
    check(np.array([-(2**63), 2**63 - 1, 2**63 - 1], np.int64)[:1], sizes(3), mode="linear")


def test_rows_longer_than_a_block_and_other_axes() -> None:
    check(numbers((1, 2, 5, 7)), sizes(1, 4, 5, 1300), mode="linear")
    check(numbers((2, 3, 1500)), sizes(2, 2, 1500), mode="linear", antialias=1)
    check(numbers((1, 70, 7), np.uint8), sizes(2, 70, 300), mode="nearest")
    check(numbers((3, 4, 2, 5)), scales(2, 0.5, 1.5, 2), mode="cubic")
    check(numbers((2, 5000)), scales(3, 2), coordinate_transformation_mode="asymmetric", nearest_mode="floor")


def test_no_elements() -> None:
    check(numbers((0, 3)), scales(1, 2), mode="linear")
    check(numbers((0, 3)), scales(1, 2))
    check(numbers((2, 3)), scales(1, 0.1), mode="cubic")


@pytest.mark.parametrize("target", [scales(1, -1), scales(1, np.nan), scales(1, 1, 1), sizes(1, -1)])
def test_unusable_targets_are_refused(target: Array) -> None:
    x = numbers((2, 3))
    names = ["x", "", "t"] if target.dtype == np.float32 else ["x", "", "", "t"]
    feeds = {"x": x, "t": target}
    model = compiled(graph_model([oh.make_node("Resize", names, ["y"])], feeds, {"y": x}))
    with pytest.raises(OnnxloomError):
        model.run(feeds)


def test_a_region_that_is_no_number_reads_inside() -> None:
    roi = scales(0, np.nan, 1, np.inf)
    node = oh.make_node(
        "Resize", ["x", "r", "t"], ["y"], mode="cubic", coordinate_transformation_mode="tf_crop_and_resize"
    )
    feeds = {"x": numbers((2, 3)), "r": roi}
    model = compiled(graph_model([node], feeds, {"y": feeds["x"]}, constants={"t": scales(1, 2)}))
    (got,) = model.run(feeds).values()
    assert got.shape == (2, 6)


def random_case(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rank = int(rng.integers(1, 5))
    shape = tuple(int(d) for d in rng.integers(1, 8, rank))
    axes = [int(a) for a in rng.permutation(rank)[: rng.integers(1, rank + 1)]]
    mode, transform = str(rng.choice(["nearest", "linear", "cubic"])), str(rng.choice(TRANSFORMS))
    attrs: dict[str, Any] = {"mode": mode, "coordinate_transformation_mode": transform, "axes": axes}
    if mode == "nearest":
        attrs["nearest_mode"] = str(rng.choice(["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"]))
    else:
        attrs |= {"antialias": int(rng.integers(2)), "exclude_outside": int(rng.integers(2))}
        attrs["cubic_coeff_a"] = float(rng.uniform(-1, 0))
    roi = rng.uniform(-0.3, 1.3, 2 * len(axes)).astype(np.float32) if transform == TRANSFORMS[-1] else None
    if rng.integers(2):
        target = rng.integers(1, 12, len(axes))
        attrs["keep_aspect_ratio_policy"] = str(rng.choice(["stretch", "not_larger", "not_smaller"]))
    else:
        # What is left of an axis is at least one element.
        target = np.maximum(rng.uniform(0.2, 3, len(axes)), 1.01 / np.array(shape)[axes]).astype(np.float32)
    check(numbers(shape, str(rng.choice(["float32", "float64", "int16"]))), target, roi=roi, **attrs)


@pytest.mark.parametrize("seed", range(6))
def test_random_forms(seed: int) -> None:
    random_case(seed)


@pytest.mark.full
@pytest.mark.parametrize("seed", range(6, 150))
def test_more_random_forms(seed: int) -> None:
    random_case(seed)


@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
@pytest.mark.parametrize("transform", ["half_pixel", "align_corners"])
def test_as_onnxruntime(mode: str, transform: str) -> None:
    x = numbers((1, 2, 6, 8))
    attrs = {"mode": mode, "coordinate_transformation_mode": transform, "nearest_mode": "floor"}
    for factors in ([1, 1, 2, 2], [1, 1, 0.5, 0.75]):
        node = oh.make_node("Resize", ["x", "", "t"], ["y"], **attrs)
        model = graph_model([node], {"x": x}, {"y": x}, constants={"t": scales(*factors)})
        peer = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
        (want,) = peer.run(None, {"x": x})
        assert_close(list(compiled(model).run({"x": x}).values()), [want], rtol=1e-4, atol=1e-4)
