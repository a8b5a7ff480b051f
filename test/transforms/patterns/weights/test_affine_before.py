"""A Conv takes over the BatchNormalization, Mul or Add before it, or there is a reason why not."""

from __future__ import annotations

import numpy as np
import pytest
from weight_cases import computing, constant, dense, function, normalization, tensor
from xdsl.dialects.builtin import ModuleOp

from onnxloom.testing.patterns import check_pattern, decline_reason
from onnxloom.transforms.patterns.weights.add_conv import AddConvPattern
from onnxloom.transforms.patterns.weights.batch_normalization_conv import BatchNormalizationConvPattern
from onnxloom.transforms.patterns.weights.mul_conv import MulConvPattern
from onnxloom.transforms.rewriting.pattern import PatternOptimization

PatternClass = type[PatternOptimization]

IMAGE, RESULT = tensor([2, 4, 5, 5]), tensor([2, 6, None, None])
WEIGHT = tensor([6, 4, 3, 3])
FEEDS = {"x": np.random.default_rng(0).standard_normal((2, 4, 5, 5)).astype(np.float32)}

NO_PADS = ""
PADS = ", pads = [0, 0, 0, 1]"
ZERO_PADS = ", pads = [0, 0, 0, 0]"
SAME = ', auto_pad = "SAME_UPPER"'
VALID = ', auto_pad = "VALID"'


