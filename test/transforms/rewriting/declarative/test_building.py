"""What does the expression of a replacement become, and what is wrong with one?"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from ir_graphs import T, graph, scalar
from xdsl.dialects.builtin import TensorType, f32
from xdsl.ir import Operation

from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.constant import constant_value
from onnxloom.dialects.onnx.text import make_context, parse_module
from onnxloom.errors import PassError
from onnxloom.testing.patterns import check_pattern, decline_reason
from onnxloom.transforms.miss import Miss, no_match
from onnxloom.transforms.rewriting.declarative import (
    DeclarativePattern,
    Inputs,
    Match,
    Tensor,
    Tensors,
    attribute,
    capture,
    one_of,
    op,
    pattern,
)
from onnxloom.transforms.rewriting.driver import optimize
from onnxloom.transforms.rewriting.pattern import Stage
from onnxloom.transforms.rewriting.registry import use_patterns
from onnxloom.transforms.rewriting.rewrite_pass import RewritePatternsPass

Made = Any


def replacing(function: Callable[[Inputs, Match], Made]) -> type[DeclarativePattern]:
    """A pattern that puts `function`'s expression in the place of Neg(Abs(x))."""

    class Replace(DeclarativePattern):
        @pattern
        def expression(x: Tensor, y: Tensor | None) -> Tensor:
            return op.Neg(capture(one_of(op.Abs(x), op.Clip(x, y)), "inner"))

        def replacement(self, inputs: Inputs, match: Match) -> Made:
            return function(inputs, match)

    return Replace


def built(function: Callable[[Inputs, Match], Made], element: str = "f32") -> list[Operation]:
    """The ops of the graph after the rewrite."""
    shape = f"tensor<2x4x{element}>"
    text = graph(f"%a = Abs %x : {shape}", f"%y = Neg %a : {shape}", inputs=[f"%x : {shape}"], results=shape)
    module = parse_module(text)
    assert optimize(module, [replacing(function)]) == 1
    main: Any = next(iter(module.ops))
    return list(main.body.block.ops)


def constants(ops: list[Operation]) -> list[np.ndarray[Any, Any]]:
    return [
        array
        for found in ops
        if (array := constant_value(found.results[0] if found.results else None)) is not None
    ]


@pytest.mark.parametrize(
    ("element", "dtype"), [("f32", "float32"), ("f16", "float16"), ("f64", "float64"), ("i32", "int32")]
)
def test_a_number_has_the_element_type_of_what_it_is_combined_with(element: str, dtype: str):
    for made in (built(lambda i, _: op.Mul(i.x, 2), element), built(lambda i, _: op.Mul(2, i.x), element)):
        (array,) = constants(made)
        assert array.dtype == dtype and array.shape == () and array == 2


def test_a_list_has_the_element_type_the_op_demands():
    (array,) = constants(built(lambda i, _: op.Reshape(op.Neg(i.x), [2, 4])))
    assert array.dtype == np.int64 and array.tolist() == [2, 4]


def test_bools_where_the_op_takes_nothing_else():
    ops = built(lambda i, _: op.Where([True, False, True, False], i.x, 0.0))
    assert {array.dtype.name for array in constants(ops)} == {"bool", "float32"}


def test_an_array_keeps_its_element_type():
    (array,) = constants(built(lambda i, _: op.Pow(i.x, np.array([1, 2, 3, 4], np.int32))))
    assert array.dtype == np.int32 and array.shape == (4,)


def test_a_number_of_unclear_element_type_is_an_error():
    with pytest.raises(PassError, match=r"the element type of 2.5 is not clear; expected an array"):
        built(lambda i, _: op.Pow(i.x, 2.5))


def test_equal_numbers_become_one_constant():
    assert len(constants(built(lambda i, _: (i.x + 2.0) * 2.0))) == 1


def test_an_expression_used_twice_becomes_one_op():
    def double(inputs: Inputs, match: Match) -> Tensor:
        e = op.Exp(inputs.x)
        return e + e

    assert sum(isinstance(found, onnx.ExpOp) for found in built(double)) == 1


def test_values_of_the_match_are_operands_too():
    made = built(lambda _, match: op.Sin(match["x"]))  # pyright: ignore[reportUnknownLambdaType]
    assert [found.name for found in made] == ["onnx.Sin", "onnx.Return"]


def test_an_input_may_take_the_place_of_the_output():
    assert [found.name for found in built(lambda inputs, _: inputs.x)] == ["onnx.Return"]


def test_attributes_and_node_names_are_written():
    shape = f"(%x : {T})"
    text = f"""
    func.func @main{shape} -> {T} {{
      %a = "onnx.Abs"(%x) : ({T}) -> {T}
      %y = "onnx.Neg"(%a) {{onnx_node_name = "last"}} : ({T}) -> {T}
      onnx.Return %y : {T}
    }}"""
    module = parse_module(text)
    optimize(module, [replacing(lambda inputs, _: op.LeakyRelu(op.Sin(inputs.x), alpha=0.5))])
    printed = str(module)
    assert "alpha = 5.000000e-01" in printed
    assert printed.count('onnx_node_name = "last"') == 1
    assert 'onnx.LeakyRelu"(%0) <{alpha = 5.000000e-01 : f32}> {onnx_node_name = "last"}' in printed


