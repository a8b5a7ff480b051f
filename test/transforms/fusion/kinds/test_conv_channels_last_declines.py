"""Every reason why a convolution is none of channels last, or its epilogue ends."""

from __future__ import annotations

import pytest
from channels_last_text import conv_text, ints
from fusion_reasons import checked, detected, stops

from onnxloom.transforms.fusion.kinds.conv_channels_last import ConvChannelsLastFusion

X, W, Y = [2, 8, 8, 3], [4, 3, 3, 3], [2, 6, 6, 4]
FITS = conv_text(X, W, Y)
INWARDS, OUTWARDS = ints("perm", [0, 3, 1, 2]), ints("perm", [0, 2, 3, 1])
INNER, RESULT = "tensor<2x4x6x6xf32>", "tensor<2x6x6x4xf32>"
SQUARE = conv_text([2, 4, 4, 4], [4, 4, 1, 1], [2, 4, 4, 4])


def test_a_convolution_that_fits() -> None:
    assert detected(ConvChannelsLastFusion, FITS, "Conv") == 5
    assert checked(ConvChannelsLastFusion(5), FITS) is None


def read_twice(value: str, type_: str) -> str:
    """The text with one more reader of a value."""
    return FITS.replace("onnx.Return", f'%n = "onnx.Neg"({value}) : ({type_}) -> {type_}\n onnx.Return')


DECLINES = {
    "not a product": (
        FITS.replace("onnx.Conv", "onnx.Conv").replace("2x3x8x8xf32", "2x3x8x8xi32"),
        "onnx.Conv of element type i32 has no tile kernel",
    ),
    "no Transpose before": (
        FITS.replace('"onnx.Transpose"(%x)', '"onnx.Reshape"(%x)', 1),
        "the input of the convolution is no Transpose from channels last",
    ),
    "another Transpose before": (
        SQUARE.replace(INWARDS, ints("perm", [0, 1, 3, 2])),
        "the input of the convolution is no Transpose from channels last",
    ),
    "another Transpose after": (
        SQUARE.replace(OUTWARDS, ints("perm", [0, 3, 2, 1])),
        "the result of the convolution is not read by one Transpose to channels last alone",
    ),
    "the result is read elsewhere": (
        read_twice("%1", INNER),
        "the result of the convolution is not read by one Transpose to channels last alone",
    ),
    "the input is read elsewhere": (
        read_twice("%0", "tensor<2x3x8x8xf32>"),
        "the transposed input of the convolution is read elsewhere",
    ),
    "the input has no rank": (
        FITS.replace("tensor<2x8x8x3xf32>", "tensor<*xf32>"),
        "the rank of the input of the convolution is not known",
    ),
}


AFTER = f'"onnx.Transpose"(%1) {{{OUTWARDS}}} : ({INNER}) -> {RESULT}'
BRANCHES = f"""%c = onnx.Constant dense<true> : tensor<i1>
%2 = "onnx.If"(%c) ({{
  %then = {AFTER}
  "onnx.Yield"(%then) : ({RESULT}) -> ()
}}, {{
  "onnx.Yield"(%r) : ({RESULT}) -> ()
}}) : (tensor<i1>) -> {RESULT}"""


def test_a_transpose_in_a_branch_is_left_there() -> None:
    captured = FITS.replace(f"%2 = {AFTER}", BRANCHES)
    assert "onnx.If" in captured
    assert detected(ConvChannelsLastFusion, captured, "Conv") == (
        "a Transpose of the convolution is in another block"
    )


@pytest.mark.parametrize("case", DECLINES)
def test_why_a_convolution_is_none(case: str) -> None:
    text, reason = DECLINES[case]
    assert detected(ConvChannelsLastFusion, text, "Conv") == reason


def test_an_operand_along_some_points_ends_the_epilogue() -> None:
    text = conv_text(X, W, Y, residual=[6, 1, 1])
    assert stops(ConvChannelsLastFusion, text, "Conv") == [
        "onnx.Add reads an operand that broadcasts along some spatial dims only"
    ]


def test_a_vector_along_another_axis_ends_the_epilogue() -> None:
    norm = f'"onnx.BatchNormalization"(%2, %b, %b, %b, %b) : ({RESULT}, {", ".join(["tensor<4xf32>"] * 4)})'
    text = conv_text([2, 8, 8, 3], W, Y).replace(f'"onnx.Relu"(%2) : ({RESULT})', norm)
    assert stops(ConvChannelsLastFusion, text, "Conv") == [
        "onnx.BatchNormalization reads a vector along an axis that is not the last"
    ]


def test_a_body_does_not_begin_with_anything_else() -> None:
    moved = FITS.replace("%3 = ", '%neg = "onnx.Neg"(%r) : (T) -> T\n%3 = '.replace("T", RESULT))
    moved = moved.replace("(%3, %r)", "(%3, %neg)")
    assert checked(ConvChannelsLastFusion(6), moved) is None
    first = FITS.replace("%0 = ", '%neg = "onnx.Neg"(%r) : (T) -> T\n%0 = '.replace("T", RESULT))
    first = first.replace("(%3, %r)", "(%3, %neg)")
    assert checked(ConvChannelsLastFusion(6), first) == (
        "the body does not begin with onnx.Conv and what belongs to it"
    )
