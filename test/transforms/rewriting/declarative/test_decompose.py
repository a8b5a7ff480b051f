"""Is one op replaced by an expression, or by what the standard defines it as?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx as onnx_package
import pytest
from ir_graphs import T, graph, scalar
from onnx import TensorProto, helper

from onnxloom.dialects import onnx
from onnxloom.testing.patterns import check_pattern, decline_reason
from onnxloom.testing.tolerance import Abs
from onnxloom.transforms.miss import Miss, no_match
from onnxloom.transforms.rewriting.declarative import (
    DecomposePattern,
    FunctionBodyPattern,
    Inputs,
    Match,
    Tensor,
    op,
)
from onnxloom.transforms.rewriting.declarative.function_body import function_ops
from onnxloom.transforms.rewriting.declarative.function_expression import NoExpression, function_expression
from onnxloom.transforms.rewriting.pattern import Numerics


class LeakyReluParts(DecomposePattern):
    start_ops = (onnx.LeakyReluOp,)

    def requirements(self, match: Match) -> Miss | None:
        if match.attribute("alpha") == 0.0:
            return no_match(match.anchor, "this is Relu")
        return None

    def replacement(self, inputs: Inputs, match: Match) -> Tensor:
        return op.Where(op.Less(inputs.X, 0), inputs.X * match.attribute("alpha"), inputs.X)


def test_an_op_becomes_an_expression_of_its_operands_and_attributes():
    text = graph("%l = LeakyRelu %x {alpha = 0.5 : f32}", "%y = LeakyRelu %l")
    done = str(check_pattern(text, LeakyReluParts, times=2))
    assert "LeakyRelu" not in done and "dense<5.000000e-01>" in done and "dense<1.000000e-02>" in done
    assert LeakyReluParts.adds_ops == "one op is taken apart"


def test_requirements_are_asked():
    text = graph("%y = LeakyRelu %x {alpha = 0.0 : f32}")
    assert "this is Relu (" in decline_reason(text, LeakyReluParts)


class ClipParts(DecomposePattern):
    start_ops = (onnx.ClipOp,)

    def replacement(self, inputs: Inputs, match: Match) -> Tensor:
        value = inputs.input if inputs.min is None else op.Max(inputs.input, inputs.min)
        return value if inputs.max is None else op.Min(value, inputs.max)


@pytest.mark.parametrize(
    ("clip", "ops"),
    [("%k %none", ["Max"]), ("%none %k", ["Min"]), ("%none %none", []), ("%k %k", ["Max", "Min"])],
)
def test_operands_that_are_left_out(clip: str, ops: Sequence[str]):
    done = str(check_pattern(graph(scalar("%k", "0.25"), f"%c = Clip %x {clip}", "%y = Neg %c"), ClipParts))
    assert [name for name in ("Max", "Min") if f"onnx.{name}" in done] == list(ops)


class SumParts(DecomposePattern):
    start_ops = (onnx.SumOp,)
    numerics = Numerics.TOLERANCE

    def replacement(self, inputs: Inputs, match: Match) -> Tensor:
        total, *others = inputs.data_0
        for other in others:
            total = total + other
        return op.Identity(total)


def test_operands_of_a_variadic_op():
    text = graph("%y = Sum %x %z %x", inputs=[f"%x : {T}", f"%z : {T}"])
    assert str(check_pattern(text, SumParts)).count("onnx.Add") == 2


class SplitParts(DecomposePattern):
    start_ops = (onnx.SplitOp,)

    def replacement(self, inputs: Inputs, match: Match) -> tuple[Tensor, ...]:
        rows = [op.Gather(inputs.input, [row], axis=0) for row in range(2)]
        return tuple(rows[: len(match.outputs)])


@pytest.mark.parametrize(("returned", "count"), [("%a", 1), ("%b", 2)])
def test_results_up_to_the_last_one_that_is_read(returned: str, count: int):
    half = "tensor<1x4xf32>"
    text = graph(
        f"%a %b = Split %x %none {{num_outputs = 2 : si64}} : {half}", returns=returned, results=half
    )
    check_pattern(text, SplitParts, times=1)


def test_an_op_that_nothing_reads_still_matches():
    half = "tensor<1x4xf32>"
    lines = (f"%a %b = Split %x %none {{num_outputs = 2 : si64}} : {half}", "%y = Neg %x")

    class Unread(SplitParts):
        def requirements(self, match: Match) -> Miss | None:
            return no_match(match.anchor, f"{len(match.outputs)} outputs")

    assert "1 outputs" in decline_reason(graph(*lines), Unread)


def test_absent_results_are_no_outputs():
    class Norm(DecomposePattern):
        start_ops = (onnx.LayerNormalizationOp,)

        def replacement(self, inputs: Inputs, match: Match) -> Tensor:
            assert len(match.outputs) == 1
            return op.Neg(inputs.X)

    text = f"""
    func.func @main(%x : {T}, %s : tensor<4xf32>) -> {T} {{
      %none = "onnx.NoValue"() {{value}} : () -> none
      %y, %m, %d = "onnx.LayerNormalization"(%x, %s, %none) : ({T}, tensor<4xf32>, none) -> ({T}, none, none)
      onnx.Return %y : {T}
    }}"""
    ones = np.ones((2, 4), np.float32)
    check_pattern(text, Norm, {"x": 0 * ones, "s": ones[0]}, Abs(1.0))


# Function bodies.


class Bodies(FunctionBodyPattern):
    start_ops = function_ops()


Given = tuple[str, int, Sequence[int]]
F, I64 = TensorProto.FLOAT, TensorProto.INT64
X: Given = ("x", F, [2, 4])


def model(name: str, inputs: Sequence[Given], results: int = 1, **attributes: Any) -> onnx_package.ModelProto:
    names = [f"y{index}" for index in range(results)]
    node = helper.make_node(name, [value for value, _, _ in inputs], names, **attributes)
    infos = [helper.make_tensor_value_info(value, kind, dims) for value, kind, dims in inputs if value]
    outputs = [helper.make_empty_tensor_value_info(value) for value in names]
    opsets = [helper.make_opsetid("", onnx_package.defs.onnx_opset_version())]
    made = helper.make_model(helper.make_graph([node], "g", infos, outputs), opset_imports=opsets)
    return onnx_package.shape_inference.infer_shapes(made)


CASES: list[tuple[str, Sequence[Given], dict[str, Any]]] = [
    ("Gelu", [X], {}),
    ("Gelu", [X], {"approximate": "tanh"}),
    ("Swish", [X], {"alpha": 1.5}),
    ("HardSwish", [X], {}),
    ("LeakyRelu", [X], {"alpha": 0.1}),
    ("Celu", [X], {"alpha": 0.5}),
    ("Selu", [X], {}),
    ("Softplus", [X], {}),
    ("Shrink", [X], {"bias": 0.25, "lambd": 0.1}),
    ("Softmax", [X], {"axis": 0}),
    ("LogSoftmax", [X], {}),
    ("LayerNormalization", [X, ("s", F, [4]), ("b", F, [4])], {"epsilon": 0.01}),
    ("LayerNormalization", [X, ("s", F, [4])], {"axis": -2 + 1}),
    ("RMSNormalization", [X, ("s", F, [4])], {}),
    ("GroupNormalization", [("x", F, [2, 4, 3]), ("s", F, [4]), ("b", F, [4])], {"num_groups": 2}),
    ("Clip", [X, ("", F, []), ("high", F, [])], {}),
    ("GreaterOrEqual", [X, ("z", F, [4])], {}),
    ("ReduceL2", [X], {"keepdims": 0}),
    ("ReduceLogSumExp", [X, ("axes", I64, [1])], {}),
    ("MeanVarianceNormalization", [("x", F, [2, 3, 4, 5])], {}),
    ("CastLike", [X, ("z", TensorProto.FLOAT16, [1])], {}),
    ("DepthToSpace", [("x", F, [1, 8, 2, 3])], {"blocksize": 2, "mode": "CRD"}),
    ("Attention", [("q", F, [1, 2, 3, 4]), ("k", F, [1, 2, 5, 4]), ("v", F, [1, 2, 5, 4])], {}),
    ("RotaryEmbedding", [("x", F, [1, 2, 3, 4]), ("c", F, [1, 3, 2]), ("s", F, [1, 3, 2])], {}),
    ("NegativeLogLikelihoodLoss", [("x", F, [3, 4]), ("t", I64, [3])], {"reduction": "sum"}),
]


def feeds(inputs: Sequence[Given]) -> dict[str, np.ndarray[Any, Any]]:
    """Small numbers; integers are 0 and 1."""
    made: dict[str, np.ndarray[Any, Any]] = {}
    generator = np.random.default_rng(7)
    for name, kind, dims in inputs:
        if name:
            numbers = generator.uniform(-2, 2, dims) if kind != I64 else generator.integers(0, 2, dims)
            made[name] = numbers.astype(helper.tensor_dtype_to_np_dtype(kind))
    return made


@pytest.mark.parametrize(("name", "inputs", "attributes"), CASES, ids=[case[0] for case in CASES])
def test_an_op_is_what_the_standard_defines_it_as(
    name: str, inputs: Sequence[Given], attributes: dict[str, Any]
):
    done = check_pattern(model(name, inputs, **attributes), Bodies, feeds(inputs), Abs(1e-5))
    assert f'"onnx.{name}"' not in str(done)


def test_a_body_with_several_results():
    # Rounds half to even at the same places only while the numbers are no ties.
    text = model("DynamicQuantizeLinear", [X], 3)
    values = np.array([[-1.0, 0.1, 0.2, 2.0], [0.3, 0.4, 0.5, 0.6]], np.float32)
    done = check_pattern(text, Bodies, {"x": values}, Abs(1e-6))
    assert "onnx.DynamicQuantizeLinear" not in str(done)


def test_a_body_that_depends_on_types_is_asked_for_with_them():
    half = graph("%y = Gelu %x : tensor<2x4xf16>", inputs=["%x : tensor<2x4xf16>"], results="tensor<2x4xf16>")
    done = str(check_pattern(half, Bodies, tolerance=Abs(1e-2)))
    assert "tensor<f16>" in done


@pytest.mark.parametrize(
    ("name", "inputs", "reason"),
    [
        ("Range", [("a", I64, []), ("b", I64, []), ("c", I64, [])], "its function body holds graphs"),
        ("Clip", [X, ("", F, []), ("", F, [])], None),
    ],
)
def test_forms_without_an_expression_are_declined(name: str, inputs: Sequence[Given], reason: str | None):
    if reason is None:
        check_pattern(model(name, inputs), Bodies)
    else:
        assert reason in decline_reason(model(name, inputs), Bodies)


def test_ops_without_a_body_for_their_types_are_declined():
    text = """
    func.func @main(%x : tensor<*xf32>, %c : tensor<*xf32>) -> tensor<*xf32> {
      %none = "onnx.NoValue"() {value} : () -> none
      %y = "onnx.RotaryEmbedding"(%x, %c, %c, %none)
        : (tensor<*xf32>, tensor<*xf32>, tensor<*xf32>, none) -> tensor<*xf32>
      onnx.Return %y : tensor<*xf32>
    }"""
    assert "no function body for these types" in decline_reason(text, Bodies)


def function(
    *nodes: onnx_package.NodeProto, opset: int = 18, output: str = "y"
) -> onnx_package.FunctionProto:
    opsets = [helper.make_opsetid("", opset)]
    return helper.make_function("d", "f", ["x"], [output], nodes, opsets, ["k"])


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (function(helper.make_node("Softmax", ["x"], ["y"]), opset=11), "holds Softmax of opset 11"),
        (function(helper.make_node("Foo", ["x"], ["y"])), "holds Foo of opset 18"),
        (function(helper.make_node("Relu", ["x"], ["z"]), output="x"), "gives back an input"),
        (
            function(helper.make_node("Constant", [], ["y"], value_float=1.0)),
            "gives back an input or a constant",
        ),
        (
            function(helper.make_node("Constant", [], ["y"], value_string="a")),
            "holds a Constant with value_string",
        ),
        (
            function(helper.make_node("ReduceMean", ["x"], ["y"], axes=[0]), opset=13),
            "has another form by now",
        ),
        (function(helper.make_node("Clip", ["x", "x", "x", "x"], ["y"])), "has another form by now"),
        (function(helper.make_node("Scan", ["x"], ["y"])), "an op with graphs"),
    ],
)
def test_functions_without_an_expression(body: onnx_package.FunctionProto, message: str):
    with pytest.raises(NoExpression, match=message):
        function_expression(body, {"x": None}, {})


def test_attributes_of_a_function_reach_its_nodes():
    referring = helper.make_node("Softmax", ["x"], ["y"])
    referring.attribute.append(
        onnx_package.AttributeProto(name="axis", ref_attr_name="k", type=onnx_package.AttributeProto.INT)
    )
    given = {"k": helper.make_attribute("k", 0)}
    (made,) = function_expression(function(referring), {"x": None}, given)
    assert made.op.attributes == {"axis": 0}  # pyright: ignore[reportAttributeAccessIssue]
    (made,) = function_expression(function(referring), {"x": None}, {})
    assert made.op.attributes == {}  # pyright: ignore[reportAttributeAccessIssue]
