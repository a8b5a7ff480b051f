"""Weights take over the BatchNormalization, Mul or Add behind their op, or there is a reason why not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from weight_cases import computing, constant, dense, function, normalization, tensor
from xdsl.dialects.builtin import ModuleOp

from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.constant import constant_value
from onnxloom.testing import Rel
from onnxloom.testing.patterns import check_pattern, decline_reason
from onnxloom.transforms.patterns.weights.batch_normalization_add import BatchNormalizationAddPattern
from onnxloom.transforms.patterns.weights.batch_normalization_mul import BatchNormalizationMulPattern
from onnxloom.transforms.patterns.weights.conv_add import ConvAddPattern
from onnxloom.transforms.patterns.weights.conv_batch_normalization import ConvBatchNormalizationPattern
from onnxloom.transforms.patterns.weights.conv_mul import ConvMulPattern
from onnxloom.transforms.patterns.weights.conv_transpose_add import ConvTransposeAddPattern
from onnxloom.transforms.patterns.weights.conv_transpose_batch_normalization import (
    ConvTransposeBatchNormalizationPattern,
)
from onnxloom.transforms.patterns.weights.conv_transpose_mul import ConvTransposeMulPattern
from onnxloom.transforms.patterns.weights.gemm_batch_normalization import GemmBatchNormalizationPattern
from onnxloom.transforms.patterns.weights.gemm_mul import GemmMulPattern
from onnxloom.transforms.patterns.weights.mat_mul_batch_normalization import MatMulBatchNormalizationPattern
from onnxloom.transforms.patterns.weights.mat_mul_mul import MatMulMulPattern
from onnxloom.transforms.rewriting.pattern import PatternOptimization

PatternClass = type[PatternOptimization]

IMAGE = tensor([1, 4, 5, 5])
CONV = tensor([1, 6, 3, 3])
"""Result of a 3x3 Conv to 6 channels."""

TRANSPOSED = tensor([1, 6, 7, 7])


def conv(
    *,
    group: int = 1,
    bias: str = "random",
    weight: str = "",
    name: str = "c",
    w: str = "w",
    properties: str = "",
) -> str:
    shape = [6, 4 // group, 3, 3]
    text = constant(w, shape, weight)
    operand, operand_type = ("none", "none") if bias == "" else ("b", tensor([6]))
    if bias == "random":
        text += constant("b", [6])
    return text + (
        f'%{name} = "onnx.Conv"(%x, %{w}, %{operand}) <{{group = {group} : si64{properties}}}> '
        f'{{onnx_node_name = "conv"}} : ({IMAGE}, {tensor(shape)}, {operand_type}) -> {CONV}\n'
    )


def transposed(*, group: int = 1, bias: bool = True) -> str:
    shape = [4, 6 // group, 3, 3]
    text = constant("w", shape)
    text += constant("b", [6]) if bias else ""
    operand, operand_type = ("b", tensor([6])) if bias else ("none", "none")
    return text + (
        f'%c = "onnx.ConvTranspose"(%x, %w, %{operand}) <{{group = {group} : si64}}> : '
        f"({IMAGE}, {tensor(shape)}, {operand_type}) -> {TRANSPOSED}\n"
    )


def binary(op: str, shape: list[int], result: str, *, swap: bool = False, numbers: str = "") -> str:
    data, other = ("%c", result), ("%k", tensor(shape))
    first, second = (other, data) if swap else (data, other)
    return constant("k", shape, numbers) + (
        f'%y = "onnx.{op}"({first[0]}, {second[0]}) : ({first[1]}, {second[1]}) -> {result}\n'
    )


def image(body: str, result: str = CONV, **options: str) -> ModuleOp:
    return function(f"%x: {IMAGE}", body, result, **options)


FEEDS = {"x": np.random.default_rng(0).standard_normal((1, 4, 5, 5)).astype(np.float32)}


def bn(result: str = CONV, channels: int = 6, properties: str = "") -> str:
    return normalization("y", "c", result, channels, properties)


@pytest.mark.parametrize("bias", ["random", ""])
@pytest.mark.parametrize("group", [1, 2])
def test_conv_and_batch_normalization(group: int, bias: str) -> None:
    module = image(conv(group=group, bias=bias) + bn(properties="epsilon = 0.01 : f32"))
    done = check_pattern(module, ConvBatchNormalizationPattern, FEEDS, times=1)
    assert computing(done) == ["Conv"]
    folded = next(op for op in done.walk() if isinstance(op, onnx.ConvOp))
    assert str(folded.attributes["onnx_node_name"]) == '"conv"'


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("group", [1, 2])
@pytest.mark.parametrize(
    ("pattern", "affine"),
    [
        (ConvTransposeBatchNormalizationPattern, bn(TRANSPOSED)),
        (ConvTransposeMulPattern, binary("Mul", [6, 1, 1], TRANSPOSED)),
        (ConvTransposeAddPattern, binary("Add", [1, 6, 1, 1], TRANSPOSED)),
    ],
)
def test_conv_transpose(pattern: PatternClass, affine: str, group: int, bias: bool) -> None:
    """Its weights have the output channels of one group along axis 1."""
    module = image(transposed(group=group, bias=bias) + affine, TRANSPOSED)
    assert computing(check_pattern(module, pattern, FEEDS, times=1)) == ["ConvTranspose"]


@pytest.mark.parametrize("swap", [False, True])
@pytest.mark.parametrize("shape", [[6, 1, 1], [1, 6, 1, 1], [], [1], [1, 1], [1, 1, 1, 1]])
@pytest.mark.parametrize(("op", "pattern"), [("Mul", ConvMulPattern), ("Add", ConvAddPattern)])
@pytest.mark.parametrize("bias", ["random", ""])
def test_constants_that_are_one_number_per_channel(
    op: str, pattern: PatternClass, shape: list[int], swap: bool, bias: str
) -> None:
    module = image(conv(bias=bias) + binary(op, shape, CONV, swap=swap))
    assert computing(check_pattern(module, pattern, FEEDS, times=1)) == ["Conv"]


@pytest.mark.parametrize("op", ["Mul", "Add"])
@pytest.mark.parametrize(
    "shape",
    [
        [6],  # per column of a result that is 6 wide
        [1, 6],
        [6, 1],
        [6, 6, 1],
        [1, 6, 6, 6],
        [1, 6, 1, 6],
    ],
)
def test_constants_that_are_not(op: str, shape: list[int]) -> None:
    pattern = ConvMulPattern if op == "Mul" else ConvAddPattern
    square, result = tensor([1, 4, 8, 8]), tensor([1, 6, 6, 6])
    body = constant("w", [6, 4, 3, 3]) + (
        f'%c = "onnx.Conv"(%x, %w, %none) : ({square}, {tensor([6, 4, 3, 3])}, none) -> {result}\n'
    )
    module = function(f"%x: {square}", body + binary(op, shape, result), result)
    assert "the constant is not one number per channel" in decline_reason(module, pattern)


def test_a_constant_of_higher_rank_or_more_batches() -> None:
    more = tensor([1, 1, 6, 3, 3])
    text = constant("k", [1, 1, 1, 1, 1]) + (
        f'%y = "onnx.Mul"(%c, %k) : ({CONV}, {tensor([1, 1, 1, 1, 1])}) -> {more}\n'
    )
    assert "not one number per channel" in decline_reason(image(conv() + text, more), ConvMulPattern)
    batches = tensor([2, 6, 3, 3])
    text = constant("k", [2, 1, 1, 1]) + (
        f'%y = "onnx.Mul"(%c, %k) : ({CONV}, {tensor([2, 1, 1, 1])}) -> {batches}\n'
    )
    assert "not one number per channel" in decline_reason(image(conv() + text, batches), ConvMulPattern)


def test_one_channel_is_not_made_many() -> None:
    result, many = tensor([1, 1, 3, 3]), tensor([1, 6, 3, 3])
    body = constant("w", [1, 4, 3, 3]) + (
        f'%c = "onnx.Conv"(%x, %w, %none) : ({IMAGE}, {tensor([1, 4, 3, 3])}, none) -> {result}\n'
    )
    text = constant("k", [6, 1, 1]) + (
        f'%y = "onnx.Add"(%c, %k) : ({result}, {tensor([6, 1, 1])}) -> {many}\n'
    )
    assert "not one number per channel" in decline_reason(image(body + text, many), ConvAddPattern)


GEMM_INPUT, GEMM = tensor([3, 4]), tensor([3, 5])


def gemm(*, properties: str = "", b: tuple[int, ...] = (4, 5), c: list[int] | None = None) -> str:
    text = constant("w", b)
    operand, operand_type = ("none", "none")
    if c is not None:
        text += constant("b", c)
        operand, operand_type = "b", tensor(c)
    return text + (
        f'%c = "onnx.Gemm"(%x, %w, %{operand}) <{{{properties}}}> : '
        f"({GEMM_INPUT}, {tensor(b)}, {operand_type}) -> {GEMM}\n"
    )


def matrix(body: str, result: str = GEMM, **options: str) -> ModuleOp:
    return function(f"%x: {GEMM_INPUT}", body, result, **options)


ROWS = {"x": np.random.default_rng(1).standard_normal((3, 4)).astype(np.float32)}


@pytest.mark.parametrize(
    ("pattern", "affine"),
    [
        (GemmBatchNormalizationPattern, bn(GEMM, 5)),
        (GemmMulPattern, binary("Mul", [5], GEMM)),
        (GemmMulPattern, binary("Mul", [1, 5], GEMM, swap=True)),
        (GemmMulPattern, binary("Mul", [], GEMM)),
    ],
)
@pytest.mark.parametrize(
    "linear",
    [
        gemm(),
        gemm(c=[5]),
        gemm(c=[1, 5]),
        gemm(c=[]),
        gemm(properties="alpha = 0.5 : f32, beta = 0.25 : f32", c=[5]),
        gemm(properties="transB = 1 : si64", b=(5, 4), c=[1]),
    ],
)
def test_gemm(pattern: PatternClass, affine: str, linear: str) -> None:
    assert computing(check_pattern(matrix(linear + affine), pattern, ROWS, times=1)) == ["Gemm"]


@pytest.mark.parametrize("c", [[3, 5], [3, 1]])
def test_a_gemm_whose_c_differs_by_row(c: list[int]) -> None:
    module = matrix(gemm(c=c) + binary("Mul", [5], GEMM))
    assert "the bias is not one number per channel" in decline_reason(module, GemmMulPattern)


def product(x: str = GEMM_INPUT, result: str = GEMM, w: tuple[int, ...] = (4, 5)) -> str:
    return constant("w", w) + f'%c = "onnx.MatMul"(%x, %w) : ({x}, {tensor(w)}) -> {result}\n'


def test_a_product_and_batch_normalization_become_a_gemm() -> None:
    done = check_pattern(matrix(product() + bn(GEMM, 5)), MatMulBatchNormalizationPattern, ROWS, times=1)
    assert computing(done) == ["Gemm"]


def test_channels_of_a_stack_of_products_are_no_columns() -> None:
    stack, result = tensor([2, 5, 4]), tensor([2, 5, 5])
    module = function(f"%x: {stack}", product(stack, result) + bn(result, 5), result)
    assert "the first factor is no matrix" in decline_reason(module, MatMulBatchNormalizationPattern)


@pytest.mark.parametrize("shape", [[5], [1, 5], [1, 1, 5], [], [1, 1, 1]])
def test_a_product_and_a_number_per_column(shape: list[int]) -> None:
    stack, result = tensor([2, None, 4]), tensor([2, None, 5])
    module = function(f"%x: {stack}", product(stack, result) + binary("Mul", shape, result), result)
    feeds = {"x": np.random.default_rng(1).standard_normal((2, 3, 4)).astype(np.float32)}
    assert computing(check_pattern(module, MatMulMulPattern, feeds, times=1)) == ["MatMul"]


def scaled(x: str, w: str, result: str, k: str = "f32", *, weight: str = "") -> ModuleOp:
    """A product of two tensor types and a Mul by a number; the weight is an input where none is given."""
    inputs = f"%x: tensor<{x}>" + ("" if weight else f", %w: tensor<{w}>")
    body = f"%w = onnx.Constant {weight} : tensor<{w}>\n" if weight else ""
    body += f'%c = "onnx.MatMul"(%x, %w) : (tensor<{x}>, tensor<{w}>) -> tensor<{result}>\n'
    body += f"%k = onnx.Constant dense<3.0> : tensor<{k}>\n".replace("3.0", "3" if k == "i32" else "3.0")
    body += f'%y = "onnx.Mul"(%c, %k) : (tensor<{result}>, tensor<{k}>) -> tensor<{result}>\n'
    return function(inputs, body, f"tensor<{result}>")


NO_MATRIX = "the weight is no matrix, or the rank of the result is not known"


@pytest.mark.parametrize(
    ("module", "reason"),
    [
        (
            scaled("3x4xf32", "4x5xf32", "3x5xf32", "3x1xf32", weight="dense<1.0>"),
            "not one number per channel",
        ),
        (scaled("2x3x4xf32", "2x4x5xf32", "2x3x5xf32", weight="dense<1.0>"), NO_MATRIX),
        (scaled("*xf32", "4x5xf32", "*xf32", weight="dense<1.0>"), NO_MATRIX),
        (scaled("4xf32", "4x5xf32", "5xf32", weight="dense<1.0>"), NO_MATRIX),
        (scaled("3x4xf32", "4x5xf32", "3x5xf32"), "the weight is not constant"),
        (scaled("3x4xf32", "4x?xf32", "3x?xf32"), "the dims of the weight are not known"),
        (scaled("3x4xi32", "4x5xi32", "3x5xi32", "i32", weight="dense<7>"), "its numbers are no floats"),
    ],
)
def test_products_that_keep_their_weights(module: ModuleOp, reason: str) -> None:
    assert reason in decline_reason(module, MatMulMulPattern)


MUL = binary("Mul", [6, 1, 1], CONV)
ADD = binary("Add", [6, 1, 1], CONV)
RELU = f'%r = "onnx.Relu"(%c) : ({CONV}) -> {CONV}\n'


@pytest.mark.parametrize("pattern", [ConvMulPattern, ConvAddPattern, ConvBatchNormalizationPattern])
def test_a_result_that_somebody_else_reads(pattern: PatternClass) -> None:
    by_pattern: dict[PatternClass, str] = {ConvMulPattern: MUL, ConvAddPattern: ADD}
    affine = by_pattern.get(pattern, bn())
    reason = "the result is not read by one onnx."
    for module in (
        image(conv() + RELU + affine, f"{CONV}, {CONV}", results="%y, %r"),
        image(conv() + affine, f"{CONV}, {CONV}", results="%y, %c"),
        image(conv() + RELU, CONV, results="%r"),
    ):
        assert reason in decline_reason(module, pattern)


def test_a_result_that_a_branch_reads() -> None:
    branch = f"""%r = "onnx.If"(%cond) ({{
        onnx.Yield %c : {CONV}
    }}, {{
        onnx.Yield %y : {CONV}
    }}) : (tensor<i1>) -> {CONV}\n"""
    module = function(f"%x: {IMAGE}, %cond: tensor<i1>", conv() + MUL + branch, CONV, results="%r")
    assert "the result is not read by one onnx.Mul alone" in decline_reason(module, ConvMulPattern)


def twice(name: str, operands: str = "%x, %w, %b") -> str:
    types = f"{IMAGE}, {tensor([6, 4, 3, 3])}, {'none' if 'none' in operands else tensor([6])}"
    return f'%{name} = "onnx.Conv"({operands}) : ({types}) -> {CONV}\n'


def test_weights_that_two_read_stay() -> None:
    """Two branches of one network: each would put its own norm into the weights of both."""
    shared = conv() + constant("b2", [6]) + twice("d", "%x, %w, %b2")
    results = f"{CONV}, {CONV}"
    for pattern, affine in ((ConvMulPattern, MUL), (ConvBatchNormalizationPattern, bn())):
        module = image(shared + affine, results, results="%y, %d")
        assert "something else reads the weight too" in decline_reason(module, pattern)
    both = shared + normalization("y", "c", CONV, 6) + normalization("z", "d", CONV, 6)
    module = image(both, results, results="%y, %z")
    assert "something else reads the weight too" in decline_reason(module, ConvBatchNormalizationPattern)


def test_a_bias_that_two_read_is_changed_for_one() -> None:
    shared = conv() + constant("w2", [6, 4, 3, 3]) + twice("d", "%x, %w2, %b")
    cases: list[tuple[PatternClass, str]] = [
        (ConvMulPattern, MUL), (ConvAddPattern, ADD), (ConvBatchNormalizationPattern, bn()),
    ]  # fmt: skip
    for pattern, affine in cases:
        module = image(shared + affine, f"{CONV}, {CONV}", results="%y, %d")
        assert computing(check_pattern(module, pattern, FEEDS, times=1)) == ["Conv", "Conv"]


def test_an_add_leaves_shared_weights_alone() -> None:
    shared = conv(bias="") + twice("d", "%x, %w, %none")
    module = image(shared + ADD, f"{CONV}, {CONV}", results="%y, %d")
    assert computing(check_pattern(module, ConvAddPattern, FEEDS, times=1)) == ["Conv", "Conv"]


def test_a_weight_that_is_an_output_stays() -> None:
    module = image(conv() + MUL, f"{CONV}, {tensor([6, 4, 3, 3])}", results="%y, %w")
    assert "something else reads the weight too" in decline_reason(module, ConvMulPattern)


def test_a_weight_that_a_branch_reads_stays() -> None:
    weight = tensor([6, 4, 3, 3])
    branch = f"""%r = "onnx.If"(%cond) ({{
        onnx.Yield %w : {weight}
    }}, {{
        %n = "onnx.Neg"(%w) : ({weight}) -> {weight}
        onnx.Yield %n : {weight}
    }}) : (tensor<i1>) -> {weight}\n"""
    body = conv() + MUL + branch
    module = function(f"%x: {IMAGE}, %cond: tensor<i1>", body, f"{CONV}, {weight}", results="%y, %r")
    assert "something else reads the weight too" in decline_reason(module, ConvMulPattern)


def test_a_weight_that_is_the_default_of_an_input_stays() -> None:
    weight = tensor([6, 4, 3, 3])
    body = constant("w", [6, 4, 3, 3], attributes=f"{{onnx_overridable = {weight}}}") + twice(
        "c", "%x, %w, %none"
    )
    assert "the weight is not constant" in decline_reason(image(body + MUL), ConvMulPattern)


def test_a_bias_that_is_computed() -> None:
    body = conv(bias="given") + ADD
    module = function(f"%x: {IMAGE}, %b: {tensor([6])}", body, CONV)
    assert "the bias is not constant" in decline_reason(module, ConvAddPattern)


def test_a_factor_that_is_computed() -> None:
    k = tensor([6, 1, 1])
    mul = f'%y = "onnx.Mul"(%c, %k) : ({CONV}, {k}) -> {CONV}\n'
    module = function(f"%x: {IMAGE}, %k: {k}", conv() + mul, CONV)
    assert "the other operand is not constant" in decline_reason(module, ConvMulPattern)
    square = f'%y = "onnx.Mul"(%c, %c) : ({CONV}, {CONV}) -> {CONV}\n'
    assert "both operands are the same value" in decline_reason(image(conv() + square), ConvMulPattern)


def test_a_norm_of_the_batch() -> None:
    vector = tensor([6])
    text = bn(properties="training_mode = 1 : si64").replace("none, none", f"{vector}, {vector}")
    module = image(conv() + text)
    assert "in training mode" in decline_reason(module, ConvBatchNormalizationPattern)


@pytest.mark.parametrize("variance", [-0.5, -1e-5])
def test_a_variance_that_has_no_root(variance: float) -> None:
    text = bn()
    start = text.index("%y_var = ")
    end = text.index("\n", start)
    text = text[:start] + f"%y_var = onnx.Constant dense<{variance:.1e}> : {tensor([6])}" + text[end:]
    exact = text.replace("<{}>", f"<{{epsilon = {-variance:.1e} : f32}}>") if variance == -1e-5 else text
    assert "variance + epsilon is not positive" in decline_reason(
        image(conv() + exact), ConvBatchNormalizationPattern
    )


def test_parameters_of_a_norm_that_are_computed() -> None:
    text = bn()
    start, end = text.index("%y_mean = "), text.index("%y_var = ")
    module = function(f"%x: {IMAGE}, %y_mean: {tensor([6])}", conv() + text[:start] + text[end:], CONV)
    reason = "the parameters are not constants with a number per channel"
    assert reason in decline_reason(module, ConvBatchNormalizationPattern)


@pytest.mark.parametrize(
    ("weight", "factor"),
    [
        ("dense<1.0e+30>", "dense<1.0e+30>"),
        ("dense<0x7F800000>", "dense<1.0>"),
        ("dense<0x7FC00000>", "dense<1.0>"),
    ],
)
def test_weights_that_would_not_be_finite(weight: str, factor: str) -> None:
    module = image(conv(weight=weight) + binary("Mul", [6, 1, 1], CONV, numbers=factor))
    assert "a folded weight would not be finite" in decline_reason(module, ConvMulPattern)


def test_a_bias_that_would_not_be_finite() -> None:
    module = image(conv(bias="") + binary("Add", [6, 1, 1], CONV, numbers="dense<0x7F800000>"))
    assert "a folded weight would not be finite" in decline_reason(module, ConvAddPattern)


def weights_of(module: ModuleOp) -> tuple[Any, Any]:
    op = next(op for op in module.walk() if isinstance(op, onnx.ConvOp))
    return constant_value(op.W), constant_value(op.B)


def test_the_product_is_rounded_once() -> None:
    """In 32 bits, 1 / sqrt(3) times gamma would be rounded before it meets the weight."""
    third = dense([6, 4, 3, 3], low=0.3, high=0.4)
    text = bn(properties="epsilon = 0.0 : f32")
    done = check_pattern(image(conv(weight=third) + text), ConvBatchNormalizationPattern, FEEDS)
    module = image(conv(weight=third) + text)
    arrays = {
        op.results[0].name_hint: constant_value(op.results[0])
        for op in module.walk()
        if isinstance(op, onnx.ConstantOp)
    }
    wide = {name: np.asarray(array, np.float64) for name, array in arrays.items()}
    scale = wide["y_gamma"] / np.sqrt(wide["y_var"])
    weight, _ = weights_of(done)
    np.testing.assert_array_equal(weight, (wide["w"] * scale.reshape(6, 1, 1, 1)).astype(np.float32))


def test_half_width_weights_keep_their_type() -> None:
    text = (conv() + MUL).replace("f32>", "f16>").replace("f32}", "f16}")
    image16 = IMAGE.replace("f32", "f16")
    module = function(f"%x: {image16}", text, CONV.replace("f32", "f16"))
    feeds = {"x": FEEDS["x"].astype(np.float16)}
    done = check_pattern(module, ConvMulPattern, feeds, Rel(2e-2), times=1)
    assert weights_of(done)[0].dtype == np.float16


@pytest.mark.parametrize(("factor", "loses"), [("1.0e-3", False), ("1.0e-6", True)])
def test_half_width_weights_keep_their_digits(factor: str, loses: bool) -> None:
    text = conv() + binary("Mul", [6, 1, 1], CONV, numbers=f"dense<{factor}>")
    text = text.replace("f32>", "f16>").replace("f32}", "f16}")
    module = function(f"%x: {IMAGE.replace('f32', 'f16')}", text, CONV.replace("f32", "f16"))
    if loses:
        assert "a folded weight would lose digits" in decline_reason(module, ConvMulPattern)
    else:
        check_pattern(module, ConvMulPattern, {"x": FEEDS["x"].astype(np.float16)}, Rel(2e-2), times=1)


def test_an_unrelated_op_between_and_the_constant_behind_the_conv() -> None:
    """Matched by dataflow: what stands between in the text does not matter."""
    between = f'%u = "onnx.Neg"(%x) : ({IMAGE}) -> {IMAGE}\n'
    module = image(conv() + between + MUL, f"{CONV}, {IMAGE}", results="%y, %u")
    assert computing(check_pattern(module, ConvMulPattern, FEEDS, times=1)) == ["Neg", "Conv"]


@pytest.mark.parametrize("shape", [[4, 1, 1], [], [1, 4, 1, 1]])
@pytest.mark.parametrize(
    ("op", "pattern"), [("Mul", BatchNormalizationMulPattern), ("Add", BatchNormalizationAddPattern)]
)
def test_a_norm_takes_over_what_is_behind_it(op: str, pattern: PatternClass, shape: list[int]) -> None:
    norm = normalization("c", "x", IMAGE, 4, "epsilon = 0.01 : f32")
    module = image(norm + binary(op, shape, IMAGE), IMAGE)
    assert computing(check_pattern(module, pattern, FEEDS, times=1)) == ["BatchNormalization"]


def test_norms_that_do_not() -> None:
    norm = normalization("c", "x", IMAGE, 4)
    module = image(norm + binary("Mul", [5], IMAGE), IMAGE)
    assert "not one number per channel" in decline_reason(module, BatchNormalizationMulPattern)
    unknown = "tensor<*xf32>"
    text = normalization("c", "x", unknown, 4) + binary("Mul", [], unknown)
    module = function(f"%x: {unknown}", text, unknown)
    assert "the rank is not known" in decline_reason(module, BatchNormalizationMulPattern)
    vector = tensor([4])
    text = normalization("c", "x", IMAGE, 4, "training_mode = 1 : si64").replace(
        "none, none", f"{vector}, {vector}"
    )
    module = image(text + binary("Mul", [], IMAGE), IMAGE)
    assert "the norm is that of the batch" in decline_reason(module, BatchNormalizationMulPattern)


def test_parameters_that_two_norms_read_are_changed_for_one() -> None:
    norm = normalization("c", "x", IMAGE, 4)
    second = norm[norm.index("%c, ") :].replace("%c, %c_m, %c_v =", "%d, %d_m, %d_v =")
    module = image(norm + second + binary("Mul", [4, 1, 1], IMAGE), f"{IMAGE}, {IMAGE}", results="%y, %d")
    done = check_pattern(module, BatchNormalizationMulPattern, FEEDS, times=1)
    assert computing(done) == ["BatchNormalization", "BatchNormalization"]


def test_a_conv_in_a_loop_with_outer_weights_that_a_second_body_reads() -> None:
    weight = tensor([6, 4, 3, 3])

    def loop(name: str, affine: str) -> str:
        return f"""%{name} = "onnx.Loop"(%n, %none, %c0) ({{
  ^bb0(%i{name}: tensor<i64>, %go{name}: tensor<i1>, %v{name}: {CONV}):
    %c = "onnx.Conv"(%x, %w, %none) : ({IMAGE}, {weight}, none) -> {CONV}
    {affine}
    onnx.Yield %go{name}, %y : tensor<i1>, {CONV}
  }}) : (tensor<i64>, none, {CONV}) -> {CONV}\n"""

    head = constant("w", [6, 4, 3, 3]) + constant("k", [])
    mul = f'%y = "onnx.Mul"(%c, %k) : ({CONV}, tensor<f32>) -> {CONV}'
    inputs = f"%x: {IMAGE}, %n: tensor<i64>, %c0: {CONV}"
    module = function(inputs, head + loop("p", mul) + loop("q", mul), f"{CONV}, {CONV}", results="%p, %q")
    assert "something else reads the weight too" in decline_reason(module, ConvMulPattern)
    single = function(inputs, head + loop("p", mul), CONV, results="%p")
    feeds = {**FEEDS, "n": np.array(2), "c0": np.zeros((1, 6, 3, 3), np.float32)}
    check_pattern(single, ConvMulPattern, feeds, times=1)
