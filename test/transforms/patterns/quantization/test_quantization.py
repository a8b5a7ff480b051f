"""Patterns between QuantizeLinear and DequantizeLinear: values, and why they decline."""

from __future__ import annotations

import numpy as np
import pytest
from ir_graphs import graph

from onnxloom.testing.patterns import check_pattern, decline_reason
from onnxloom.transforms.patterns.quantization.dequantize_movement import DequantizeMovementPattern
from onnxloom.transforms.patterns.quantization.dequantize_quantize import DequantizeQuantizePattern
from onnxloom.transforms.patterns.quantization.qlinear_conv import QLinearConvPattern
from onnxloom.transforms.patterns.quantization.qlinear_mat_mul import QLinearMatMulPattern

X, U = "%x : tensor<2x3xui8>", "tensor<2x3xui8>"
F = "tensor<2x3xf32>"
SCALE, ZERO = "%s = dense<0.3> : tensor<f32>", "%z = dense<7> : tensor<ui8>"
DEQUANTIZED = f"%0 = DequantizeLinear %x %s %z : {F}"
TURNED = "%y = Transpose %0 {perm = [1, 0]} : tensor<3x2xf32>"
ALL = np.arange(256, dtype=np.uint8)

MOVED = {
    "Transpose": (TURNED, "tensor<3x2xf32>"),
    "Reshape": ("%y = Reshape %0 %a : tensor<3x2xf32>", "tensor<3x2xf32>"),
    "Flatten": ("%y = Flatten %0 {axis = 0 : si64} : tensor<1x6xf32>", "tensor<1x6xf32>"),
    "Unsqueeze": ("%y = Unsqueeze %0 %i : tensor<2x1x3xf32>", "tensor<2x1x3xf32>"),
    "Slice": ("%y = Slice %0 %i %a %none %none : tensor<1x1xf32>", "tensor<1x1xf32>"),
    "Gather": ("%y = Gather %0 %i : tensor<1x3xf32>", "tensor<1x3xf32>"),
}
AXES = "%i = dense<[1]> : tensor<1xi64>", "%a = dense<[3, 2]> : tensor<2xi64>"


@pytest.mark.parametrize("name", MOVED)
def test_movement_of_bytes(name: str) -> None:
    line, type_ = MOVED[name]
    if name == "Slice":
        line, axes = line.replace("%i %a", "%i %j"), (*AXES, "%j = dense<[2]> : tensor<1xi64>")
        line, type_ = line.replace("1x1xf32", "1x3xf32"), "tensor<1x3xf32>"
    else:
        axes = AXES
    text = graph(SCALE, ZERO, *axes, DEQUANTIZED, line, inputs=(X,), results=type_)
    module = check_pattern(text, DequantizeMovementPattern, {"x": ALL[:6].reshape(2, 3)})
    assert f"onnx.{name}" in str(module)


def test_what_else_reads_the_floats_keeps_them() -> None:
    text = graph(
        SCALE, ZERO, DEQUANTIZED, TURNED, f"%r = Relu %0 : {F}", inputs=(X,), results="tensor<3x2xf32>"
    )
    assert str(check_pattern(text, DequantizeMovementPattern)).count("DequantizeLinear") == 2


MOVEMENT = {
    "the input is not dequantized": graph(
        "%y = Transpose %f {perm = [1, 0]} : tensor<3x2xf32>",
        inputs=(f"%f : {F}",),
        results="tensor<3x2xf32>",
    ),
    "the input has several scales, or one that is not known to be positive": graph(
        "%s = dense<-0.5> : tensor<f32>", ZERO, DEQUANTIZED, TURNED, inputs=(X,), results="tensor<3x2xf32>"
    ),
    "the input is constant": graph(
        f"%x = dense<3> : {U}", SCALE, ZERO, DEQUANTIZED, TURNED, inputs=(), results="tensor<3x2xf32>"
    ),
}


@pytest.mark.parametrize("reason", MOVEMENT)
def test_movement_that_stays(reason: str) -> None:
    assert reason in decline_reason(MOVEMENT[reason], DequantizeMovementPattern)


@pytest.mark.parametrize("scale", ["%s : tensor<f32>", "%s : tensor<2xf32>"])
def test_scales_that_are_not_one_known_number(scale: str) -> None:
    text = graph(ZERO, DEQUANTIZED, TURNED, inputs=(X, scale), results="tensor<3x2xf32>")
    text = text.replace("%z)", "%z) {axis = 0 : si64}") if "2xf32" in scale else text
    assert "several scales" in decline_reason(text, DequantizeMovementPattern)