def conv(properties: str = NO_PADS, *, group: int = 1, bias: bool = True, weight: str = "") -> str:
    shape = [6, 4 // group, 3, 3]
    text = constant("w", shape, weight) + (constant("b", [6]) if bias else "")
    operand, operand_type = ("b", tensor([6])) if bias else ("none", "none")
    return text + (
        f'%y = "onnx.Conv"(%a, %w, %{operand}) <{{group = {group} : si64{properties}}}> '
        f'{{onnx_node_name = "conv"}} : ({IMAGE}, {tensor(shape)}, {operand_type}) -> {RESULT}\n'
    )


def binary(op: str, shape: list[int], *, data: str = IMAGE, swap: bool = False, numbers: str = "") -> str:
    first, second = ("%x", data), ("%k", tensor(shape))
    if swap:
        first, second = second, first
    return constant("k", shape, numbers) + (
        f'%a = "onnx.{op}"({first[0]}, {second[0]}) : ({first[1]}, {second[1]}) -> {IMAGE}\n'
    )


def norm(properties: str = "") -> str:
    return normalization("a", "x", IMAGE, 4, properties)


def model(body: str, result: str = RESULT, results: str = "%y", inputs: str = f"%x: {IMAGE}") -> ModuleOp:
    return function(inputs, body, result, results)


MUL, ADD = binary("Mul", [4, 1, 1]), binary("Add", [4, 1, 1])


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("group", [1, 2])
@pytest.mark.parametrize("properties", [NO_PADS, ZERO_PADS, VALID])
@pytest.mark.parametrize(
    ("pattern", "affine"),
    [
        (BatchNormalizationConvPattern, norm("epsilon = 0.01 : f32")),
        (MulConvPattern, MUL),
        (AddConvPattern, ADD),
    ],
)
def test_a_conv_without_padding(
    pattern: PatternClass, affine: str, properties: str, group: int, bias: bool
) -> None:
    module = model(affine + conv(properties, group=group, bias=bias))
    done = check_pattern(module, pattern, FEEDS, times=1)
    assert computing(done) == ["Conv"]
    assert 'onnx_node_name = "conv"' in str(done)


@pytest.mark.parametrize("shape", [[1, 4, 1, 1], [], [1], [1, 1, 1, 1]])
@pytest.mark.parametrize("swap", [False, True])
@pytest.mark.parametrize(("op", "pattern"), [("Mul", MulConvPattern), ("Add", AddConvPattern)])
def test_constants_by_position(op: str, pattern: PatternClass, shape: list[int], swap: bool) -> None:
    module = model(binary(op, shape, swap=swap) + conv())
    assert computing(check_pattern(module, pattern, FEEDS, times=1)) == ["Conv"]


@pytest.mark.parametrize("properties", [PADS, SAME])
def test_padding_is_zeros_before_and_after_a_scale(properties: str) -> None:
    assert computing(check_pattern(model(MUL + conv(properties)), MulConvPattern, FEEDS)) == ["Conv"]


@pytest.mark.parametrize("properties", [PADS, SAME])
@pytest.mark.parametrize(
    ("pattern", "affine"), [(BatchNormalizationConvPattern, norm()), (AddConvPattern, ADD)]
)
def test_padding_is_not_shifted(pattern: PatternClass, affine: str, properties: str) -> None:
    assert "the Conv pads" in decline_reason(model(affine + conv(properties)), pattern)


def test_a_shift_of_zero_may_meet_padding() -> None:
    module = model(binary("Add", [4, 1, 1], numbers="dense<0.0>") + conv(PADS))
    assert computing(check_pattern(module, AddConvPattern, FEEDS, times=1)) == ["Conv"]


@pytest.mark.parametrize("shape", [[5], [1, 5], [5, 1], [4, 5, 1], [2, 1, 1, 1], [2, 4, 1, 1]])
def test_constants_that_are_no_number_per_channel(shape: list[int]) -> None:
    reason = decline_reason(model(binary("Mul", shape) + conv()), MulConvPattern)
    assert "the constant is not one number per channel" in reason


@pytest.mark.parametrize(
    "data", [tensor([2, 1, 5, 5]), tensor([2, None, 5, 5]), tensor([4, 5, 5]), "tensor<*xf32>"]
)
def test_data_that_the_constant_may_enlarge(data: str) -> None:
    """One channel times four numbers is four channels, which the Conv would not get."""
    module = model(binary("Mul", [1, 4, 1, 1], data=data) + conv(), inputs=f"%x: {data}")
    reason = "none of its operands is known to have the channels of its result"
    assert reason in decline_reason(module, MulConvPattern)


def test_an_input_that_somebody_else_reads() -> None:
    module = model(MUL + conv(), f"{RESULT}, {IMAGE}", "%y, %a")
    assert "something else reads the input too" in decline_reason(module, MulConvPattern)
    relu = f'%r = "onnx.Relu"(%a) : ({IMAGE}) -> {IMAGE}\n'
    module = model(MUL + relu + conv(), f"{RESULT}, {IMAGE}", "%y, %r")
    assert "something else reads the input too" in decline_reason(module, MulConvPattern)


def test_an_input_that_is_something_else() -> None:
    relu = f'%a = "onnx.Relu"(%x) : ({IMAGE}) -> {IMAGE}\n'
    assert "the input is not the result of a onnx.Mul" in decline_reason(model(relu + conv()), MulConvPattern)


def test_weights_that_somebody_else_reads() -> None:
    module = model(MUL + conv(), f"{RESULT}, {WEIGHT}", "%y, %w")
    assert "something else reads the weight too" in decline_reason(module, MulConvPattern)


def test_a_bias_that_somebody_else_reads_is_changed_for_the_conv() -> None:
    module = model(ADD + conv(), f"{RESULT}, {tensor([6])}", "%y, %b")
    assert computing(check_pattern(module, AddConvPattern, FEEDS, times=1)) == ["Conv"]


def test_a_bias_that_is_computed() -> None:
    text = conv()
    first, _, rest = text.split("\n", 2)
    module = model(ADD + first + "\n" + rest, inputs=f"%x: {IMAGE}, %b: {tensor([6])}")
    assert "the bias is not constant" in decline_reason(module, AddConvPattern)


def test_weights_that_are_computed() -> None:
    text = conv()
    without = text[text.index("\n") + 1 :]
    module = model(MUL + without, inputs=f"%x: {IMAGE}, %w: {WEIGHT}")
    assert "the weight is not constant" in decline_reason(module, MulConvPattern)
    dynamic = without.replace(WEIGHT, tensor([None, 4, 3, 3]))
    module = model(MUL + dynamic, inputs=f"%x: {IMAGE}, %w: {tensor([None, 4, 3, 3])}")
    assert "the dims of the weight are not known" in decline_reason(module, MulConvPattern)


def test_a_factor_that_is_computed() -> None:
    mul = f'%a = "onnx.Mul"(%x, %k) : ({IMAGE}, {tensor([4, 1, 1])}) -> {IMAGE}\n'
    module = model(mul + conv(), inputs=f"%x: {IMAGE}, %k: {tensor([4, 1, 1])}")
    assert "the other operand is not constant" in decline_reason(module, MulConvPattern)


def test_weights_that_would_not_be_finite() -> None:
    large = "dense<1.0e+30>"
    module = model(binary("Mul", [], numbers=large) + conv(weight=large))
    assert "a folded weight would not be finite" in decline_reason(module, MulConvPattern)
    module = model(binary("Add", [], numbers=large) + conv(weight=large))
    assert "a folded weight would not be finite" in decline_reason(module, AddConvPattern)


def test_two_factors_of_which_one_is_constant() -> None:
    """The constant has the shape of the image, so by dims alone either could be the data."""
    full = constant("k", [1, 4, 1, 1], dense([1, 4, 1, 1]))
    mul = full + f'%a = "onnx.Mul"(%k, %x) : ({tensor([1, 4, 1, 1])}, {IMAGE}) -> {IMAGE}\n'
    assert computing(check_pattern(model(mul + conv()), MulConvPattern, FEEDS, times=1)) == ["Conv"]
