"""Ops between two convolutions follow them channels-last, with the same values."""

from __future__ import annotations

import numpy as np
import pytest
from layout_models import AROUND, IMAGE, border, converted, model

from onnxloom.testing.tolerance import Abs

ORDINARY = {"x": np.random.default_rng(0).standard_normal((2, 4, 6, 5), np.float32)}


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
        "removed and inserted dims": model(
            "%k = onnx.Constant dense<[-2]> : tensor<1xi64>\n"
            '%s = "onnx.Squeeze"(%a, %k) : (tensor<2x4x1x5xf32>, tensor<1xi64>) -> tensor<2x4x5xf32>\n'
            '%r = "onnx.Relu"(%s) : (tensor<2x4x5xf32>) -> tensor<2x4x5xf32>\n'
            '%b = "onnx.Unsqueeze"(%r, %k) : (tensor<2x4x5xf32>, tensor<1xi64>) -> tensor<2x4x1x5xf32>',
            "tensor<2x4x1x5xf32>",
            "tensor<2x4x1x5xf32>",
        ),
        "merged and split places": model(
            "%k = onnx.Constant dense<[0, 4, 30]> : tensor<3xi64>\n"
            "%m = onnx.Constant dense<[2, 4, 3, -1]> : tensor<4xi64>\n"
            f'%s = "onnx.Reshape"(%a, %k) : ({IMAGE}, tensor<3xi64>) -> tensor<2x4x30xf32>\n'
            '%r = "onnx.Relu"(%s) : (tensor<2x4x30xf32>) -> tensor<2x4x30xf32>\n'
            '%b = "onnx.Reshape"(%r, %m) : (tensor<2x4x30xf32>, tensor<4xi64>) -> tensor<2x4x3x10xf32>',
            "tensor<2x4x3x10xf32>",
        ),
        "channel shuffle": model(
            "%k = onnx.Constant dense<[2, 2, 2, 6, 5]> : tensor<5xi64>\n"
            "%m = onnx.Constant dense<[2, 4, 6, 5]> : tensor<4xi64>\n"
            f'%s = "onnx.Reshape"(%a, %k) : ({IMAGE}, tensor<5xi64>) -> tensor<2x2x2x6x5xf32>\n'
            '%r = "onnx.Transpose"(%s) {perm = [0 : si64, 2 : si64, 1 : si64, 3 : si64, 4 : si64]}'
            " : (tensor<2x2x2x6x5xf32>) -> tensor<2x2x2x6x5xf32>\n"
            f'%b = "onnx.Reshape"(%r, %m) : (tensor<2x2x2x6x5xf32>, tensor<4xi64>) -> {IMAGE}'
        ),
        "rows of images": model(
            "%k = onnx.Constant dense<[3]> : tensor<1xi64>\n"
            f'%s = "onnx.ReduceSum"(%a, %k) {{keepdims = 0 : si64}} : ({IMAGE}, tensor<1xi64>)'
            " -> tensor<2x4x6xf32>\n"
            '%b = "onnx.Unsqueeze"(%s, %k) : (tensor<2x4x6xf32>, tensor<1xi64>) -> tensor<2x4x6x1xf32>',
            "tensor<2x4x6x1xf32>",
        ),
        "pool": model(
            f'%b, %i = "onnx.MaxPool"(%a) {{kernel_shape = [2 : si64, 2 : si64]}} : ({IMAGE})'
            " -> (tensor<2x4x5x4xf32>, none)",
            "tensor<2x4x5x4xf32>",
        ),
        "mean pool": model(
            f'%b = "onnx.AveragePool"(%a) {{kernel_shape = [2 : si64, 2 : si64]}} : ({IMAGE})'
            " -> tensor<2x4x5x4xf32>",
            "tensor<2x4x5x4xf32>",
        ),
        "one spatial dim": model(
            '%b = "onnx.Relu"(%a) : (tensor<2x4x9xf32>) -> tensor<2x4x9xf32>',
            "tensor<2x4x9xf32>",
            "tensor<2x4x9xf32>",
        ),
        "three spatial dims": model(
            '%b = "onnx.Relu"(%a) : (tensor<1x4x2x3x4xf32>) -> tensor<1x4x2x3x4xf32>',
            "tensor<1x4x2x3x4xf32>",
            "tensor<1x4x2x3x4xf32>",
        ),
    }
    return [pytest.param(text, id=name) for name, text in cases.items()]


@pytest.mark.parametrize("text", followers())
def test_what_stands_between_follows(text: str):
    assert border(converted(text)) == AROUND


def test_an_operand_of_lower_rank_that_is_not_constant_is_transposed():
    text = model(
        f'%b = "onnx.Add"(%a, %s) : ({IMAGE}, tensor<4x1x1xf32>) -> {IMAGE}', extra=", %s: tensor<4x1x1xf32>"
    )
    assert border(converted(text)) == [AROUND[0], "onnx.Unsqueeze -> onnx.Add", AROUND[1]]


@pytest.mark.parametrize(
    "made",
    [
        '%m = "onnx.Mul"(%z, %c) : (tensor<f32>, tensor<1x4x6x5xf32>) -> tensor<1x4x6x5xf32>',
        '%m = "onnx.DequantizeLinear"(%q, %z, %none) : (tensor<1x4x6x5xi8>, tensor<f32>, none)'
        " -> tensor<1x4x6x5xf32>",
    ],
)
def test_a_constant_that_gives_the_result_its_rank_keeps_dims_of_1(made: str):
    image = "tensor<1x4x6x5xf32>"
    rows = [[[[float(place % 7)] * 5 for place in range(6 * c, 6 * c + 6)] for c in range(4)]]
    text = model(
        f"%c = onnx.Constant dense<{rows}> : {image}\n"
        f"%q = onnx.Constant dense<{str(rows).replace('.0', '')}> : tensor<1x4x6x5xi8>\n"
        f'{made}\n%b = "onnx.Add"(%a, %m) : ({image}, {image}) -> {image}',
        image,
        image,
        extra=", %z: tensor<f32>",
    )
    assert border(converted(text)) == AROUND


def test_the_mean_of_all_places_is_that_of_two_axes():
    text = model(
        f'%b = "onnx.GlobalAveragePool"(%a) : ({IMAGE}) -> tensor<2x4x1x1xf32>', "tensor<2x4x1x1xf32>"
    )
    module = converted(text, Abs(1e-5), ORDINARY)
    assert "onnx.ReduceMean" in str(module)
    assert border(module) == AROUND


def test_a_normalization_is_a_product_and_a_sum():
    parameters = "\n".join(
        f"%{name} = onnx.Constant dense<[{values}]> : tensor<4xf32>"
        for name, values in (
            ("s", "1.0, 2.0, 3.0, 4.0"), ("h", "5.0, 6.0, 7.0, 8.0"),
            ("m", "-1.0, 1.0, 0.5, 0.25"), ("q", "1.0, 4.0, 9.0, 0.25"),
        )
    )  # fmt: skip
    normalize = (
        f'%b, %o, %p = "onnx.BatchNormalization"(%a, %s, %h, %m, %q) : ({IMAGE}, tensor<4xf32>,'
        f" tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> ({IMAGE}, none, none)"
    )
    module = converted(model(f"{parameters}\n{normalize}"), Abs(1e-5), ORDINARY)
    assert "onnx.BatchNormalization" not in str(module)
    assert border(module) == AROUND


def test_dims_need_not_be_known():
    image = "tensor<?x4x?x?xf32>"
    text = model(f'%b = "onnx.Relu"(%a) : ({image}) -> {image}', image, image)
    assert border(converted(text)) == AROUND