def test_a_scale_per_block() -> None:
    line = f"%0 = DequantizeLinear %x %s %z {{block_size = 2 : si64}} : {F}"
    text = graph(SCALE, ZERO, line, TURNED, inputs=(X,), results="tensor<3x2xf32>")
    assert "several scales" in decline_reason(text, DequantizeMovementPattern)


def pooled(element: str, indices: str) -> str:
    """A MaxPool of dequantized integers; its second result is returned unless it is none."""
    x, y = "tensor<1x1x3x3x", "tensor<1x1x2x2x"
    results = f"{y}f32>" if indices == "none" else f"{y}f32>, {indices}"
    return f"""
    func.func @f(%x: {x}{element}>) -> ({results}) {{
      %none = "onnx.NoValue"() {{value}} : () -> none
      %s = onnx.Constant dense<0.5> : tensor<f32>
      %0 = "onnx.DequantizeLinear"(%x, %s, %none) : ({x}{element}>, tensor<f32>, none) -> {x}f32>
      %1, %2 = "onnx.MaxPool"(%0) <{{kernel_shape = [2, 2]}}> : ({x}f32>) -> ({y}f32>, {indices})
      onnx.Return %1{"" if indices == "none" else ", %2"} : {results}
    }}"""


def test_pools_that_stay() -> None:
    places = pooled("ui8", "tensor<1x1x2x2xi64>")
    assert "another result of it is read" in decline_reason(places, DequantizeMovementPattern)
    wide = pooled("i32", "none")
    assert "there is no MaxPool of these integers" in decline_reason(wide, DequantizeMovementPattern)
    old = decline_reason(pooled("ui8", "none"), DequantizeMovementPattern, opset=11)
    assert "there is no MaxPool of these integers" in old
    apart = pooled("ui8", "none").replace("[2, 2]", "[2, 2], dilations = [2, 1], pads = [0, 0, 1, 0]")
    assert "a window may lie beside the image" in decline_reason(apart, DequantizeMovementPattern)
    check_pattern(pooled("i8", "none"), DequantizeMovementPattern)


def back_and_forth(
    *,
    x: str = "ui8",
    y: str = "ui8",
    scale: str = "0.3",
    again: str = "%s",
    zero: str = "%z",
    lines: tuple[str, ...] = (),
    attributes: str = "",
    middle: str = "f32",
) -> str:
    t = "tensor<256x"
    return graph(
        f"%s = dense<{scale}> : tensor<f32>",
        f"%z = dense<7> : tensor<{x}>",
        *lines,
        f"%0 = DequantizeLinear %x %s %z {attributes}: {t}{middle}>",
        f"%y = QuantizeLinear %0 {again} {zero} : {t}{y}>",
        inputs=(f"%x : {t}{x}>",),
        results=f"{t}{y}>",
    )


@pytest.mark.parametrize("scale", ["0.3", "1.1754944e-38", "5.0e33", "0.0039215689"])
def test_every_integer_comes_back(scale: str) -> None:
    module = check_pattern(back_and_forth(scale=scale), DequantizeQuantizePattern, {"x": ALL})
    assert "QuantizeLinear" not in str(module)


@pytest.mark.parametrize("dtype", ["i8", "ui16", "i16"])
def test_every_integer_of_other_types(dtype: str) -> None:
    types = {"i8": np.int8, "ui16": np.uint16, "i16": np.int16}
    limits = np.iinfo(types[dtype])
    array = np.linspace(limits.min, limits.max, 256).astype(types[dtype])
    check_pattern(back_and_forth(x=dtype, y=dtype), DequantizeQuantizePattern, {"x": array})


def test_equal_constants_are_the_same_parameters() -> None:
    lines = "%t = dense<0.3> : tensor<f32>", "%u = dense<7> : tensor<ui8>"
    check_pattern(back_and_forth(lines=lines, again="%t", zero="%u"), DequantizeQuantizePattern, {"x": ALL})


