"""MaxPool with indices, MaxUnpool that reads them, Col2Im."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from against_peers import check_peers
from lowering_reasons import Case, check, reason_of, tensors
from numerics import Array
from text_models import compiled

from onnxloom.errors import InputError, OnnxloomError

RNG = np.random.default_rng(17)


def numbers(*shape: int, dtype: Any = np.float32) -> Array:
    return RNG.integers(0, 9, shape).astype(dtype)


def ints(*values: int) -> Array:
    return np.array(values, np.int64)


WINDOWS: list[dict[str, Any]] = [
    {"kernel_shape": [2, 2], "strides": [2, 2]},
    {"kernel_shape": [3, 2], "pads": [1, 0, 1, 1]},
    {"kernel_shape": [2, 3], "dilations": [2, 2], "strides": [1, 2]},
    {"kernel_shape": [3, 3], "auto_pad": "SAME_UPPER", "strides": [2, 2]},
    {"kernel_shape": [2, 2], "strides": [3, 3], "ceil_mode": 1},
]


@pytest.mark.parametrize("order", [0, 1])
@pytest.mark.parametrize("window", WINDOWS)
def test_places_of_maxima(window: dict[str, Any], order: int) -> None:
    check_peers("MaxPool", [numbers(2, 3, 7, 8)], outputs=2, storage_order=order, **window)


@pytest.mark.parametrize("shape", [(2, 3, 9), (1, 2, 5, 4, 6)])
def test_places_along_any_number_of_dims(shape: tuple[int, ...]) -> None:
    spatial = len(shape) - 2
    check_peers("MaxPool", [numbers(*shape)], outputs=2, kernel_shape=[2] * spatial, strides=[2] * spatial)


@pytest.mark.parametrize("dtype", [np.float64, np.int8, np.uint8, np.float16, ml_dtypes.bfloat16])
def test_places_in_any_type(dtype: Any) -> None:
    x = (numbers(1, 2, 6, 6) - (0 if dtype == np.uint8 else 5)).astype(dtype)
    check_peers("MaxPool", [x], outputs=2, dynamic=[True], runtime=False, kernel_shape=[3, 3], pads=[1] * 4)


def test_nan_is_the_largest_and_the_first_of_equal_ones_counts() -> None:
    x = np.array([[[1, np.nan, 3, np.nan, -np.inf, -np.inf, 2, 2]]], np.float32)
    check_peers("MaxPool", [x], outputs=2, runtime=False, kernel_shape=[4], strides=[4])
    check_peers("MaxPool", [x], outputs=2, runtime=False, kernel_shape=[2], strides=[2])


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.float64])
def test_unpooling_puts_elements_back(dtype: Any) -> None:
    pooled, places = check_peers(
        "MaxPool", [numbers(2, 3, 6, 8, dtype=dtype)], outputs=2, dynamic=[True], runtime=False,
        kernel_shape=[2, 2], strides=[2, 2],
    )  # fmt: skip
    window: dict[str, Any] = {"kernel_shape": [2, 2], "strides": [2, 2]}
    check_peers("MaxUnpool", [pooled, places], runtime=dtype == np.float32, **window)
    check_peers("MaxUnpool", [pooled, places, ints(2, 3, 7, 9)], runtime=False, **window)


def test_unpooling_refuses_what_does_not_fit() -> None:
    model = compiled(
        "agraph (float[A, B, N] x, int64[A, B, M] i, int64[3] s) => (float[C, D, E] y) {"
        "y = MaxUnpool <kernel_shape = [2], strides = [2]> (x, i, s) }"
    )
    x, i = np.ones((1, 1, 2), np.float32), ints(1, 2).reshape(1, 1, 2)
    assert model(x, i, ints(1, 1, 5))[0].tolist() == [[[0, 1, 1, 0, 0]]]
    with pytest.raises(InputError, match="MaxUnpool: index 4 is out of range for a dim of 4"):
        model(x, i + 2, ints(1, 1, 5))
    with pytest.raises(InputError, match="MaxUnpool: index -1 is out of range for a dim of 4"):
        model(x, i - 2, ints(1, 1, 5))
    with pytest.raises(InputError, match="dim 1 of output_shape is not that of the pooled tensor"):
        model(x, i, ints(1, 2, 4))
    with pytest.raises(InputError, match="dim 2 of output_shape is smaller than that of the pooled tensor"):
        model(x, i, ints(1, 1, 3))
    with pytest.raises(OnnxloomError, match="there is not one place for each element"):
        model(x, i[:, :, :1], ints(1, 1, 4))


BLOCKS: list[tuple[tuple[int, ...], tuple[int, ...], dict[str, Any]]] = [
    ((5, 5), (1, 5), {}),
    ((5, 5), (3, 3), {}),
    ((6, 7), (2, 3), {"strides": [2, 2], "pads": [1, 0, 1, 2]}),
    ((6, 6), (2, 2), {"dilations": [1, 5]}),
    ((4, 5, 3), (1, 2, 3), {"pads": [0, 1, 0, 0, 1, 2]}),
    ((7,), (3,), {"strides": [2]}),
]


def columns(image: tuple[int, ...], block: tuple[int, ...], attrs: dict[str, Any], dtype: Any) -> Array:
    rank = len(image)
    pads, ones = attrs.get("pads", [0] * (2 * rank)), [1] * rank
    strides, dilations = attrs.get("strides", ones), attrs.get("dilations", ones)
    places = [
        (image[i] + pads[i] + pads[i + rank] - dilations[i] * (block[i] - 1) - 1) // strides[i] + 1
        for i in range(rank)
    ]
    return numbers(2, 3 * int(np.prod(block)), int(np.prod(places)), dtype=dtype)


@pytest.mark.parametrize(("image", "block", "attrs"), BLOCKS)
@pytest.mark.parametrize("dtype", [np.float32, np.int64, np.float16])
def test_blocks_are_summed(
    image: tuple[int, ...], block: tuple[int, ...], attrs: dict[str, Any], dtype: Any
) -> None:
    x = columns(image, block, attrs, dtype)
    runtime = dtype == np.float32
    check_peers("Col2Im", [x, ints(*image), ints(*block)], constants=[1, 2], runtime=runtime, **attrs)
    check_peers("Col2Im", [x, ints(*image), ints(*block)], dynamic=[True], runtime=False, **attrs)


def test_sums_of_halves_are_rounded_once() -> None:
    x = RNG.standard_normal((1, 9, 25)).astype(np.float16)
    shapes: dict[str, Any] = {"constants": [1, 2], "dynamic": [True], "runtime": False, "pads": [1] * 4}
    (wide,) = check_peers("Col2Im", [x.astype(np.float32), ints(5, 5), ints(3, 3)], **shapes)
    want = [wide.astype(np.float16)]
    check_peers("Col2Im", [x, ints(5, 5), ints(3, 3)], want=want, host=False, **shapes)


def test_columns_that_do_not_fit_are_refused() -> None:
    model = compiled(
        "agraph (float[N, C, L] x, int64[2] i, int64[2] b) => (float[N, D, H, W] y) { y = Col2Im(x, i, b) }"
    )
    assert model(numbers(1, 8, 9), ints(4, 4), ints(2, 2))[0].shape == (1, 2, 4, 4)
    with pytest.raises(InputError, match="the channels are no multiple of the block"):
        model(numbers(1, 7, 9), ints(4, 4), ints(2, 2))
    with pytest.raises(InputError, match="the blocks of the image are not those of the data"):
        model(numbers(1, 8, 8), ints(4, 4), ints(2, 2))
    with pytest.raises(InputError, match="a dim of the block is less than 1"):
        model(numbers(1, 8, 9), ints(4, 4), ints(0, 2))


def unpool(data: str, result: str) -> Case:
    operands = [*tensors(data), f"tensor<{data}xi64>", "none"]
    return ("MaxUnpool", operands, "kernel_shape = [2 : si64]", tensors(result))


SHAPES = ["tensor<2xi64>", "tensor<2xi64>"]
REASONS: dict[str, tuple[Case, str | None]] = {
    "columns": (("Col2Im", [*tensors("1x8x9"), *SHAPES], "", tensors("1x2x4x4")), None),
    "booleans": (
        ("Col2Im", ["tensor<1x8x9xi1>", *SHAPES], "", ["tensor<1x2x4x4xi1>"]),
        "Col2Im of booleans or of this rank has no kernel",
    ),
    "no batch": (
        ("Col2Im", [*tensors("8x9"), *SHAPES], "", tensors("1x2x4x4")),
        "Col2Im of booleans or of this rank has no kernel",
    ),
    "no image": (
        ("Col2Im", [*tensors("1x8x9"), *SHAPES], "", tensors("1x2")),
        "Col2Im of booleans or of this rank has no kernel",
    ),
    "strides": (
        ("Col2Im", [*tensors("1x8x9"), *SHAPES], "strides = [1 : si64]", tensors("1x2x4x4")),
        "the attributes do not have as many dims as the image",
    ),
    "unpool": (unpool("1x1x2", "1x1x3"), None),
    "unpool with another window": (
        unpool("1x1x2x2", "1x1x3x3"),
        "the window does not have as many dims as the data",
    ),
}


@check(REASONS)
def test_reasons(case: Case, reason: str | None) -> None:
    assert reason_of(case) == reason
