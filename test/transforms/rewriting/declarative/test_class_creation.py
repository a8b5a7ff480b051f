"""Is everything that is wrong with a declarative pattern said when its class is made, with a hint?

Each case is a class body; the error is the one an author would see.
"""

# A type checker objects to most of what is wrong here, which is the point.
# pyright: reportCallIssue=false, reportArgumentType=false, reportAttributeAccessIssue=false
# pyright: reportUnknownParameterType=false, reportMissingParameterType=false
# pyright: reportUndefinedVariable=false, reportGeneralTypeIssues=false

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import TensorType, f32
from xdsl.utils.test_value import create_ssa_value

from onnxloom.dialects import onnx
from onnxloom.transforms.rewriting.declarative import (
    DeclarativePattern,
    DecomposePattern,
    FunctionBodyPattern,
    Inputs,
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
    shared,
)


def declared(function: Callable[..., Any], **members: Any) -> type:
    """A pattern class with one pattern function."""
    body: dict[str, Any] = {
        "expression": pattern(function),
        "replacement": lambda self, inputs, match: inputs.x,
        **members,
    }
    return type("Wrong", (DeclarativePattern,), body)


def unknown_attribute(x: Tensor):
    return op.ReduceMean(x, keepdim=0)


def far_attribute(x: Tensor):
    return op.Relu(x, slope=0.1)


def missing_attribute(x: Tensor):
    return op.Cast(x)


def attribute_of_another_kind(x: Tensor):
    return op.Transpose(x, perm="01")


def attribute_that_is_no_value(x: Tensor):
    return op.Softmax(x, axis=[0])


def too_few_operands(x: Tensor):
    return op.Add(x)


def too_many_operands(x: Tensor):
    return op.Clip(x, 0, 1, 2)


def unknown_op(x: Tensor):
    return op.Gellu(x)


def foreign_op(x: Tensor):
    return op.FastGelu9(x)


def constant_op(x: Tensor):
    return x + op.Constant(1.0)


def op_with_graphs(x: Tensor):
    return op.Loop(x, x)


def operand_of_a_wrong_kind(x: Tensor):
    return op.Add(x, "1")


def operand_of_mixed_items(x: Tensor):
    return op.Reshape(x, [1, "n"])


def nothing_returned(x: Tensor):
    op.Relu(x)


def empty_tuple(x: Tensor):
    return ()


def parameter_returned(x: Tensor):
    return x


def number_returned(x: Tensor):
    return 1.0


def returned_twice(x: Tensor):
    y = op.Relu(x)
    return y, y


def alternative_without_op(x: Tensor):
    return one_of(op.Relu(x), x)


def unused_parameter(x: Tensor, y: Tensor):
    return op.Relu(x)


def unused_op(x: Tensor):
    op.Sin(x)
    return op.Relu(x)


def no_parameter():
    return op.Relu(op.RandomNormal(shape=[2]))


def no_annotation(x):
    return op.Relu(x)


def other_annotation(x: int):
    return op.Relu(x)


def union_annotation(x: Tensor | Tensors):
    return op.Relu(x)


def unseen_annotation(x: Somewhere):  # noqa: F821
    return op.Relu(x)


def with_self(self: Tensor, x: Tensor):
    return op.Add(self, x)


def with_default(x: Tensor = 1.0):
    return op.Relu(x)


def with_star(*x: Tensor):
    return op.Concat(*x, axis=0)


def keyword_only(*, x: Tensor):
    return op.Relu(x)


def optional_tensors(x: Tensors | None):
    return op.Concat(x, axis=0)


def tensors_in_the_middle(x: Tensors, y: Tensor):
    return op.Concat(x, y, axis=0)


def tensors_for_one(x: Tensors):
    return op.Relu(x)


def only_in_one_alternative(x: Tensor, bias: Tensor):
    return op.Relu(one_of(x + bias, x))


def outputs_apart(x: Tensor, y: Tensor):
    return op.Relu(x), op.Sin(y)