QUANTIZE = {
    "the integers are of another type": back_and_forth(
        y="i8", zero="%u", lines=("%u = dense<7> : tensor<i8>",)
    ),
    "not every integer of this type comes back": back_and_forth(x="i4", y="i4"),
    "there are several scales": back_and_forth(scale="-0.5"),
    "the scale is another one": back_and_forth(again="%t", lines=("%t = dense<0.31> : tensor<f32>",)),
    "the zero point is another one": back_and_forth(zero="%u", lines=("%u = dense<8> : tensor<ui8>",)),
    "the input is not dequantized": graph(
        SCALE, f"%y = QuantizeLinear %f %s %none : {U}", inputs=(f"%f : {F}",), results=U
    ),
}


@pytest.mark.parametrize("reason", QUANTIZE)
def test_quantization_that_stays(reason: str) -> None:
    assert reason in decline_reason(QUANTIZE[reason], DequantizeQuantizePattern)


def test_quantization_from_narrower_floats_stays() -> None:
    text = back_and_forth(middle="f16").replace("%s = onnx.Constant dense<0.3> : tensor<f32>", "")
    text = text.replace("%z = onnx", "%s = onnx.Constant dense<0.3> : tensor<f16>\n  %z = onnx")
    text = text.replace("tensor<f32>", "tensor<f16>")
    assert "not every integer comes back" in decline_reason(text, DequantizeQuantizePattern)


def test_a_zero_point_that_is_left_out() -> None:
    text = back_and_forth(zero="%none")
    assert "the zero point is another one" in decline_reason(text, DequantizeQuantizePattern)


def test_zero_points_that_are_not_known() -> None:
    lines = (f"%y = QuantizeLinear %0 %s %v : {U}",)
    inputs = (X, "%z : tensor<ui8>", "%v : tensor<ui8>")
    text = graph(SCALE, DEQUANTIZED, *lines, inputs=inputs, results=U)
    assert "the zero point is another one" in decline_reason(text, DequantizeQuantizePattern)


def mat_mul(
    left: str = "f32", right: str = "f32", result: str = "f32", x: str = "2x3x", known: bool = True
) -> str:
    scales = {"%s": left, "%v": right, "%t": result}
    constants = [f"{n} = dense<0.5> : tensor<{t}>" for n, t in scales.items()]
    inputs = (f"%x : tensor<{x}ui8>", "%w : tensor<3x2xi8>", "%z : tensor<ui8>", "%u : tensor<i8>")
    given = () if known else tuple(f"{n} : tensor<{t}>" for n, t in scales.items())
    product = f"%y = QLinearMatMul %x %s %z %w %v %u %t %z : tensor<{x.replace('3x', '2x')}ui8>"
    lines = [*(constants if known else ()), product]
    return graph(*lines, inputs=(*inputs, *given), results=f"tensor<{x.replace('3x', '2x')}ui8>")


MAT_MULS = {
    "a scale is not known, or not in f32": mat_mul(known=False),
    "the left factor has a scale per row": mat_mul(left="2xf32"),
    "the result has a scale per row": mat_mul(result="2xf32"),
    "the rank of a factor is not known, or it is a vector": mat_mul(x="3x"),
}


@pytest.mark.parametrize("reason", MAT_MULS)
def test_quantized_products_that_stay(reason: str) -> None:
    assert reason in decline_reason(MAT_MULS[reason], QLinearMatMulPattern)


def conv(scale: str | None = "tensor<f32>", result: str = "tensor<f32>") -> str:
    inputs = ("%x : tensor<1x3x5x5xui8>", "%w : tensor<2x3x3x3xi8>", "%z : tensor<ui8>", "%u : tensor<i8>")
    given = ("%s : tensor<f32>",) if scale is None else ()
    known = () if scale is None else (f"%s = dense<0.5> : {scale}",)
    line = "%y = QLinearConv %x %s %z %w %v %u %t %z %none : tensor<1x2x3x3xui8>"
    lines = [*known, "%v = dense<0.5> : tensor<f32>", f"%t = dense<0.5> : {result}", line]
    return graph(*lines, inputs=(*inputs, *given), results="tensor<1x2x3x3xui8>")


CONVOLUTIONS = {
    "a scale is not known, or not in f32": conv(scale=None),
    "the image or the result has several scales": conv(result="tensor<2xf32>"),
}


@pytest.mark.parametrize("reason", CONVOLUTIONS)
def test_quantized_convolutions_that_stay(reason: str) -> None:
    assert reason in decline_reason(CONVOLUTIONS[reason], QLinearConvPattern)
