"""Why an op between two convolutions does not go along. Each says it once, at the border."""

from __future__ import annotations

import pytest
from layout_models import IMAGE, inferred, model, run

from onnxloom.dialects.onnx.text import parse_module

NO_RANK = "the input is no tensor of rank 3 to 5"
SIX = "tensor<1x1x2x4x6x5xf32>"
"""Of a rank that has no layout."""

AXES = "tensor<1xi64>"
P = "tensor<4xf32>"
"""Parameters of the channels."""


def declined(text: str) -> list[str]:
    return [miss.reason for op, miss in run(inferred(text)).declined if not op.startswith("onnx.Transpose")]


def one(op: str, result: str = IMAGE, **options: object) -> str:
    """A convolution, an op on its result %a that gives %f of type `result`, and a second convolution of %a.

    `op` is the op with its types, without the result; lines before it define constants.
    """
    lines = op.splitlines()
    text = "\n".join([*lines[:-1], f"%f = {lines[-1]} -> {result}"])
    sum_ = f'%b = "onnx.Relu"(%a) : ({IMAGE}) -> {IMAGE}'
    return model(f"{text}\n{sum_}", output=("%f", result), **options)  # pyright: ignore[reportArgumentType]


def ints(name: str, *values: int) -> str:
    return f"%{name} = onnx.Constant dense<{list(values)}> : tensor<{len(values)}xi64>\n"


