"""Which products are none of integers, which ops stay outside, and why?"""

from __future__ import annotations

import pytest
from fusion_reasons import checked, detected, first, function_of, stops, unfit
from ir_graphs import graph

from onnxloom.dialects import onnx
from onnxloom.transforms.fusion.dequantized import (
    dequantized_factors,
    is_held_for_product,
    transposes_around,
)
from onnxloom.transforms.fusion.kinds.quantized_chain import QuantizedChainFusion
from onnxloom.transforms.miss import Miss

X, W = "%x : tensor<4x8xui8>", "%w : tensor<8x16xi8>"
S, Z, V = "%s : tensor<f32>", "%z : tensor<ui8>", "%v : tensor<16xf32>"
LEFT = "%0 = DequantizeLinear %x %s %none : tensor<4x8xf32>"
RIGHT = "%1 = DequantizeLinear %w %s %none : tensor<8x16xf32>"
PRODUCT = "%y = MatMul %0 %1 : tensor<4x16xf32>"
FLOATS = "tensor<4x16xf32>"


def product(
    *lines: str, inputs: tuple[str, ...] = (X, W, S), returns: str = "%y", results: str = FLOATS
) -> str:
    return graph(*lines, inputs=inputs, returns=returns, results=results)


CASES = {
    "onnx.Relu is no product of floats": (
        "Relu",
        product(LEFT, "%y = Relu %0 : tensor<4x8xf32>", results="tensor<4x8xf32>"),
    ),
    "a factor of onnx.MatMul is not dequantized": (
        "MatMul",
        product(RIGHT, "%y = MatMul %f %1 : tensor<4x16xf32>", inputs=("%f : tensor<4x8xf32>", W, S)),
    ),
    "onnx.DequantizeLinear of tensor<4x8xi32> gives no factor of 8 bits": (
        "MatMul",
        product(LEFT, RIGHT, PRODUCT, inputs=("%x : tensor<4x8xi32>", W, S)),
    ),
    "onnx.DequantizeLinear to tensor<4x8xf32> gives no factor in f32": (
        "MatMul",
        product(
            "%0 = DequantizeLinear %x %h %none : tensor<4x8xf32>",
            RIGHT,
            PRODUCT,
            inputs=(X, W, S, "%h : tensor<f16>"),
        ),
    ),
    "onnx.DequantizeLinear has a scale per block": (
        "MatMul",
        product(
            LEFT,
            "%1 = DequantizeLinear %w %v %none {block_size = 4 : si64} : tensor<8x16xf32>",
            PRODUCT,
            inputs=(X, W, S, "%v : tensor<2x16xf32>"),
        ),
    ),
    "the left factor of onnx.MatMul has several scales or zero points": (
        "MatMul",
        product(
            "%0 = DequantizeLinear %x %v %none {axis = 0 : si64} : tensor<4x8xf32>",
            RIGHT,
            PRODUCT,
            inputs=(X, W, S, "%v : tensor<4xf32>"),
        ),
    ),
    "the scales of the right factor of onnx.MatMul lie along an axis that is summed": (
        "MatMul",
        product(
            LEFT,
            "%1 = DequantizeLinear %w %v %none {axis = 0 : si64} : tensor<8x16xf32>",
            PRODUCT,
            inputs=(X, W, S, "%v : tensor<8xf32>"),
        ),
    ),
    "a Gemm with transA has no integer kernel": (
        "Gemm",
        product(
            LEFT,
            RIGHT,
            "%y = Gemm %0 %1 %none {transA = 1 : si64} : tensor<4x16xf32>",
            inputs=("%x : tensor<8x4xui8>", W, S),
        ).replace("tensor<4x8xf32>", "tensor<8x4xf32>"),
    ),
    "a Gemm with alpha or beta has no integer kernel": (
        "Gemm",
        product(LEFT, RIGHT, "%y = Gemm %0 %1 %none {alpha = 2.0 : f32} : tensor<4x16xf32>"),
    ),
    "MatMul of a vector": (
        "MatMul",
        product(
            "%0 = DequantizeLinear %x %s %none : tensor<8xf32>",
            RIGHT,
            "%y = MatMul %0 %1 : tensor<16xf32>",
            inputs=("%x : tensor<8xui8>", W, S),
            results="tensor<16xf32>",
        ),
    ),
    "onnx.MatMul of a tensor of unknown rank": (
        "MatMul",
        product(
            "%0 = DequantizeLinear %x %s %none : tensor<*xf32>",
            RIGHT,
            "%y = MatMul %0 %1 : tensor<*xf32>",
            inputs=("%x : tensor<*xui8>", W, S),
            results="tensor<*xf32>",
        ),
    ),
}