def alternatives_beside_the_last_op(x: Tensor):
    return one_of(op.Sin(x), op.Cos(x)), op.Relu(x)


def truth_of_an_expression(x: Tensor):
    return op.Relu(x) if x else op.Sin(x)


def one_alternative(x: Tensor):
    return one_of(op.Relu(x))


def optional_parameter(x: Tensor):
    return op.Relu(optional(x))


def optional_without_operand(x: Tensor):
    return op.Relu(x + optional(op.Relu(1.0)))


def optional_second_result(x: Tensor):
    return op.Relu(optional(op.Dropout(x).results(2)[1]))


def captured_parameter(x: Tensor):
    return op.Relu(capture(x, "y"))


def captured_number(x: Tensor):
    return op.Relu(x + capture(1.0, "y"))


def captured_without_a_name(x: Tensor):
    return capture(op.Relu(x), "a value")


def captured_twice(x: Tensor):
    return capture(capture(op.Relu(x), "a"), "b")


def captured_under_a_parameters_name(x: Tensor):
    return capture(op.Relu(x), "x")


def shared_parameter(x: Tensor):
    return op.Relu(shared(x))


def attribute_without_a_name(x: Tensor):
    return op.Softmax(x, axis=attribute("the axis"))


def results_of_no_op(x: Tensor):
    return op.Relu(x.results(2)[1])


def results_of_another_result(x: Tensor):
    return op.Dropout(x).results(2)[1].results(2)


VALUE = create_ssa_value(TensorType(f32, [2]))


def value_of_the_ir(x: Tensor):
    return op.Add(x, VALUE)


def fine(x: Tensor) -> Tensor:
    return op.Relu(x)


FUNCTIONS: list[tuple[Callable[..., Any], type[Exception], str]] = [
    (unknown_attribute, TypeError, "no attribute 'keepdim'; did you mean 'keepdims'"),
    (far_attribute, TypeError, "no attribute 'slope'; it has none"),
    (missing_attribute, TypeError, "needs the attribute 'to'"),
    (attribute_of_another_kind, TypeError, "attribute perm is '01'; expected an array of i64"),
    (attribute_that_is_no_value, TypeError, r"attribute axis is \[0\]; expected an si64 integer"),
    (too_few_operands, TypeError, r"op.Add is given 1 operands; it takes \(A, B\)"),
    (too_many_operands, TypeError, r"op.Clip is given 4 operands; it takes \(input, min\?, max\?\)"),
    (unknown_op, TypeError, "no such op; did you mean op.Gelu"),
    (foreign_op, TypeError, "op.FastGelu9: the standard has no such op"),
    (constant_op, TypeError, "write the number or array itself"),
    (op_with_graphs, TypeError, "op.Loop holds graphs"),
    (operand_of_a_wrong_kind, TypeError, "'1' is no operand; expected an expression"),
    (operand_of_mixed_items, TypeError, "is no operand"),
    (nothing_returned, TypeError, "returns None; expected the result of an op"),
    (empty_tuple, TypeError, "returns nothing"),
    (parameter_returned, ValueError, "returns its parameter 'x'"),
    (number_returned, TypeError, "returns 1.0"),
    (returned_twice, ValueError, "returns the same value twice"),
    (alternative_without_op, ValueError, "returns x, which no op makes"),
    (value_of_the_ir, TypeError, "uses a value of the IR; expected parameters, numbers and ops"),
    (unused_parameter, ValueError, "parameter 'y' is not part of what is returned"),
    (unused_op, ValueError, r"onnx.Sin \(test_class_creation.py:\d+\) is not part of what is returned"),
    (no_parameter, TypeError, "has no parameter"),
    (no_annotation, TypeError, "parameter 'x' has no annotation; expected one of Tensor"),
    (other_annotation, TypeError, "parameter 'x' has the annotation int"),
    (union_annotation, TypeError, "parameter 'x' has the annotation"),
    (unseen_annotation, TypeError, "annotations must be names that the module can see"),
    (with_self, TypeError, "a pattern function has no 'self'"),
    (with_default, TypeError, "parameter 'x' must be plain"),
    (with_star, TypeError, "parameter 'x' must be plain"),
    (keyword_only, TypeError, "parameter 'x' must be plain"),
    (optional_tensors, TypeError, "Tensors may be empty already"),
    (tensors_in_the_middle, TypeError, "expected as the last operand"),
    (tensors_for_one, TypeError, "expected as the last operand of an op that takes any number"),
    (only_in_one_alternative, TypeError, "declare it 'Tensor | None'"),
    (outputs_apart, ValueError, "no input in common"),
    (alternatives_beside_the_last_op, ValueError, "alternatives may only stand in front of the last op"),
    (truth_of_an_expression, TypeError, "no truth value"),
    (one_alternative, ValueError, "one_of is given 1 expressions"),
    (optional_parameter, TypeError, "optional is given what no op makes"),
    (optional_without_operand, TypeError, "use one_of instead"),
    (optional_second_result, TypeError, "use one_of instead"),
    (captured_parameter, TypeError, "capture is given the parameter 'x'"),
    (captured_number, TypeError, "capture is given 1.0"),
    (captured_without_a_name, ValueError, "expected an identifier"),
    (captured_twice, ValueError, "captured as 'a' already"),
    (captured_under_a_parameters_name, ValueError, "the name 'x' stands for two values"),
    (shared_parameter, TypeError, "shared is given the parameter 'x'"),
    (attribute_without_a_name, ValueError, "expected an identifier"),
    (results_of_no_op, TypeError, "not the result of an op"),
    (results_of_another_result, TypeError, "ask the first result"),
]