CASES = {
    "cast to a type without kernel": (
        one(f'"onnx.Cast"(%a) {{to = 8 : si64}} : ({IMAGE})', "tensor<2x4x6x5x!onnx.String>"),
        "this form of it is not elementwise",
    ),
    "result of a rank without layout": (
        one(f'"onnx.Mul"(%a, %e) : ({IMAGE}, {SIX})', "tensor<?x?x?x?x?x?xf32>", extra=f", %e: {SIX}"),
        "the result is no tensor of rank 3 to 5",
    ),
    "operand of unknown rank": (
        one(f'"onnx.Mul"(%a, %e) : ({IMAGE}, tensor<*xf32>)', IMAGE, extra=", %e: tensor<*xf32>"),
        "the rank of an operand is not known",
    ),
    "concatenation of unknown rank": (
        one(
            f'"onnx.Concat"(%a, %e) {{axis = 1 : si64}} : ({IMAGE}, tensor<*xf32>)',
            "tensor<2x?x6x5xf32>",
            extra=", %e: tensor<*xf32>",
        ),
        "not all of its tensors are known to have one rank from 3 to 5",
    ),
    "slices along unknown axes": (
        one(
            f'"onnx.Slice"(%a, %e, %e, %e, %none) : ({IMAGE}, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>,'
            " none)",
            "tensor<?x?x?x?xf32>",
            extra=", %e: tensor<1xi64>",
        ),
        "the axes are not constant",
    ),
    "slices along an unknown number of axes": (
        one(
            f'"onnx.Slice"(%a, %e, %e, %none, %none) : ({IMAGE}, tensor<?xi64>, tensor<?xi64>, none, none)',
            "tensor<?x?x?x?xf32>",
            extra=", %e: tensor<?xi64>",
        ),
        "how many axes are sliced is not known",
    ),
    "padding along unknown axes": (
        one(
            f'"onnx.Pad"(%a, %p, %none, %e) : ({IMAGE}, tensor<2xi64>, none, tensor<1xi64>)',
            "tensor<?x?x?x?xf32>",
            extra=", %p: tensor<2xi64>, %e: tensor<1xi64>",
        ),
        "the axes are not constant",
    ),
    "crop and resize": (
        one(
            f'%k = onnx.Constant dense<1.0> : tensor<4xf32>\n'
            f'"onnx.Resize"(%a, %e, %k, %none) {{coordinate_transformation_mode = "tf_crop_and_resize"}}'
            f" : ({IMAGE}, tensor<8xf32>, tensor<4xf32>, none)",
            "tensor<2x4x6x5xf32>",
            extra=", %e: tensor<8xf32>",
        ),
        "it crops by a region that names all axes in their order",
    ),
    "sums over unknown axes": (
        one(
            f'"onnx.ReduceSum"(%a, %e) : ({IMAGE}, {AXES})', "tensor<?x?x?x?xf32>", extra=f", %e: {AXES}"
        ),
        "the axes are not constant, or there are none",
    ),
    "sums over no axes": (
        one(
            f'{ints("k")}"onnx.ReduceSum"(%a, %k) {{noop_with_empty_axes = 1 : si64}}'
            f" : ({IMAGE}, tensor<0xi64>)"
        ),
        "the axes are not constant, or there are none",
    ),
    "sums over omitted axes that are none": (
        one(
            f'"onnx.ReduceSum"(%a, %none) {{noop_with_empty_axes = 1 : si64}} : ({IMAGE}, none)'
        ),
        "the axes are not constant, or there are none",
    ),
    "sums over images": (
        one(
            f'{ints("k", 0)}"onnx.ReduceSum"(%a, %k) {{keepdims = 0 : si64}} : ({IMAGE}, tensor<1xi64>)',
            "tensor<4x6x5xf32>",
        ),
        "what remains has an order of its own",
    ),
    "removed dims that are not named": (
        one(f'"onnx.Squeeze"(%a, %none) : ({IMAGE}, none)', "tensor<*xf32>"),
        "the axes are not constant",
    ),
    "removed dims that are not constant": (
        one(f'"onnx.Squeeze"(%a, %e) : ({IMAGE}, {AXES})', "tensor<?x?x?xf32>", extra=f", %e: {AXES}"),
        "the axes are not constant",
    ),
    "dims put in before the images": (
        one(
            f'{ints("k", 0)}"onnx.Unsqueeze"(%a, %k) : ({IMAGE}, tensor<1xi64>)',
            "tensor<1x2x4x6x5xf32>",
        ),
        "the smaller tensor has an order of its own",
    ),
    "dims put in above the ranks that have a layout": (
        one(
            f'{ints("k", 0, 1)}"onnx.Unsqueeze"(%a, %k) : ({IMAGE}, tensor<2xi64>)',
            SIX,
        ),
        "the larger tensor is none of rank 3 to 5",
    ),
    "reshaped channels": (
        one(f'{ints("k", 2, 2, 60)}"onnx.Reshape"(%a, %k) : ({IMAGE}, tensor<3xi64>)', "tensor<2x2x60xf32>"),
        "images and channels do not stay what they are, and there is more than one place",
    ),
    "flattened places": (
        one(f'"onnx.Flatten"(%a) : ({IMAGE})', "tensor<2x120xf32>"),
        "images and channels do not stay what they are, and there is more than one place",
    ),
    "statistics of the batch": (
        model(
            '%f, %o, %p = "onnx.BatchNormalization"(%a, %s, %s, %s, %s) {training_mode = 1 : si64}'
            f" : ({IMAGE}, {P}, {P}, {P}, {P}) -> ({IMAGE}, none, none)\n"
            f'%b = "onnx.Relu"(%a) : ({IMAGE}) -> {IMAGE}',
            extra=", %s: tensor<4xf32>",
            output=("%f", IMAGE),
        ),
        "in training mode the statistics are those of the batch",
    ),
    "parameters that are not constant": (
        model(
            '%f, %o, %p = "onnx.BatchNormalization"(%a, %s, %s, %s, %s)'
            f" : ({IMAGE}, {P}, {P}, {P}, {P}) -> ({IMAGE}, none, none)\n"
            f'%b = "onnx.Relu"(%a) : ({IMAGE}) -> {IMAGE}',
            extra=", %s: tensor<4xf32>",
            output=("%f", IMAGE),
        ),
        "its parameters are not constant",
    ),
    "parameters of another type": (
        model(
            "%s = onnx.Constant dense<1.0> : tensor<4xf32>\n%d = onnx.Constant dense<1.0> : tensor<4xf64>\n"
            '%f, %o, %p = "onnx.BatchNormalization"(%a, %s, %s, %d, %d)'
            f" : ({IMAGE}, {P}, {P}, tensor<4xf64>, tensor<4xf64>) -> ({IMAGE}, none, none)\n"
            f'%b = "onnx.Relu"(%a) : ({IMAGE}) -> {IMAGE}',
            output=("%f", IMAGE),
        ),
        "its parameters are of another type than its input",
    ),
    "places of maxima": (
        model(
            f'%m, %f = "onnx.MaxPool"(%a) {{kernel_shape = [1 : si64, 1 : si64]}} : ({IMAGE})'
            " -> (tensor<2x4x6x5xf32>, tensor<2x4x6x5xi64>)\n"
            f'%b = "onnx.Relu"(%a) : ({IMAGE}) -> {IMAGE}',
            output=("%f", "tensor<2x4x6x5xi64>"),
        ),
        "the places of the maxima are read, which count channels-first",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("text", "reason"), [pytest.param(*case, id=name) for name, case in CASES.items()])
def test_why_an_op_does_not_follow(text: str, reason: str):
    assert declined(text) == [reason]


def test_a_result_whose_rank_no_type_says():
    text = one(f'"onnx.ReduceMax"(%a, %none) : ({IMAGE}, none)', "tensor<*xf32>")
    report = run(parse_module(text))  # types as they stand
    assert [miss.reason for _, miss in report.declined] == [
        "the rank of what it reads or gives is not known to be 3 to 5"
    ]


def test_weights_of_unknown_shape():
    weights = "tensor<?x4x1x1xf32>"
    text = f"""
func.func @main(%x: {IMAGE}, %w: {weights}) -> tensor<2x?x6x5xf32> {{
  %none = "onnx.NoValue"() {{value}} : () -> none
  %y = "onnx.Conv"(%x, %w, %none) : ({IMAGE}, {weights}, none) -> tensor<2x?x6x5xf32>
  onnx.Return %y : tensor<2x?x6x5xf32>
}}"""
    assert declined(text) == ["the shape of a convolution's weights is not known"]