@pytest.mark.parametrize("reason", CASES)
def test_products_of_other_numbers(reason: str) -> None:
    name, text = CASES[reason]
    found = dequantized_factors(first(function_of(text), name))
    assert isinstance(found, Miss) and found.reason == reason


def test_the_kind_asks_for_dequantized_factors() -> None:
    text = product(RIGHT, "%y = MatMul %f %1 : tensor<4x16xf32>", inputs=("%f : tensor<4x8xf32>", W, S))
    assert unfit(QuantizedChainFusion, text, "MatMul") == "a factor of onnx.MatMul is not dequantized"
    relu = product(LEFT, "%y = Relu %0 : tensor<4x8xf32>", results="tensor<4x8xf32>")
    assert unfit(QuantizedChainFusion, relu, "Relu") == "onnx.Relu is not a matrix product"


def test_bias_of_a_gemm_is_a_vector() -> None:
    text = product(
        LEFT, RIGHT, "%y = Gemm %0 %1 %c : tensor<4x16xf32>", inputs=(X, W, S, "%c : tensor<4x16xf32>")
    )
    assert unfit(QuantizedChainFusion, text, "Gemm") == "the bias of a Gemm is no vector"


def test_a_convolution_with_a_window_that_has_no_kernel() -> None:
    inputs = ("%x : tensor<1x4x5x5xui8>", "%w : tensor<6x4x3x3xi8>", S)
    text = graph(
        "%0 = DequantizeLinear %x %s %none : tensor<1x4x5x5xf32>",
        "%1 = DequantizeLinear %w %s %none : tensor<6x4x3x3xf32>",
        "%y = Conv %0 %1 %none {pads = [-1, 0, 0, 0]} : tensor<1x6x2x3xf32>",
        inputs=inputs,
        results="tensor<1x6x2x3xf32>",
    )
    reason = unfit(QuantizedChainFusion, text, "Conv")
    assert reason == "negative pads of a convolution have no kernel"


INTEGERS = {
    "onnx.MatMulInteger of a tensor of type tensor<8xui8>": ("%x : tensor<8xui8>", "tensor<16xi32>"),
    "the rank of the result of onnx.MatMulInteger is not known": (X, "tensor<*xi32>"),
}


@pytest.mark.parametrize("reason", INTEGERS)
def test_products_of_integers(reason: str) -> None:
    x, result = INTEGERS[reason]
    text = graph(f"%y = MatMulInteger %x %w %none %none : {result}", inputs=(x, W), results=result)
    assert unfit(QuantizedChainFusion, text, "MatMulInteger") == reason


def test_products_of_wider_integers() -> None:
    text = graph(
        "%y = MatMulInteger %x %w %none %none : tensor<4x16xi32>",
        inputs=("%x : tensor<4x8xi32>", W),
        results="tensor<4x16xi32>",
    )
    assert unfit(QuantizedChainFusion, text, "MatMulInteger") == "onnx.MatMulInteger of element type i32"


def test_a_dequantization_that_is_read_elsewhere() -> None:
    other = "%2 = Relu %0 : tensor<4x8xf32>"
    text = product(LEFT, RIGHT, PRODUCT, other)
    reason = detected(QuantizedChainFusion, text, "MatMul")
    assert reason == "the result of onnx.DequantizeLinear is read elsewhere"


