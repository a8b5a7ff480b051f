"""Ops between two convolutions follow them channels-last, with the same values; what cannot says why."""

from __future__ import annotations

import pytest
from xdsl.dialects.builtin import ModuleOp

from onnxloom.dialects.onnx.text import make_context, parse_module
from onnxloom.dialects.verify_module import verify_module
from onnxloom.testing.numerics import assert_preserves_numerics
from onnxloom.testing.tolerance import EXACT, Tolerance
from onnxloom.transforms.layout.axes import makes_first, makes_last
from onnxloom.transforms.layout.channels_last import ChannelsLastPass
from onnxloom.transforms.layout.report import LayoutReport
from onnxloom.transforms.layout.triple import is_triple
from onnxloom.transforms.shape_inference import ShapeInferencePass

IMAGE = "tensor<2x4x6x5xf32>"
"""What is convolved, unless a case says otherwise; large enough to pay with the prices set below."""


@pytest.fixture(autouse=True)
def convolutions_save_much(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small convolutions pay: cases are small."""
    from onnxloom.transforms.layout.rules import convolution

    monkeypatch.setattr(convolution, "FLOPS_PER_NANOSECOND", 1e-3)


def model(
    middle: str, made: str = IMAGE, source: str = IMAGE, extra: str = "", channels: int = 4, outputs: str = ""
) -> str:
    """A convolution that gives %a, what makes %b of it, and a convolution of %b.

    `made` is the type of %b, which has as many channels as `channels` says; `extra` are further arguments,
    `outputs` further values that are returned.
    """
    spatial = source.count("x") - 2
    window = "x".join(["1"] * spatial)
    weights = f"tensor<4x4x{window}xf32>"
    other = f"tensor<4x{channels}x{window}xf32>"
    result = "tensor<" + "x".join(["?"] * (spatial + 2)) + "xf32>"
    return f"""
func.func @main(%x: {source}{extra}) -> ({result}{", tensor<*xf32>" if outputs else ""}) {{
  %none = "onnx.NoValue"() {{value}} : () -> none
  %w = onnx.Constant dense<0.5> : {weights}
  %v = onnx.Constant dense<-0.25> : {other}
  %a = "onnx.Conv"(%x, %w, %none) : ({source}, {weights}, none) -> {source}
  {middle}
  %y = "onnx.Conv"(%b, %v, %none) : ({made}, {other}, none) -> {result}
  onnx.Return %y{f", {outputs}" if outputs else ""} : {result}{", tensor<*xf32>" if outputs else ""}
}}"""


def converted(text: str, tolerance: Tolerance = EXACT) -> ModuleOp:
    """The text after the pass; the values are the same, a second run changes nothing."""
    module = assert_preserves_numerics(inferred(text), None, run, tolerance)
    before = str(module)
    run(module)
    assert str(module) == before, "a second run changes something"
    return module


def inferred(text: str) -> ModuleOp:
    module = parse_module(text)
    ShapeInferencePass().apply(make_context(), module)
    verify_module(module)
    return module


def run(module: ModuleOp) -> LayoutReport:
    step = ChannelsLastPass()
    step.apply(make_context(), module)
    verify_module(module)
    return step.report


def border(module: ModuleOp) -> list[str]:
    """The Transposes that are no part of a triple, as `maker -> readers`."""
    found: list[str] = []
    for op in module.walk():
        if op.name != "onnx.Transpose":
            continue
        readers = [use.operation for use in op.results[0].uses]
        maker = op.operands[0].owner
        if any(is_triple(reader, op.parent) for reader in readers if reader.name == "onnx.Conv"):  # pyright: ignore
            continue
        if getattr(maker, "name", "") == "onnx.Conv" and is_triple(maker, op.parent):  # pyright: ignore
            continue
        assert makes_first(op) or makes_last(op)
        found.append(f"{getattr(maker, 'name', 'argument')} -> {', '.join(r.name for r in readers)}")
    return found


AROUND = ["argument -> onnx.Transpose", "onnx.Transpose -> onnx.Return"]
"""The conversions in front of the first convolution and behind the last one."""


def followers() -> list[object]:
    """Ops that work channels-last between two convolutions."""
    image = f"({IMAGE}) -> {IMAGE}"
    pair = f"({IMAGE}, {IMAGE}) -> {IMAGE}"
    cases = {
        "unary": model(f'%b = "onnx.Relu"(%a) : {image}'),
        "residual": model(f'%b = "onnx.Add"(%a, %a) : {pair}'),
        "scalar": model(
            "%c = onnx.Constant dense<2.0> : tensor<f32>\n"
            f'%b = "onnx.Mul"(%a, %c) : ({IMAGE}, tensor<f32>) -> {IMAGE}'
        ),
        "one element of full rank": model(
            f'%b = "onnx.Mul"(%a, %s) : ({IMAGE}, tensor<1x1x1x1xf32>) -> {IMAGE}',
            extra=", %s: tensor<1x1x1x1xf32>",
        ),
        "constant per channel": model(
            "%c = onnx.Constant dense<[[[1.0]], [[2.0]], [[3.0]], [[4.0]]]> : tensor<4x1x1xf32>\n"
            f'%b = "onnx.Div"(%c, %a) : (tensor<4x1x1xf32>, {IMAGE}) -> {IMAGE}'
        ),
        "constant per column": model(
            "%c = onnx.Constant dense<[1.0, 2.0, 3.0, 4.0, 5.0]> : tensor<5xf32>\n"
            f'%b = "onnx.Sub"(%a, %c) : ({IMAGE}, tensor<5xf32>) -> {IMAGE}'
        ),
        "constant per row, full rank": model(
            "%c = onnx.Constant dense<[[[[1.], [2.], [3.], [4.], [5.], [6.]]]]> : tensor<1x1x6x1xf32>\n"
            f'%b = "onnx.Sub"(%a, %c) : ({IMAGE}, tensor<1x1x6x1xf32>) -> {IMAGE}'
        ),
        "Clip": model(
            "%c = onnx.Constant dense<-1.0> : tensor<f32>\n"
            f'%b = "onnx.Clip"(%a, %c, %none) : ({IMAGE}, tensor<f32>, none) -> {IMAGE}'
        ),
        "PRelu": model(
            "%c = onnx.Constant dense<[[[1.0]], [[2.0]], [[3.0]], [[4.0]]]> : tensor<4x1x1xf32>\n"
            f'%b = "onnx.PRelu"(%a, %c) : ({IMAGE}, tensor<4x1x1xf32>) -> {IMAGE}'
        ),
        "Where": model(
            f'%p = "onnx.Greater"(%a, %z) : ({IMAGE}, tensor<f32>) -> tensor<2x4x6x5xi1>\n'
            f'%b = "onnx.Where"(%p, %a, %z) : (tensor<2x4x6x5xi1>, {IMAGE}, tensor<f32>) -> {IMAGE}',
            extra=", %z: tensor<f32>",
        ),
        "quantized per channel": model(
            "%s = onnx.Constant dense<[0.5, 0.25, 1.0, 2.0]> : tensor<4xf32>\n"
            "%z = onnx.Constant dense<[1, 2, 3, 4]> : tensor<4xui8>\n"
            f'%q = "onnx.QuantizeLinear"(%a, %s, %z) : ({IMAGE}, tensor<4xf32>, tensor<4xui8>)'
            " -> tensor<2x4x6x5xui8>\n"
            '%b = "onnx.DequantizeLinear"(%q, %s, %z) : (tensor<2x4x6x5xui8>, tensor<4xf32>, tensor<4xui8>)'
            f" -> {IMAGE}"
        ),
        "Concat of channels": model(
            f'%b = "onnx.Concat"(%a, %a) {{axis = 1 : si64}} : ({IMAGE}, {IMAGE}) -> tensor<2x8x6x5xf32>',
            "tensor<2x8x6x5xf32>",
            channels=8,
        ),
        "Concat of columns": model(
            f'%b = "onnx.Concat"(%a, %a) {{axis = -1 : si64}} : ({IMAGE}, {IMAGE}) -> tensor<2x4x6x10xf32>',
            "tensor<2x4x6x10xf32>",
        ),
        "Split": model(
            "%k = onnx.Constant dense<[1, 3]> : tensor<2xi64>\n"
            f'%s, %t = "onnx.Split"(%a, %k) {{axis = 1 : si64}} : ({IMAGE}, tensor<2xi64>)'
            " -> (tensor<2x1x6x5xf32>, tensor<2x3x6x5xf32>)\n"
            '%b = "onnx.Add"(%t, %s) : (tensor<2x3x6x5xf32>, tensor<2x1x6x5xf32>) -> tensor<2x3x6x5xf32>',
            "tensor<2x3x6x5xf32>",
            channels=3,
        ),
        "Softmax of channels": model(f'%b = "onnx.Softmax"(%a) {{axis = 1 : si64}} : {image}'),
        "Softmax of columns": model(f'%b = "onnx.Softmax"(%a) : {image}'),
        "Slice without axes": model(
            "%f = onnx.Constant dense<[0, 1]> : tensor<2xi64>\n"
            "%t = onnx.Constant dense<[2, 4]> : tensor<2xi64>\n"
            f'%b = "onnx.Slice"(%a, %f, %t, %none, %none) : ({IMAGE}, tensor<2xi64>, tensor<2xi64>, none,'
            " none) -> tensor<2x3x6x5xf32>",
            "tensor<2x3x6x5xf32>",
            channels=3,
        ),
        "Slice with axes and steps": model(
            "%f = onnx.Constant dense<[-1, 1]> : tensor<2xi32>\n"
            "%t = onnx.Constant dense<[-5, 5]> : tensor<2xi32>\n"
            "%s = onnx.Constant dense<[-1, 2]> : tensor<2xi32>\n"
            "%k = onnx.Constant dense<[1, -2]> : tensor<2xi32>\n"
            f'%b = "onnx.Slice"(%a, %f, %t, %k, %s) : ({IMAGE}, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>,'
            " tensor<2xi32>) -> tensor<2x4x2x5xf32>",
            "tensor<2x4x2x5xf32>",
        ),
        "Pad of all axes": model(
            "%k = onnx.Constant dense<[0, 0, 1, 2, 0, 0, 3, 4]> : tensor<8xi64>\n"
            f'%b = "onnx.Pad"(%a, %k, %none, %none) : ({IMAGE}, tensor<8xi64>, none, none)'
            " -> tensor<2x4x10x11xf32>",
            "tensor<2x4x10x11xf32>",
        ),
        "Pad of named axes": model(
            "%k = onnx.Constant dense<[1, 2]> : tensor<2xi64>\n"
            "%n = onnx.Constant dense<[-1]> : tensor<1xi64>\n"
            f'%b = "onnx.Pad"(%a, %k, %none, %n) {{mode = "reflect"}} : ({IMAGE}, tensor<2xi64>, none,'
            " tensor<1xi64>) -> tensor<2x4x6x8xf32>",
            "tensor<2x4x6x8xf32>",
        ),
        "Resize of all axes": model(
            "%k = onnx.Constant dense<[1.0, 1.0, 2.0, 3.0]> : tensor<4xf32>\n"
            f'%b = "onnx.Resize"(%a, %none, %k, %none) : ({IMAGE}, none, tensor<4xf32>, none)'
            " -> tensor<2x4x12x15xf32>",
            "tensor<2x4x12x15xf32>",
        ),
        "Resize of named axes": model(
            "%k = onnx.Constant dense<[2.0, 3.0]> : tensor<2xf32>\n"
            f'%b = "onnx.Resize"(%a, %none, %k, %none) {{axes = [3 : si64, 2 : si64]}} : ({IMAGE}, none,'
            " tensor<2xf32>, none) -> tensor<2x4x18x10xf32>",
            "tensor<2x4x18x10xf32>",
        ),
        "reduced rows that are kept": model(
            "%k = onnx.Constant dense<[2]> : tensor<1xi64>\n"
            f'%b = "onnx.ReduceMax"(%a, %k) : ({IMAGE}, tensor<1xi64>) -> tensor<2x4x1x5xf32>',
            "tensor<2x4x1x5xf32>",
        ),
        "reduced channels": model(
            "%k = onnx.Constant dense<[1]> : tensor<1xi64>\n"
            f'%m = "onnx.ReduceMin"(%a, %k) : ({IMAGE}, tensor<1xi64>) -> tensor<2x1x6x5xf32>\n'
            f'%b = "onnx.Sub"(%a, %m) : ({IMAGE}, tensor<2x1x6x5xf32>) -> {IMAGE}'
        ),
        "sizes": model(
            f'%s = "onnx.Shape"(%a) {{start = 1 : si64, end = -1 : si64}} : ({IMAGE}) -> tensor<2xi64>\n'
            '%f = "onnx.Cast"(%s) {to = 1 : si64} : (tensor<2xi64>) -> tensor<2xf32>\n'
            '%m = "onnx.ReduceSum"(%f, %none) {keepdims = 0 : si64} : (tensor<2xf32>, none) -> tensor<f32>\n'
            f'%b = "onnx.Mul"(%a, %m) : ({IMAGE}, tensor<f32>) -> {IMAGE}'
        ),
    }  # fmt: skip
    return [pytest.param(text, id=name) for name, text in cases.items()]


@pytest.mark.parametrize("text", followers())
def test_what_stands_between_follows(text: str):
    assert border(converted(text)) == AROUND


def test_dims_need_not_be_known():
    image = "tensor<?x4x?x?xf32>"
    text = model(f'%b = "onnx.Relu"(%a) : ({image}) -> {image}', image, image)
    assert border(converted(text)) == AROUND