@pytest.mark.parametrize(
    ("function", "error", "message"), FUNCTIONS, ids=lambda v: getattr(v, "__name__", "")
)
def test_a_wrong_pattern_function(function: Callable[..., Any], error: type[Exception], message: str):
    with pytest.raises(error, match=message) as raised:
        declared(function)
    assert "Wrong.expression" in str(raised.value)


def test_an_error_names_the_line_of_the_op():
    line = too_few_operands.__code__.co_firstlineno + 1
    with pytest.raises(TypeError, match=rf"\(test_class_creation.py:{line}\)"):
        declared(too_few_operands)


@pytest.mark.parametrize(
    ("members", "error", "message"),
    [
        ({"expression": None}, TypeError, "has no pattern; expected a function marked @pattern"),
        ({"start_ops": (onnx.ReluOp,)}, TypeError, "start_ops follows from the pattern's last op"),
        ({"config": {"rtol": 1}}, TypeError, r"config is .*; expected MatcherConfig"),
        ({"replacement": DeclarativePattern.replacement}, TypeError, "has no replacement"),
        ({"replacement": lambda self, inputs: inputs.x}, TypeError, r"replacement\(self, inputs, match\)"),
        ({"requirements": lambda self: None}, TypeError, r"expected requirements\(self, match\)"),
        ({"requirements": lambda self, *match: None}, TypeError, r"expected requirements\(self, match\)"),
        ({"min_opset": "13"}, TypeError, "min_opset"),
    ],
)  # fmt: skip
def test_a_wrong_class(members: dict[str, Any], error: type[Exception], message: str):
    with pytest.raises(error, match=message):
        declared(fine, **members)


@pytest.mark.parametrize("arguments", [{"name": "Mine"}, {}])
def test_pattern_takes_no_settings(arguments: dict[str, Any]):
    with pytest.raises(TypeError, match="@pattern"):
        pattern(**arguments)
    with pytest.raises(TypeError, match="write @pattern above a function"):
        pattern("name")


def test_alternatives_have_the_same_parameters():
    def other(x: Tensor, k: Scalar) -> Tensor:
        return x * k

    with pytest.raises(ValueError, match=r"Wrong.other: has the parameters \(x: Tensor, k: Scalar\)"):
        declared(fine, other=pattern(other))