def test_a_tensor_times_itself() -> None:
    text = graph(
        "%0 = DequantizeLinear %x %s %none : tensor<8x8xf32>",
        "%y = MatMul %0 %0 : tensor<8x8xf32>",
        inputs=("%x : tensor<8x8xui8>", S),
        results="tensor<8x8xf32>",
    )
    assert detected(QuantizedChainFusion, text, "MatMul") == "onnx.MatMul of a tensor and itself"


def test_a_dequantization_that_no_elementwise_op_reads_stays_outside() -> None:
    text = product(
        LEFT,
        RIGHT,
        "%2 = MatMul %0 %1 : tensor<4x16xf32>",
        "%3 = QuantizeLinear %2 %s %z : tensor<4x16xui8>",
        "%4 = DequantizeLinear %3 %s %z : tensor<4x16xf32>",
        "%y = Softmax %4 : tensor<4x16xf32>",
        inputs=(X, W, S, Z),
    )
    assert detected(QuantizedChainFusion, text, "MatMul") == 4
    assert stops(QuantizedChainFusion, text, "MatMul") == [
        "what reads the result of onnx.DequantizeLinear is not elementwise"
    ]


def test_a_chain_does_not_end_with_a_dequantization() -> None:
    """The Add that reads it has another shape: it stays outside, and the dequantization with it."""
    text = product(
        LEFT,
        RIGHT,
        "%2 = MatMul %0 %1 : tensor<4x16xf32>",
        "%3 = QuantizeLinear %2 %s %z : tensor<4x16xui8>",
        "%4 = DequantizeLinear %3 %s %z : tensor<4x16xf32>",
        "%y = Add %4 %f : tensor<2x4x16xf32>",
        inputs=(X, W, S, Z, "%f : tensor<2x1x1xf32>"),
        results="tensor<2x4x16xf32>",
    )
    assert detected(QuantizedChainFusion, text, "MatMul") == 4


def test_a_body_that_begins_with_something_else() -> None:
    text = product(
        LEFT, RIGHT, "%2 = Neg %s : tensor<f32>", "%3 = MatMul %0 %1 : tensor<4x16xf32>",
        "%y = Add %3 %2 : tensor<4x16xf32>",
    )  # fmt: skip
    reason = checked(QuantizedChainFusion(5), text)
    assert reason == "the body does not begin with onnx.MatMul and what belongs to it"


def bias(scale: str, element: str = "i32", zero: str = "%none") -> Miss | object:
    """What is found of the bias of a Gemm with factors of scales 0.5 and 0.25."""
    text = product(
        "%s = dense<0.5> : tensor<f32>",
        "%t = dense<0.25> : tensor<f32>",
        f"%u = dense<{scale}> : tensor<f32>",
        "%one = dense<1> : tensor<i32>",
        LEFT,
        "%1 = DequantizeLinear %w %t %none : tensor<8x16xf32>",
        f"%2 = DequantizeLinear %b %u {zero} : tensor<16xf32>",
        "%y = Gemm %0 %1 %2 : tensor<4x16xf32>",
        inputs=(X, W, f"%b : tensor<16x{element}>"),
    )
    found = dequantized_factors(first(function_of(text), "Gemm"))
    assert not isinstance(found, Miss)
    return found.bias


def test_which_bias_is_added_to_sums_of_integers() -> None:
    assert isinstance(bias("0.125"), onnx.DequantizeLinearOp)
    assert isinstance(bias("0.12500001"), onnx.DequantizeLinearOp), "rounding of floats"
    assert bias("0.126") is None, "its scale is another one"
    assert bias("0.125", element="i8") is None, "it has no 32 bits"
    assert bias("0.125", zero="%one") is None, "it has a zero point"


