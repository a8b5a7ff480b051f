"""Which graphs does an expression match, and which not?"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from ir_graphs import T, graph, scalar
from xdsl.dialects.builtin import ModuleOp

from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.text import parse_module
from onnxloom.testing.patterns import check_pattern, decline_reason
from onnxloom.transforms.miss import Miss, no_match, reasons_wanted
from onnxloom.transforms.rewriting.declarative import (
    Constant,
    DeclarativePattern,
    Inputs,
    Ints,
    Match,
    MatcherConfig,
    Scalar,
    Tensor,
    Tensors,
    attribute,
    capture,
    one_of,
    op,
    optional,
    pattern,
)
from onnxloom.transforms.rewriting.driver import optimize
from onnxloom.transforms.rewriting.graph_index import GraphIndex
from onnxloom.transforms.rewriting.pattern import Numerics


class Swish(DeclarativePattern):
    numerics = Numerics.TOLERANCE

    @pattern
    def product(x: Tensor) -> Tensor:
        return x * op.Sigmoid(x)

    def replacement(self, inputs: Inputs, match: Match) -> Tensor:
        return op.Swish(inputs.x)


def names(module: ModuleOp) -> list[str]:
    """The ops of the function that compute something, in order."""
    structural = ("onnx.Constant", "onnx.NoValue", "onnx.Return", "builtin.module", "func.func")
    return [found.name.removeprefix("onnx.") for found in module.walk() if found.name not in structural]


def fires(kind: type[DeclarativePattern], text: str) -> bool:
    """Whether the pattern rewrites anything, whatever it makes of it."""
    return optimize(parse_module(text), [kind]) > 0


@pytest.mark.parametrize("product", ["%y = Mul %x %s", "%y = Mul %s %x"])
def test_commutative_operands_are_matched_in_either_order(product: str):
    assert names(check_pattern(graph("%s = Sigmoid %x", product), Swish, times=1)) == ["Swish"]


def test_commuting_can_be_turned_off():
    class Strict(Swish):
        config = MatcherConfig(commute=False)

    assert fires(Strict, graph("%s = Sigmoid %x", "%y = Mul %x %s"))
    assert "expected onnx.Sigmoid" in decline_reason(graph("%s = Sigmoid %x", "%y = Mul %s %x"), Strict)


def test_operands_that_do_not_commute_keep_their_order():
    class Difference(Swish):
        @pattern
        def product(x: Tensor) -> Tensor:
            return x - op.Sigmoid(x)

    assert fires(Difference, graph("%s = Sigmoid %x", "%y = Sub %x %s"))
    assert not fires(Difference, graph("%s = Sigmoid %x", "%y = Sub %s %x"))


def test_a_parameter_used_twice_is_one_value():
    other = (f"%x : {T}", f"%z : {T}")
    text = graph("%s = Sigmoid %z", "%y = Mul %x %s", inputs=other)
    assert "x: found both the input x and the input z" in decline_reason(text, Swish)


def test_an_expression_used_twice_is_one_op():
    class Square(Swish):
        @pattern
        def product(x: Tensor) -> Tensor:
            e = op.Exp(x)
            return e * e

    assert fires(Square, graph("%e = Exp %x", "%y = Mul %e %e"))
    assert "onnx.Exp: found both" in decline_reason(
        graph("%e = Exp %x", "%f = Exp %x", "%y = Mul %e %f"), Square
    )


def test_another_op_is_no_match():
    reason = decline_reason(graph("%s = Tanh %x", "%y = Mul %x %s"), Swish)
    assert "expected onnx.Sigmoid, found" in reason
    assert f"test_matching.py:{Swish.product.__code__.co_firstlineno + 2}" in reason


def test_another_result_of_the_right_op_is_no_match():
    class Kept(Swish):
        @pattern
        def product(x: Tensor) -> Tensor:
            return op.Relu(op.Split(x, num_outputs=2))

        def requirements(self, match: Match) -> Miss | None:
            return no_match(match.anchor, "the end")

    half = "tensor<1x4xf32>"
    split = f"%p %i = Split %x %none {{num_outputs = 2 : si64}} : {half}"
    first = graph(split, f"%y = Relu %p : {half}", results=half)
    assert "the end" in decline_reason(first, Kept)
    second = graph(split, f"%y = Relu %i : {half}", results=half)
    assert "expected result 0 of onnx.Split" in decline_reason(second, Kept)


class Leaky(DeclarativePattern):
    @pattern
    def negative_slope(x: Tensor) -> Tensor:
        return op.Neg(op.LeakyRelu(x, alpha=0.25))

    def replacement(self, inputs: Inputs, match: Match) -> Tensor:
        return inputs.x


@pytest.mark.parametrize(
    ("written", "matches"),
    [
        ("{alpha = 0.25 : f32}", True),
        ("{alpha = 0.250001 : f32}", False),
        ("{alpha = 0.01 : f32}", False),
        ("", False),
    ],
)
def test_attributes_have_the_value_that_is_given(written: str, matches: bool):
    assert fires(Leaky, graph(f"%l = LeakyRelu %x {written}", "%y = Neg %l")) == matches


def test_a_different_attribute_is_named():
    assert "alpha is 0.5; expected 0.25" in decline_reason(
        graph("%l = LeakyRelu %x {alpha = 0.5 : f32}", "%y = Neg %l"), Leaky
    )


def test_attributes_that_are_not_given_have_their_default():
    class Default(Leaky):
        @pattern
        def negative_slope(x: Tensor) -> Tensor:
            return op.Neg(op.Softmax(x))

    assert fires(Default, graph("%l = Softmax %x", "%y = Neg %l"))
    assert fires(Default, graph("%l = Softmax %x {axis = -1 : si64}", "%y = Neg %l"))
    assert "axis is 0; expected -1" in decline_reason(
        graph("%l = Softmax %x {axis = 0 : si64}", "%y = Neg %l"), Default
    )


def test_an_attribute_without_default_that_is_not_given_is_absent():
    class Reversed(Leaky):
        @pattern
        def negative_slope(x: Tensor) -> Tensor:
            return op.Neg(op.Transpose(x))

    square = "tensor<4x4xf32>"
    inputs = [f"%x : {square}"]
    plain = graph(f"%l = Transpose %x : {square}", f"%y = Neg %l : {square}", inputs=inputs, results=square)
    assert fires(Reversed, plain)
    given = plain.replace("(%x) :", "(%x) {perm = [1, 0]} :")
    assert "perm is (1, 0); expected None" in decline_reason(given, Reversed)


@pytest.mark.parametrize(("perm", "matches"), [("[1, 0]", True), ("[0, 1]", False), ("[1, 0, 2]", False)])
def test_lists_agree_element_by_element(perm: str, matches: bool):
    class Swapped(Leaky):
        @pattern
        def negative_slope(x: Tensor) -> Tensor:
            return op.Neg(op.Transpose(x, perm=[1, 0]))

    shape = "tensor<4x4x1xf32>" if len(perm) > 6 else "tensor<4x4xf32>"
    text = graph(
        f"%l = Transpose %x {{perm = {perm}}} : {shape}",
        f"%y = Neg %l : {shape}",
        inputs=[f"%x : {shape}"],
        results=shape,
    )
    assert fires(Swapped, text) == matches


def test_strings_agree():
    class Tanh(Leaky):
        @pattern
        def negative_slope(x: Tensor) -> Tensor:
            return op.Neg(op.Gelu(x, approximate="tanh"))

    assert fires(Tanh, graph('%l = Gelu %x {approximate = "tanh"}', "%y = Neg %l"))
    assert not fires(Tanh, graph("%l = Gelu %x", "%y = Neg %l"))


def test_a_free_attribute_is_told_to_the_replacement():
    class Free(DeclarativePattern):
        numerics = Numerics.TOLERANCE

        @pattern
        def log(x: Tensor) -> Tensor:
            return op.Log(op.Softmax(x, axis=attribute("axis")))

        def replacement(self, inputs: Inputs, match: Match) -> Tensor:
            return op.LogSoftmax(inputs.x, axis=match.attribute("axis"))

    done = check_pattern(
        graph("%s = Softmax %x {axis = 0 : si64}", "%y = Log %s"),
        Free,
        feeds={"x": np.eye(2, 4, dtype=np.float32)},
    )
    assert "axis = 0" in str(done)
    assert "axis = -1" in str(
        check_pattern(
            graph("%s = Softmax %x", "%y = Log %s"), Free, feeds={"x": np.eye(2, 4, dtype=np.float32)}
        )
    )


def test_a_free_attribute_at_two_ops_has_one_value():
    class Twice(Leaky):
        @pattern
        def negative_slope(x: Tensor) -> Tensor:
            return op.LeakyRelu(op.LeakyRelu(x, alpha=attribute("a")), alpha=attribute("a"))

    half = "{alpha = 0.5 : f32}"
    assert fires(Twice, graph(f"%l = LeakyRelu %x {half}", f"%y = LeakyRelu %l {half}"))
    assert not fires(Twice, graph("%l = LeakyRelu %x {alpha = 0.1 : f32}", f"%y = LeakyRelu %l {half}"))


class Scale(DeclarativePattern):
    """A half of x."""

    @pattern
    def half(x: Tensor) -> Tensor:
        return op.Neg(x * 0.3)

    def replacement(self, inputs: Inputs, match: Match) -> Tensor:
        return inputs.x


class Exactly(Scale):
    config = MatcherConfig(rtol=0)


class Roughly(Scale):
    config = MatcherConfig(rtol=1e-2)


@pytest.mark.parametrize(
    ("kind", "element", "value", "matches"),
    [
        (Scale, "f32", "0.3", True),
        (Scale, "f32", "0.30000007", True),
        (Scale, "f32", "0.3001", False),
        (Scale, "f64", "0.3", True),
        (Scale, "f64", "0.30000001", False),
        (Scale, "f16", "0.3", True),
        (Scale, "f16", "0.30029297", True),
        (Scale, "f16", "0.3015", False),
        (Scale, "bf16", "0.3", True),
        (Scale, "bf16", "0.302", True),
        (Scale, "bf16", "0.32", False),
        (Exactly, "f32", "0.3", True),
        (Exactly, "f32", "0.30000007", False),
        (Exactly, "f16", "0.3", True),
        (Roughly, "f32", "0.302", True),
        (Roughly, "f32", "0.31", False),
        (Roughly, "f32", "-0.3", False),
    ],
)
def test_constants_agree_up_to_the_rounding_of_their_type(
    kind: type[DeclarativePattern], element: str, value: str, matches: bool
):
    other = f"tensor<2x4x{element}>"
    text = graph(
        scalar("%k", value, element), f"%m = Mul %x %k : {other}", f"%y = Neg %m : {other}",
        inputs=[f"%x : {other}"], results=other,
    )  # fmt: skip
    assert fires(kind, text) == matches


def test_integers_agree_exactly():
    class Two(Scale):
        config = MatcherConfig(rtol=0.4)

        @pattern
        def half(x: Tensor) -> Tensor:
            return op.Neg(x * 5)

    other = "tensor<2x4xi32>"

    def text(value: str) -> str:
        return graph(
            scalar("%k", value, "i32"),
            f"%m = Mul %x %k : {other}",
            f"%y = Neg %m : {other}",
            inputs=[f"%x : {other}"],
            results=other,
        )

    assert fires(Two, text("5"))
    assert "found another one" in decline_reason(text("6"), Two)


@pytest.mark.parametrize(
    ("shape", "matches"), [("", True), ("1x", True), ("1x1x", True), ("1x1x1x", False), ("4x", False)]
)
def test_a_number_is_a_constant_of_one_element_that_does_not_raise_the_rank(shape: str, matches: bool):
    result = f"tensor<{shape if shape.count('x') > 2 else ''}2x4xf32>"
    text = graph(
        f"%k = dense<0.3> : tensor<{shape}f32>",
        f"%m = Mul %x %k : {result if shape.count('x') < 3 else 'tensor<1x2x4xf32>'}",
        "%y = Neg %m" + (" : tensor<1x2x4xf32>" if shape.count("x") > 2 else ""),
        results="tensor<1x2x4xf32>" if shape.count("x") > 2 else T,
    )
    assert fires(Scale, text) == matches


def test_a_number_of_rank_one_may_raise_an_unknown_rank():
    unknown = "tensor<*xf32>"
    text = graph(
        "%k = dense<0.3> : tensor<1xf32>",
        f"%m = Mul %x %k : {unknown}",
        f"%y = Neg %m : {unknown}",
        inputs=[f"%x : {unknown}"],
        results=unknown,
    )
    assert "the constant may raise the rank of onnx.Mul" in decline_reason(text, Scale)
    assert fires(Scale, text.replace("tensor<1xf32>", "tensor<f32>"))


def test_a_value_that_is_no_constant_is_not_a_number():
    text = graph("%m = Mul %x %k", "%y = Neg %m", inputs=[f"%x : {T}", "%k : tensor<f32>"])
    assert "expected the constant 0.3, found the input" in decline_reason(text, Scale)


class Listed(DeclarativePattern):
    @pattern
    def sums(x: Tensor) -> Tensor:
        return op.Neg(op.ReduceSum(x, [0, 1], keepdims=0))

    def replacement(self, inputs: Inputs, match: Match) -> Tensor:
        return op.ReduceSum(op.Neg(inputs.x), [0, 1], keepdims=0)


@pytest.mark.parametrize(
    ("axes", "matches"),
    [
        ("dense<[0, 1]> : tensor<2xi64>", True),
        ("dense<[0]> : tensor<1xi64>", False),
        ("dense<[1, 0]> : tensor<2xi64>", False),
    ],
)
def test_a_list_is_a_constant_of_its_shape_and_elements(axes: str, matches: bool):
    rank = "tensor<f32>" if "2x" in axes else "tensor<4xf32>"
    text = graph(
        f"%a = {axes}",
        f"%s = ReduceSum %x %a {{keepdims = 0 : si64}} : {rank}",
        f"%y = Neg %s : {rank}",
        results=rank,
    )
    assert fires(Listed, text) == matches


def test_an_array_has_the_same_shape():
    class Row(Scale):
        @pattern
        def half(x: Tensor) -> Tensor:
            return op.Neg(x * [1.0, 2.0, 3.0, 4.0])

    row = "dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>"
    matrix = "dense<[[1.0, 2.0, 3.0, 4.0]]> : tensor<1x4xf32>"
    ends = ("%m = Mul %x %k", "%y = Neg %m")
    assert fires(Row, graph(f"%k = {row}", *ends))
    assert "found one of another shape" in decline_reason(graph(f"%k = {matrix}", *ends), Row)


def test_what_a_list_becomes_keeps_values():
    text = graph(
        "%a = dense<[0, 1]> : tensor<2xi64>",
        "%s = ReduceSum %x %a {keepdims = 0 : si64} : tensor<f32>",
        "%y = Neg %s : tensor<f32>",
        results="tensor<f32>",
    )
    assert names(check_pattern(text, Listed)) == ["Neg", "ReduceSum"]


class Kinds(DeclarativePattern):
    """Requires what its annotations say."""

    numerics = Numerics.TOLERANCE

    @pattern
    def mean(x: Tensor, axes: Ints, k: Scalar, w: Constant) -> Tensor:
        return op.Neg(op.ReduceMean(x, axes, keepdims=1)) * k + w

    def replacement(self, inputs: Inputs, match: Match) -> Tensor:
        assert match.ints("axes") == (-1,) and match.scalar("k") == 2.0
        array = match.array("w")
        assert array is not None and array.tolist() == [[1.0], [3.0]]
        return op.ReduceMean(inputs.x, inputs.axes, keepdims=1) * -2.0 + inputs.w


def kinds(axes: str, k: str, w: str, *inputs: str) -> str:
    one = "tensor<2x1xf32>"
    constants = [line for line in (axes, k, w) if "dense" in line]
    return graph(
        *constants, f"%m = ReduceMean %x %a {{keepdims = 1 : si64}} : {one}", f"%n = Neg %m : {one}",
        f"%s = Mul %n %k : {one}", f"%y = Add %s %w : {one}", inputs=[f"%x : {T}", *inputs], results=one,
    )  # fmt: skip


AXES, NUMBER, WEIGHT = (
    "%a = dense<[-1]> : tensor<1xi64>",
    scalar("%k", "2.0"),
    "%w = dense<[[1.0], [3.0]]> : tensor<2x1xf32>",
)


def test_parameters_that_are_constants_tell_their_values():
    assert names(check_pattern(kinds(AXES, NUMBER, WEIGHT), Kinds)) == ["ReduceMean", "Mul", "Add"]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (kinds("", NUMBER, WEIGHT, "%a : tensor<1xi64>"), "axes is the input a; expected constant integers"),
        (
            kinds(AXES, "", WEIGHT, "%k : tensor<f32>"),
            "k: expected a constant of one element, found the input k",
        ),
        (
            kinds(AXES, "%k = dense<[[2.0], [2.0]]> : tensor<2x1xf32>", WEIGHT),
            "k: expected a constant of one element",
        ),
        (kinds(AXES, NUMBER, "", "%w : tensor<2x1xf32>"), "w is the input w; expected a constant"),
    ],
)
def test_parameters_that_must_be_constants(text: str, reason: str):
    assert reason in decline_reason(text, Kinds)


def test_a_constant_that_is_not_computed_yet_is_no_scalar():
    """Nothing computes it here; a folding pass would."""
    lines = [AXES, WEIGHT, scalar("%h", "-2.0"), "%k = Neg %h : tensor<f32>"]
    one = "tensor<2x1xf32>"
    mean = f"%m = ReduceMean %x %a {{keepdims = 1 : si64}} : {one}"
    ends = (f"%n = Neg %m : {one}", f"%s = Mul %n %k : {one}", f"%y = Add %s %w : {one}")
    reason = decline_reason(graph(*lines, mean, *ends, results=one), Kinds)
    assert "k: onnx.Neg is constant, but not a number that is known yet" in reason


def test_constants_written_twice_are_one_value():
    class Both(DeclarativePattern):
        @pattern
        def twice(x: Tensor, axes: Ints) -> Tensor:
            return op.ReduceSum(op.Neg(op.ReduceSum(x, axes)), axes)

        def replacement(self, inputs: Inputs, match: Match) -> Tensor:
            return op.Neg(op.ReduceSum(inputs.x, inputs.axes))

    one = "tensor<2x1xf32>"

    def text(first: str, second: str) -> str:
        return graph(
            f"%a = dense<{first}> : tensor<1xi64>",
            f"%b = dense<{second}> : tensor<1xi64>",
            f"%s = ReduceSum %x %a : {one}",
            f"%n = Neg %s : {one}",
            f"%y = ReduceSum %n %b : {one}",
            results=one,
        )

    assert fires(Both, text("[1]", "[1]"))
    assert "axes: found both" in decline_reason(text("[1]", "[-1]"), Both)
    lines = ("%b = dense<[1]> : tensor<1xi64>", "%c = Neg %b : tensor<1xi64>")
    sums = (f"%s = ReduceSum %x %b : {one}", f"%n = Neg %s : {one}", f"%y = ReduceSum %n %c : {one}")
    assert "axes: found both" in decline_reason(graph(*lines, *sums, results=one), Both)


def test_alternatives_are_tried_in_order():
    class Cube(DeclarativePattern):
        numerics = Numerics.TOLERANCE

        @pattern
        def cube(x: Tensor) -> Tensor:
            return op.Neg(one_of(op.Pow(x, 3), x * x * x))

        def replacement(self, inputs: Inputs, match: Match) -> Tensor:
            return op.Pow(-inputs.x, 3)

    feeds = {"x": np.arange(8, dtype=np.float32).reshape(2, 4)}
    for lines in (
        (scalar("%k", "3.0"), "%c = Pow %x %k"),
        ("%s = Mul %x %x", "%c = Mul %x %s"),
        ("%s = Mul %x %x", "%c = Mul %s %x"),
    ):
        assert names(check_pattern(graph(*lines, "%y = Neg %c"), Cube, feeds)) == ["Neg", "Pow"]
    assert not fires(Cube, graph("%s = Mul %x %x", "%c = Mul %s %s", "%y = Neg %c"))


def test_alternatives_of_the_last_op_start_at_each_of_its_ops():
    class Either(Leaky):
        @pattern
        def negative_slope(x: Tensor) -> Tensor:
            return one_of(op.Sin(op.Neg(x)), op.Cos(op.Neg(x)))

    assert Either.start_ops == (onnx.SinOp, onnx.CosOp)
    assert fires(Either, graph("%n = Neg %x", "%y = Cos %n"))
    assert fires(Either, graph("%n = Neg %x", "%y = Sin %n"))
    assert not fires(Either, graph("%n = Neg %x", "%y = Tan %n"))


def test_an_optional_op_may_be_missing():
    class Cast(DeclarativePattern):
        @pattern
        def negated(x: Tensor) -> Tensor:
            return op.Neg(optional(op.Abs(op.Neg(x))))

        def replacement(self, inputs: Inputs, match: Match) -> Tensor:
            return op.Neg(op.Neg(inputs.x)) if len(match.outputs) > 1 else op.Identity(inputs.x)

    assert fires(Cast, graph("%n = Neg %x", "%y = Neg %n"))
    assert fires(Cast, graph("%n = Neg %x", "%a = Abs %n", "%y = Neg %a"))
    assert not fires(Cast, graph("%a = Abs %x", "%y = Neg %a"))


def test_an_input_that_is_left_out():
    class Lower(DeclarativePattern):
        @pattern
        def clipped(x: Tensor, low: Tensor | None, high: Tensor | None) -> Tensor:
            return op.Neg(op.Clip(x, low, high))

        def replacement(self, inputs: Inputs, match: Match) -> Tensor:
            assert (inputs.low is None) == (not match.has("low"))
            low = None if inputs.high is None else -inputs.high
            high = None if inputs.low is None else -inputs.low
            return op.Clip(-inputs.x, low, high)

    k = scalar("%k", "2.0")
    assert names(check_pattern(graph("%c = Clip %x %none %none", "%y = Neg %c"), Lower)) == ["Neg", "Clip"]
    assert names(check_pattern(graph(k, "%c = Clip %x %none %k", "%y = Neg %c"), Lower)) == [
        "Neg",
        "Neg",
        "Clip",
    ]
    assert (
        len(names(check_pattern(graph(k, scalar("%l", "-1.0"), "%c = Clip %x %l %k", "%y = Neg %c"), Lower)))
        == 4
    )


def test_an_input_that_is_left_out_twice_is_the_same():
    class Twice(DeclarativePattern):
        @pattern
        def clipped(x: Tensor, low: Tensor | None, high: Tensor | None) -> Tensor:
            return op.Clip(op.Clip(x, low, high), low, high)

        def replacement(self, inputs: Inputs, match: Match) -> Tensor:
            return op.Clip(inputs.x, inputs.low, inputs.high)

    absent = """
    func.func @main(%x : tensor<f32>, %k : tensor<f32>) -> tensor<f32> {
      %n = "onnx.NoValue"() {value} : () -> none
      %m = "onnx.NoValue"() {value} : () -> none
      %c = "onnx.Clip"(%x, %n, %k) : (tensor<f32>, none, tensor<f32>) -> tensor<f32>
      %y = "onnx.Clip"(%c, %m, %k) : (tensor<f32>, none, tensor<f32>) -> tensor<f32>
      onnx.Return %y : tensor<f32>
    }"""
    assert names(check_pattern(absent, Twice, times=1)) == ["Clip"]
    other = absent.replace("(%c, %m, %k) : (tensor<f32>, none,", "(%c, %k, %k) : (tensor<f32>, tensor<f32>,")
    assert "low: found both nothing and the input k" in decline_reason(other, Twice)


@pytest.mark.parametrize(
    ("clip", "reason"),
    [
        ("%c = Clip %x %k %none", None),
        ("%c = Clip %x %k %k", "has an operand more"),
        ("%c = Clip %x %none %none", "expected the constant 2.0, found nothing"),
    ],
)
def test_operands_are_exact_in_number(clip: str, reason: str | None):
    class Low(Leaky):
        @pattern
        def negative_slope(x: Tensor) -> Tensor:
            return op.Neg(op.Clip(x, 2.0))

    text = graph(scalar("%k", "2.0"), clip, "%y = Neg %c")
    if reason is None:
        assert fires(Low, text)
    else:
        assert reason in decline_reason(text, Low)


def test_an_input_in_the_middle_is_left_out():
    class High(DeclarativePattern):
        @pattern
        def clipped(x: Tensor, high: Tensor) -> Tensor:
            return op.Neg(op.Clip(x, None, high))

        def replacement(self, inputs: Inputs, match: Match) -> Tensor:
            return inputs.x

    assert fires(High, graph(scalar("%k", "2.0"), "%c = Clip %x %none %k", "%y = Neg %c"))
    assert "which the pattern leaves out" in decline_reason(
        graph(scalar("%k", "2.0"), "%c = Clip %x %k %k", "%y = Neg %c"), High
    )
    missing = decline_reason(graph("%c = Clip %x %none %none", "%y = Neg %c"), High)
    assert "high: onnx.Clip has no such input" in missing


class Joined(DeclarativePattern):
    @pattern
    def joined(x: Tensor, others: Tensors) -> Tensor:
        return op.Neg(op.Concat(x, others, axis=0))

    def replacement(self, inputs: Inputs, match: Match) -> Tensor:
        assert len(match.tensors("others")) == len(inputs.others)
        return op.Concat(-inputs.x, *[-other for other in inputs.others], axis=0)


@pytest.mark.parametrize("count", [0, 1, 3])
def test_the_remaining_operands_of_a_variadic_op(count: int):
    result = f"tensor<{2 * (count + 1)}x4xf32>"
    values = ["%x", *(f"%z{index}" for index in range(count))]
    concat = f"%c = Concat {' '.join(values)} {{axis = 0 : si64}} : {result}"
    inputs = [f"{value} : {T}" for value in values]
    text = graph(concat, f"%y = Neg %c : {result}", inputs=inputs, results=result)
    assert names(check_pattern(text, Joined)) == ["Neg"] * (count + 1) + ["Concat"]


def test_too_few_operands_of_a_variadic_op():
    class Two(Joined):
        @pattern
        def joined(x: Tensor, others: Tensors) -> Tensor:
            return op.Neg(op.Concat(x, x, others, axis=0))

    text = graph("%c = Concat %x {axis = 0 : si64}", "%y = Neg %c")
    assert "has 1 operands; expected 2" in decline_reason(text, Two)


def test_remaining_operands_used_twice_are_the_same():
    class Twice(DeclarativePattern):
        @pattern
        def both(xs: Tensors) -> Tensor:
            return op.Max(xs) - op.Min(xs)

        def replacement(self, inputs: Inputs, match: Match) -> Tensor:
            return op.Max(*inputs.xs)

    inputs = [f"%x : {T}", f"%z : {T}"]
    assert fires(Twice, graph("%a = Max %x %z", "%b = Min %x %z", "%y = Sub %a %b", inputs=inputs))
    for other in ("%b = Min %z %z", "%b = Min %x", "%b = Min %x %z %z"):
        reason = decline_reason(graph("%a = Max %x %z", other, "%y = Sub %a %b", inputs=inputs), Twice)
        assert "xs: found 2 and" in reason


def test_a_variadic_op_of_a_given_number_of_operands():
    class Zero(Leaky):
        @pattern
        def negative_slope(x: Tensor) -> Tensor:
            return op.Neg(op.Max(x, 0.0))

    zero = scalar("%k", "0.0")
    assert fires(Zero, graph(zero, "%m = Max %k %x", "%y = Neg %m"))
    assert "has an operand more" in decline_reason(graph(zero, "%m = Max %x %k %x", "%y = Neg %m"), Zero)
    assert "has 1 operands; expected 2" in decline_reason(graph(zero, "%m = Max %x", "%y = Neg %m"), Zero)


def test_ops_of_other_domains_are_matched_by_domain_and_name():
    class Foreign(Leaky):
        @pattern
        def negative_slope(x: Tensor) -> Tensor:
            return op.Neg(op.custom("my.domain", "Act", x, alpha=1.5))

    def text(attributes: str) -> str:
        return graph(f"%c = Custom %x {{{attributes}}}", "%y = Neg %c")

    assert fires(Foreign, text('domain_name = "my.domain", function_name = "Act", alpha = 1.5 : f32'))
    assert "expected my.domain:Act" in decline_reason(
        text('domain_name = "your.domain", function_name = "Act", alpha = 1.5 : f32'), Foreign
    )
    assert "expected my.domain:Act" in decline_reason(
        text('domain_name = "my.domain", function_name = "Fact", alpha = 1.5 : f32'), Foreign
    )
    assert "alpha is 2.0; expected 1.5" in decline_reason(
        text('domain_name = "my.domain", function_name = "Act", alpha = 2.0 : f32'), Foreign
    )
    assert "alpha is None; expected 1.5" in decline_reason(
        text('domain_name = "my.domain", function_name = "Act"'), Foreign
    )


def test_ops_of_outer_graphs_are_not_matched():
    text = f"""
    func.func @main(%c: tensor<i1>, %x: {T}) -> {T} {{
      %s = "onnx.Sigmoid"(%x) : ({T}) -> {T}
      %r = "onnx.If"(%c) ({{
        %y = "onnx.Mul"(%x, %s) : ({T}, {T}) -> {T}
        onnx.Yield %y : {T}
      }}, {{
        onnx.Yield %x : {T}
      }}) : (tensor<i1>) -> {T}
      onnx.Return %r : {T}
    }}"""
    assert "expected onnx.Sigmoid" in decline_reason(text, Swish)


def test_a_requirement_declines_and_the_search_goes_on():
    """Both orders of the operands match; the second one is what the author wants."""

    class Wide(DeclarativePattern):
        @pattern
        def total(x: Tensor, row: Tensor) -> Tensor:
            return op.Neg(x + row)

        def requirements(self, match: Match) -> Miss | None:
            if match.graph.rank(match["row"]) != 1:
                return no_match(match.anchor, "row has another rank than 1")
            return None

        def replacement(self, inputs: Inputs, match: Match) -> Tensor:
            return -inputs.x - inputs.row

    inputs = [f"%x : {T}", "%r : tensor<4xf32>"]
    for lines in ("%s = Add %x %r", "%s = Add %r %x"):
        assert names(check_pattern(graph(lines, "%y = Neg %s", inputs=inputs), Wide)) == ["Neg", "Sub"]
    reason = decline_reason(graph("%s = Add %x %x", "%y = Neg %s", inputs=inputs), Wide)
    assert "row has another rank than 1 (" in reason and "test_matching.py:" in reason


def test_alternative_functions_of_one_class():
    class Several(Swish):
        @pattern
        def quotient(x: Tensor) -> Tensor:
            return x / (1.0 + op.Exp(-x))

        def replacement(self, inputs: Inputs, match: Match) -> Tensor:
            assert match.pattern in ("Several.product", "Several.quotient")
            return op.Swish(inputs.x)

    one = scalar("%k", "1.0")
    feeds = {"x": np.linspace(-3, 3, 8, dtype=np.float32).reshape(2, 4)}
    quotient = graph(one, "%n = Neg %x", "%e = Exp %n", "%d = Add %e %k", "%y = Div %x %d")
    assert names(check_pattern(quotient, Several, feeds)) == ["Swish"]
    assert names(check_pattern(graph("%s = Sigmoid %x", "%y = Mul %x %s"), Several, feeds)) == ["Swish"]


class SinCos(DeclarativePattern):
    """Two outputs, of which the last op depends on one only through their common input."""

    @pattern
    def both(x: Tensor) -> tuple[Tensor, Tensor]:
        e = op.Exp(x)
        return op.Sin(op.Neg(e)), op.Cos(e)

    def replacement(self, inputs: Inputs, match: Match) -> tuple[Tensor, Tensor]:
        e = op.Exp(inputs.x)
        return op.Neg(op.Sin(e)), op.Cos(e)


def test_outputs_that_the_last_op_does_not_depend_on():
    lines = ("%e = Exp %x", "%n = Neg %e", "%s = Sin %n", "%c = Cos %e")
    text = graph(*lines, "%y = Add %s %c")
    assert sorted(names(check_pattern(text, SinCos, times=1))) == ["Add", "Cos", "Exp", "Neg", "Sin"]
    missing = graph("%e = Exp %x", "%n = Neg %e", "%s = Tan %n", "%c = Cos %e", "%y = Add %s %c")
    assert "expected onnx.Sin, which no reader of" in decline_reason(missing, SinCos)
    assert "expected onnx.Neg, which no reader of" in decline_reason(
        graph("%e = Exp %x", "%y = Cos %e"), SinCos
    )


def test_the_right_one_of_several_readers_is_found():
    lines = (
        "%e = Exp %x",
        "%a = Neg %e",
        "%n = Neg %e",
        "%s = Sin %n",
        "%t = Tan %a",
        "%c = Cos %e",
        "%z = Add %s %c",
        "%y = Add %z %t",
    )
    # `a` and `t` read `e` from outside, so this one declines at the boundary, after the search got there.
    assert "reads it too" in decline_reason(graph(*lines), SinCos)


def test_a_search_is_given_up_after_a_number_of_comparisons():
    class Long(Swish):
        config = MatcherConfig(max_steps=2)

    assert "given up after 2 comparisons" in decline_reason(graph("%s = Sigmoid %x", "%y = Mul %x %s"), Long)


def test_the_work_of_a_failing_search_is_bounded():
    """Each sum may be either way round and fails at the very end: 2 ** 40 orders, were they all tried."""

    def chain(x: Tensor, y: Tensor) -> Tensor:
        value = x
        for _ in range(40):
            value = op.Abs(value) + op.Abs(y)
        return op.Sin(value)

    class Chain(DeclarativePattern):
        sums = pattern(chain)

        def replacement(self, inputs: Inputs, match: Match) -> Tensor:
            return inputs.x

    lines = ["%v0 = Abs %x"]
    for index in range(39):
        lines += [f"%s{index} = Add %v{index} %v{index}", f"%v{index + 1} = Abs %s{index}"]
    text = graph(*lines, "%y = Sin %v39")
    module = parse_module(text)
    function: Any = next(iter(module.ops))
    index = GraphIndex(function)
    with reasons_wanted():
        for found in function.body.block.ops:
            if isinstance(found, onnx.SinOp):
                assert isinstance(Chain().match(index, found), Miss)


def test_captures_are_known_by_name():
    class Captured(Swish):
        @pattern
        def product(x: Tensor) -> Tensor:
            return x * capture(op.Sigmoid(x), "gate")

        def requirements(self, match: Match) -> Miss | None:
            assert match.op("gate") is match["gate"].owner
            return no_match(match.anchor, f"the gate is {match.op('gate').name}")

    assert "the gate is onnx.Sigmoid" in decline_reason(graph("%s = Sigmoid %x", "%y = Mul %x %s"), Captured)