def test_alternatives_have_as_many_outputs():
    def other(x: Tensor) -> tuple[Tensor, ...]:
        return op.Sin(x), op.Cos(x)

    with pytest.raises(ValueError, match="Wrong.other: returns 2 values; expected 1"):
        declared(fine, other=pattern(other))


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"rtol": "0"}, TypeError, "rtol is '0'"),
        ({"rtol": True}, TypeError, "rtol is True"),
        ({"rtol": -1e-3}, ValueError, "rtol is -0.001"),
        ({"rtol": 1.0}, ValueError, "rtol is 1.0"),
        ({"commute": 1}, TypeError, "commute is 1"),
        ({"max_steps": 0}, ValueError, "max_steps is 0"),
        ({"max_steps": 1.5}, ValueError, "max_steps is 1.5"),
    ],
)
def test_wrong_settings(settings: dict[str, Any], error: type[Exception], message: str):
    with pytest.raises(error, match=message):
        MatcherConfig(**settings)


@pytest.mark.parametrize(
    ("base", "members", "error", "message"),
    [
        (DecomposePattern, {}, TypeError, "has no start_ops"),
        (DecomposePattern, {"start_ops": (onnx.FusedOp, np.ndarray)}, TypeError, "expected op classes"),
        (DecomposePattern, {"start_ops": (onnx.ReluOp,)}, TypeError, "has no replacement"),
        (
            DecomposePattern,
            {"start_ops": (onnx.ReluOp,), "replacement": lambda self, match: match},
            TypeError,
            r"expected replacement\(self, inputs, match\)",
        ),
        (
            DecomposePattern,
            {
                "start_ops": (onnx.ReluOp,),
                "replacement": lambda self, inputs, match: inputs.X,
                "requirements": lambda self: None,
            },
            TypeError,
            r"expected requirements\(self, match\)",
        ),
        (FunctionBodyPattern, {"start_ops": (onnx.AddOp,)}, ValueError, "no function body for AddOp"),
        (FunctionBodyPattern, {"start_ops": (onnx.SequenceMapOp,)}, ValueError, "no function body for Seq"),
        (FunctionBodyPattern, {"start_ops": ()}, TypeError, "has no start_ops"),
    ],
)
def test_a_wrong_decomposition(base: type, members: dict[str, Any], error: type[Exception], message: str):
    with pytest.raises(error, match=message):
        type("Wrong", (base,), members)


def test_what_is_right_makes_a_class():
    made = declared(fine)
    assert made.start_ops == (onnx.ReluOp,)
    assert made.name == "Wrong"


def test_pattern_functions_are_inherited():
    class Base(DeclarativePattern, abstract=True):
        def replacement(self, inputs: Inputs, match: Match) -> Tensor:
            return inputs.x

        @pattern
        def first(x: Tensor) -> Tensor:
            return op.Relu(x)

    class Derived(Base):
        @pattern
        def second(x: Tensor) -> Tensor:
            return op.Sin(x)

    assert [graph.name for graph in Derived.patterns] == ["Derived.first", "Derived.second"]
    assert Derived.start_ops == (onnx.ReluOp, onnx.SinOp)


def test_a_subclass_may_replace_and_remove_pattern_functions():
    class First(DeclarativePattern):
        @pattern
        def one(x: Tensor) -> Tensor:
            return op.Relu(x)

        @pattern
        def two(x: Tensor) -> Tensor:
            return op.Sin(x)

        def replacement(self, inputs: Inputs, match: Match) -> Tensor:
            return inputs.x

    def two(x: Tensor) -> Tensor:
        return op.Cos(x)

    second: Any = type("Second", (First,), {"one": None, "two": pattern(two)})
    assert second.start_ops == (onnx.CosOp,)


def test_an_error_of_another_kind_in_a_pattern_function_is_one_of_the_two():
    def function(x: Tensor) -> Tensor:
        b"\xff".decode()
        return op.Relu(x)

    with pytest.raises(ValueError, match="Wrong.expression: 'utf-8' codec"):
        declared(function)