def test_ops_of_other_domains_have_the_type_of_the_output():
    made = built(lambda inputs, _: op.custom("my.domain", "Act", inputs.x, alpha=0.5, mode="fast"))
    custom = made[0]
    assert isinstance(custom, onnx.CustomOp)
    assert (custom.domain_name.data, custom.function_name.data) == ("my.domain", "Act")
    assert (
        str(custom.attributes["alpha"]) == "5.000000e-01 : f32" and str(custom.attributes["mode"]) == '"fast"'
    )
    assert custom.results[0].type == TensorType(f32, [2, 4])


def test_inner_ops_of_other_domains_need_their_types():
    with pytest.raises(PassError, match="my.domain:Act .* expected result_types, it is no output"):
        built(lambda inputs, _: op.Neg(op.custom("my.domain", "Act", inputs.x)))

    def given(inputs: Inputs, match: Match) -> Tensor:
        return op.Neg(op.custom("my.domain", "Act", inputs.x, result_types=[match["x"].type]))

    assert len(built(given)) == 3


def test_several_results_of_one_op():
    half = "tensor<1x4xf32>"

    class Halves(DeclarativePattern):
        @pattern
        def halves(x: Tensor) -> tuple[Tensor, Tensor]:
            low, high = op.Split(op.Neg(x), num_outputs=2).results(2)
            return high, op.Neg(low)

        def replacement(self, inputs: Inputs, match: Match) -> tuple[Tensor, Tensor]:
            low, high = op.Split(inputs.x, num_outputs=2).results(2)
            return op.Neg(high), low

    lines = (
        "%m = Neg %x",
        f"%a %b = Split %m %none {{num_outputs = 2 : si64}} : {half}",
        f"%n = Neg %a : {half}",
    )
    check_pattern(graph(*lines, returns="%n %b", results=f"{half}, {half}"), Halves, times=1)


def test_optional_results_that_are_asked_for():
    class Statistics(DeclarativePattern):
        @pattern
        def centred(x: Tensor, s: Tensor) -> tuple[Tensor, Tensor]:
            y, mean, _ = op.LayerNormalization(op.Neg(op.Neg(x)), s, axis=-1).results(3)
            return mean, y

        def replacement(self, inputs: Inputs, match: Match) -> tuple[Tensor, Tensor]:
            y, mean = op.LayerNormalization(inputs.x, inputs.s, axis=-1).results(2)
            return mean, y

    text = f"""
    func.func @main(%x : {T}, %s : tensor<4xf32>) -> ({T}, tensor<2x1xf32>) {{
      %none = "onnx.NoValue"() {{value}} : () -> none
      %n = "onnx.Neg"(%x) : ({T}) -> {T}
      %m = "onnx.Neg"(%n) : ({T}) -> {T}
      %y, %mean, %d = "onnx.LayerNormalization"(%m, %s, %none)
        : ({T}, tensor<4xf32>, none) -> ({T}, tensor<2x1xf32>, none)
      onnx.Return %y, %mean : {T}, tensor<2x1xf32>
    }}"""
    feeds = {"x": np.arange(8, dtype=np.float32).reshape(2, 4), "s": np.ones(4, np.float32)}
    done = check_pattern(text, Statistics, feeds)
    assert "-> (tensor<2x4xf32>, tensor<2x1xf32>, none)" in str(done)


def test_element_types_an_op_does_not_take_are_declined():
    shape = "tensor<2x4xi32>"
    text = graph(f"%a = Abs %x : {shape}", f"%y = Neg %a : {shape}", inputs=[f"%x : {shape}"], results=shape)
    kind = replacing(lambda inputs, _: op.Gelu(inputs.x))
    assert "onnx.Gelu does not take i32; expected a tensor of bf16, f16, f32 or f64" in decline_reason(
        text, kind
    )


def test_replacement_may_decline():
    def declining(inputs: Inputs, match: Match) -> Miss:
        return no_match(match.anchor, "not today")

    assert "not today (" in decline_reason(graph("%a = Abs %x", "%y = Neg %a"), replacing(declining))