def test_a_bias_with_a_scale_that_is_not_known_is_added_to_floats() -> None:
    text = product(
        LEFT,
        RIGHT,
        "%2 = DequantizeLinear %b %s %none : tensor<16xf32>",
        "%y = Gemm %0 %1 %2 : tensor<4x16xf32>",
        inputs=(X, W, S, "%b : tensor<16xi32>"),
    )
    found = dequantized_factors(first(function_of(text), "Gemm"))
    assert not isinstance(found, Miss) and found.bias is None


def held(*lines: str) -> bool:
    result = lines[-1].rpartition(" : ")[2]
    text = product(*lines, inputs=(X, W, S, "%f : tensor<4x8xf32>"), results=result)
    return is_held_for_product(next(op for op in function_of(text).walk() if _reads_weights(op)))  # pyright: ignore


def _reads_weights(op: object) -> bool:
    return isinstance(op, onnx.DequantizeLinearOp) and op.x.name_hint == "w"


def test_which_constants_stay_integers() -> None:
    assert held(LEFT, RIGHT, PRODUCT)
    turned = "%2 = Transpose %1 {perm = [1, 0]} : tensor<16x8xf32>"
    again = "%3 = Transpose %2 {perm = [1, 0]} : tensor<8x16xf32>"
    assert held(LEFT, RIGHT, turned, again, "%y = MatMul %0 %3 : tensor<4x16xf32>")
    moved = "%4 = Reshape %0 %shape : tensor<4x8xf32>", "%y = MatMul %4 %1 : tensor<4x16xf32>"
    assert held("%shape = dense<[4, 8]> : tensor<2xi64>", LEFT, RIGHT, *moved)
    assert not held(RIGHT, "%y = MatMul %f %1 : tensor<4x16xf32>"), "the other factor is one of floats"
    matrix = "%c = dense<1.0> : tensor<1x16xf32>", "%y = Gemm %0 %1 %c : tensor<4x16xf32>"
    assert not held(LEFT, RIGHT, *matrix), "the product is none of this kind"
    assert not held(RIGHT, "%y = Relu %1 : tensor<8x16xf32>"), "nothing multiplies it"
    assert not held(RIGHT, "%y = Identity %f : tensor<4x8xf32>"), "nothing reads it"


CONVOLUTION = """func.func @f(%x: tensor<1x4x4x8xf32>, %w: tensor<8x8x1x1xf32>) -> tensor<1x4x4x8xf32> {
  %none = "onnx.NoValue"() {value} : () -> none
  %c = onnx.Constant dense<true> : tensor<i1>
  %0 = "onnx.Transpose"(%x) {perm = [0 : si64, 3 : si64, 1 : si64, 2 : si64]}
    : (tensor<1x4x4x8xf32>) -> tensor<1x8x4x4xf32>
  %1 = "onnx.Conv"(%0, %w, %none) : (tensor<1x8x4x4xf32>, tensor<8x8x1x1xf32>, none) -> tensor<1x8x4x4xf32>
  HERE
  onnx.Return %2 : tensor<1x4x4x8xf32>
}"""
LAST = """"onnx.Transpose"(%1) {perm = [0 : si64, 2 : si64, 3 : si64, 1 : si64]}
    : (tensor<1x8x4x4xf32>) -> tensor<1x4x4x8xf32>"""
IN_A_BRANCH = f"""%2 = "onnx.If"(%c) ({{
    %then = {LAST}
    "onnx.Yield"(%then) : (tensor<1x4x4x8xf32>) -> ()
  }}, {{
    "onnx.Yield"(%x) : (tensor<1x4x4x8xf32>) -> ()
  }}) : (tensor<i1>) -> tensor<1x4x4x8xf32>"""


@pytest.mark.parametrize(("after", "are_there"), [(f"%2 = {LAST}", True), (IN_A_BRANCH, False)])
def test_a_transpose_in_a_branch_is_not_the_convolutions(after: str, are_there: bool) -> None:
    convolution = first(function_of(CONVOLUTION.replace("HERE", after)), "Conv")
    assert (transposes_around(convolution) is not None) is are_there
