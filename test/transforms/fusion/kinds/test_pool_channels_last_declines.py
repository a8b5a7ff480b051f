"""Every reason why a pool is none of channels last."""

from __future__ import annotations

import pytest
from channels_last_text import ints
from fusion_reasons import checked, detected
from pool_text import pool_text

from onnxloom.transforms.fusion.kinds.pool_channels_last import PoolChannelsLastFusion

X, Y = [2, 8, 8, 3], [2, 6, 6, 3]
WINDOW = ints("kernel_shape", [3, 3])
FITS = pool_text(X, Y, WINDOW)
INNER, POOLED = "tensor<2x3x8x8xf32>", "tensor<2x3x6x6xf32>"
INWARDS, OUTWARDS = ints("perm", [0, 3, 1, 2]), ints("perm", [0, 2, 3, 1])
NO_INPUT = "the input of the pool is no Transpose from channels last"
NO_RESULT = "the result of the pool is not read by one Transpose to channels last alone"
SQUARE = pool_text([2, 3, 3, 3], [2, 3, 3, 3], ints("kernel_shape", [1, 1]))


def test_a_pool_that_fits() -> None:
    assert detected(PoolChannelsLastFusion, FITS, "MaxPool") == 3
    assert checked(PoolChannelsLastFusion(), FITS) is None


def read_twice(value: str, type_: str) -> str:
    """The text with one more reader of a value."""
    return FITS.replace("onnx.Return", f'%n = "onnx.Neg"({value}) : ({type_}) -> {type_}\n onnx.Return')


def with_window(extra: str) -> str:
    return FITS.replace(WINDOW, extra)


INDICES = FITS.replace(f"({POOLED}, none)", f"({POOLED}, tensor<2x3x6x6xi64>)").replace(
    "onnx.Return", '%n = "onnx.Neg"(%1#1) : (tensor<2x3x6x6xi64>) -> tensor<2x3x6x6xi64>\n onnx.Return'
)
DECLINES = {
    "no Transpose before": (FITS.replace('"onnx.Transpose"(%x)', '"onnx.Reshape"(%x)'), NO_INPUT),
    "another Transpose before": (SQUARE.replace(INWARDS, ints("perm", [0, 1, 3, 2])), NO_INPUT),
    "another Transpose after": (SQUARE.replace(OUTWARDS, ints("perm", [0, 3, 2, 1])), NO_RESULT),
    "the result is read elsewhere": (
        read_twice("%1#0", POOLED), "the result of the pool is not read by one op alone",
    ),
    "the result has no rank": (
        FITS.replace(POOLED, "tensor<*xf32>"),
        "the rank of the input or the result of the pool is not known",
    ),
    "the input is read elsewhere": (
        read_twice("%0", INNER), "the transposed input of the pool is read elsewhere",
    ),
    "the input has no rank": (
        FITS.replace("tensor<2x8x8x3xf32>", "tensor<*xf32>"),
        "the rank of the input or the result of the pool is not known",
    ),
    "many dims": (
        pool_text([1, 2, 2, 2, 2, 3], [1, 2, 2, 2, 2, 3], ints("kernel_shape", [1] * 4)),
        "a pool over 4 spatial dims has no kernel",
    ),
    "places are read": (INDICES, "the places of the maxima are read, which count channels-first"),
    "channels": (pool_text([2, 8, 8, "?"], [2, 6, 6, "?"], WINDOW), "the channels of the pool are not known"),
    "no channels": (pool_text([2, 8, 8, 0], [2, 6, 6, 0], WINDOW), "the channels of the pool are not known"),
    "element": (FITS.replace("f32", "i1"), "onnx.MaxPool of element type i1 has no kernel"),
    "element of a mean": (
        pool_text(X, Y, WINDOW, name="AveragePool", element="i8"),
        "onnx.AveragePool of element type i8 has no kernel",
    ),
    "large": (
        pool_text([1, 30, 30, 3], [1, 1, 1, 3], ints("kernel_shape", [30, 30])),
        "a window of 900 places is too large",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", DECLINES)
def test_why_a_pool_is_none(case: str) -> None:
    text, reason = DECLINES[case]
    anchor = "AveragePool" if "AveragePool" in text else "MaxPool"
    assert detected(PoolChannelsLastFusion, text, anchor) == reason


BODIES = {
    "one op more": (
        FITS.replace("%2 = ", '%n = "onnx.Neg"(%1#0) : (T) -> T\n%2 = '.replace("T", POOLED)).replace(
            '"onnx.Transpose"(%1#0)', '"onnx.Transpose"(%n)'
        ),
        "the body has 4 ops; expected 3",
    ),
    "another result": (
        FITS.replace("onnx.Return %2 : tensor<2x6x6x3xf32>", f"onnx.Return %1#0 : {POOLED}"),
        "the body does not yield what its last op makes",
    ),
    "a pool of something else": (
        FITS.replace("%x: tensor<2x8x8x3xf32>", f"%x: tensor<2x8x8x3xf32>, %z: {INNER}").replace(
            '"onnx.MaxPool"(%0)', '"onnx.MaxPool"(%z)'
        ),
        NO_INPUT,
    ),
    "a Transpose of something else": (
        FITS.replace("%x: tensor<2x8x8x3xf32>", f"%x: tensor<2x8x8x3xf32>, %z: {POOLED}").replace(
            '"onnx.Transpose"(%1#0)', '"onnx.Transpose"(%z)'
        ),
        NO_RESULT,
    ),
    "window": (with_window(ints("kernel_shape", [3])), "kernel_shape of a pool has 1 entries; expected 2"),
    "no window": (with_window(ints("kernel_shape", [3, 0])), "kernel_shape of a pool has an entry below 1"),
    "strides": (
        with_window(f"{WINDOW}, {ints('strides', [0, 1])}"),
        "strides of a pool has an entry below 1",
    ),
    "dilations": (
        with_window(f"{WINDOW}, {ints('dilations', [1])}"),
        "dilations of a pool has 1 entries; expected 2",
    ),
    "pads": (
        with_window(f"{WINDOW}, {ints('pads', [0, -1, 0, 0])}"),
        "pads of a pool has an entry below 0",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", BODIES)
def test_what_is_wrong_with_a_body(case: str) -> None:
    text, reason = BODIES[case]
    assert checked(PoolChannelsLastFusion(), text) == reason


def test_a_body_without_a_pool() -> None:
    text = FITS.replace(
        '%1:2 = "onnx.MaxPool"(%0) {' + WINDOW + "}", '%1 = "onnx.LpPool"(%0) {' + WINDOW + "}"
    )
    text = text.replace(f"({POOLED}, none)", POOLED).replace("%1#0", "%1")
    assert checked(PoolChannelsLastFusion(), text) == "onnx.LpPool is no pool"