def free_attribute(inputs: Inputs, match: Match) -> Tensor:
    return op.LeakyRelu(op.Sin(inputs.x), alpha=attribute("a"))


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda inputs, match: None, "replacement returns None"),
        (lambda inputs, match: 1.0, "replacement returns 1.0"),
        (lambda inputs, match: inputs.y, "replacement returns None"),
        (lambda inputs, match: (inputs.x, inputs.x), "returns 2 values; expected 1"),
        (lambda inputs, match: one_of(inputs.x, op.Sin(inputs.x)), "replacement returns"),
        (lambda inputs, match: op.Sin(one_of(inputs.x, 1.0)), "expected inputs, numbers, arrays and ops"),
        (free_attribute, "leaves alpha of onnx.LeakyRelu free"),
        (lambda inputs, match: inputs.z, "inputs.z: no such name"),
        (lambda inputs, match: match["innner"], "did you mean 'inner'"),
        (lambda inputs, match: match["y"], "is left out in this match"),
        (lambda inputs, match: match.scalar("x"), "the value is no constant number"),
        (lambda inputs, match: match.ints("x"), "no list of constant integers"),
        (lambda inputs, match: match.tensors("x"), "no parameter of this name is declared Tensors"),
        (lambda inputs, match: match.attribute("alpha"), "no such name"),
        (lambda inputs, match: match.op("x"), "no op makes this value"),
    ],
)  # fmt: skip
def test_a_wrong_replacement_is_an_error_that_names_the_pattern(
    function: Callable[[Inputs, Match], Made], message: str
):
    with pytest.raises(PassError, match=message) as raised:
        built(function)
    assert "Replace" in str(raised.value)


def test_requirements_give_nothing_or_a_miss():
    class Truthy(DeclarativePattern):
        @pattern
        def negated(x: Tensor) -> Tensor:
            return op.Neg(op.Abs(x))

        def requirements(self, match: Match) -> Any:
            return True

        def replacement(self, inputs: Inputs, match: Match) -> Tensor:
            return inputs.x

    module = parse_module(graph("%a = Abs %x", "%y = Neg %a"))
    with pytest.raises(PassError, match="requirements returns True; expected None or no_match"):
        optimize(module, [Truthy])


def test_inputs_by_name_and_by_number():
    seen: list[Any] = []

    def look(inputs: Inputs, match: Match) -> Tensor:
        seen.extend(
            [len(inputs), inputs[0] is inputs.x, list(inputs) == [inputs.x, None], match.has("inner")]
        )
        with pytest.raises(AttributeError):
            _ = inputs.__wrapped__
        return inputs.x

    built(look)
    assert seen[:4] == [2, True, True, True]


def test_remaining_operands_are_no_single_value():
    class Joined(DeclarativePattern):
        @pattern
        def joined(xs: Tensors) -> Tensor:
            return op.Neg(op.Concat(xs, axis=0))

        def replacement(self, inputs: Inputs, match: Match) -> Tensor:
            with pytest.raises(ValueError, match=r"use match.tensors\('xs'\)"):
                _ = match["xs"]
            return op.Concat(op.Neg(inputs.xs[0]), axis=0)

    check_pattern(graph("%c = Concat %x {axis = 0 : si64}", "%y = Neg %c"), Joined)


def test_scalars_tell_numbers_of_any_rank():
    class Scaled(DeclarativePattern):
        @pattern
        def scaled(x: Tensor, k: Tensor) -> Tensor:
            return op.Neg(op.PRelu(x, k))

        def replacement(self, inputs: Inputs, match: Match) -> Tensor:
            return op.Neg(op.LeakyRelu(inputs.x, alpha=match.scalar("k")))

    lines = ("%k = dense<0.5> : tensor<1x1xf32>", "%a = PRelu %x %k", "%y = Neg %a")
    assert "alpha = 5.000000e-01" in str(check_pattern(graph(*lines), Scaled))
    assert scalar("%k", "2.0") == "%k = dense<2.0> : tensor<f32>"


def test_the_engine_checks_the_type_of_what_is_built():
    with pytest.raises(PassError, match=r"the replacement has type tensor<2xf32>; expected tensor<2x4xf32>"):
        built(lambda inputs, _: op.ReduceSum(inputs.x, [1], keepdims=0))


@pytest.mark.parametrize("stage", list(Stage))
def test_patterns_of_every_stage_run_there(stage: Stage):
    class Staged(DeclarativePattern):
        @pattern
        def negated(x: Tensor) -> Tensor:
            return op.Neg(op.Abs(x))

        def replacement(self, inputs: Inputs, match: Match) -> Tensor:
            return op.Abs(op.Neg(inputs.x))

    Staged.stage = stage
    with use_patterns([Staged]):
        for other in Stage:
            module = parse_module(graph("%a = Abs %x", "%y = Neg %a"))
            RewritePatternsPass(("Staged",), stage=other.value).apply(make_context(), module)
            assert ('onnx.Neg"(%x)' in str(module)) == (other is stage)


def test_before_shape_inference_types_are_not_known_yet():
    shape = "tensor<*xf32>"
    text = graph(f"%a = Abs %x : {shape}", f"%y = Neg %a : {shape}", inputs=[f"%x : {shape}"], results=shape)
    module = parse_module(text)
    assert optimize(module, [replacing(lambda inputs, _: op.Sin(op.Neg(inputs.x * 2.0)))]) == 1
    assert str(module).count(shape) >= 3
