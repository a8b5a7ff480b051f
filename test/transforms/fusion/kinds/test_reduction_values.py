"""Reduced rows with elementwise ops around them: the values of the reference, and of the ops one by one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from fused_values import Array, assert_same, compiled, fused, lowered_as_one, normal, reference, values
from xdsl.dialects.builtin import ModuleOp

from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.text import parse_module

KIND = "onnx.reduction"
REDUCTIONS = (
    "ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1", "ReduceL2",
    "ReduceSumSquare", "ReduceLogSum", "ReduceLogSumExp",
)  # fmt: skip


def check(module: ModuleOp, inputs: Sequence[Array], tolerance: float = 1e-5) -> None:
    actual = lowered_as_one(module, KIND, inputs)
    assert_same(actual, reference(module, inputs), tolerance)
    assert_same(actual, compiled(module, inputs), tolerance)


def rows(norm: str, shape: str, *, row: str, element: str = "f32", keep: bool = False) -> ModuleOp:
    """x + r * v, a normalization, then Tanh and a product with x; `keep`: the sum is a result, too."""
    t, v = f"tensor<{shape}x{element}>", f"tensor<{row}x{element}>"
    parameters = {"LayerNormalization": "%s, %b", "RMSNormalization": "%s"}.get(norm, "")
    types = ", ".join([t, *[v] * len(parameters.split())])
    more = ", %m, %d" if norm == "LayerNormalization" else ""
    results = f"({t}, none, none)" if more else t
    axis = f"axis = {-len(row.split('x'))} : si64"
    operands = f"%a, {parameters}" if parameters else "%a"
    return parse_module(f"""
func.func @f(%x: {t}, %r: {t}, %v: {v}, %s: {v}, %b: {v}) -> ({t}{f", {t}" if keep else ""}) {{
  %0 = "onnx.Mul"({"%x" if "?" in shape else "%r"}, %v) : ({t}, {v}) -> {t}
  %a = "onnx.Add"(%x, %0) : ({t}, {t}) -> {t}
  %n{more} = "onnx.{norm}"({operands}) {{{axis}}} : ({types}) -> {results}
  %1 = "onnx.Tanh"(%n) : ({t}) -> {t}
  %y = "onnx.Mul"(%1, %b) : ({t}, {v}) -> {t}
  onnx.Return %y{", %a" if keep else ""} : {t}{f", {t}" if keep else ""}
}}""")


def operands(shape: Sequence[int], row: Sequence[int], element: str = "f32") -> list[Array]:
    shapes = (shape, shape, row, row, row)
    return [normal(tuple(s), element, i) for i, s in enumerate(shapes)]


@pytest.mark.parametrize("keep", [False, True])
@pytest.mark.parametrize("norm", ["LayerNormalization", "RMSNormalization", "Softmax", "LogSoftmax"])
def test_normalizations(norm: str, keep: bool) -> None:
    check(rows(norm, "3x5x70", row="70", keep=keep), operands((3, 5, 70), (70,)))
    check(rows(norm, "?x5x7", row="7", keep=keep), operands((3, 5, 7), (7,)))


@pytest.mark.parametrize("norm", ["LayerNormalization", "RMSNormalization"])
def test_rows_of_two_dims(norm: str) -> None:
    check(rows(norm, "3x2x5", row="2x5"), operands((3, 2, 5), (2, 5)))


@pytest.mark.parametrize("shape", ["0x4", "1x1", "1x4", "2x1"])
def test_few_elements(shape: str) -> None:
    dims = [int(d) for d in shape.split("x")]
    for norm in ("LayerNormalization", "Softmax"):
        check(rows(norm, shape, row=str(dims[1]), keep=True), operands(dims, dims[1:]))


@pytest.mark.parametrize("norm", ["LayerNormalization", "RMSNormalization", "Softmax", "LogSoftmax"])
def test_double_precision(norm: str) -> None:
    check(rows(norm, "3x20", row="20", element="f64"), operands((3, 20), (20,), "f64"), 1e-6)


@pytest.mark.parametrize("norm", ["LayerNormalization", "RMSNormalization", "Softmax", "LogSoftmax"])
def test_nan_and_infinities_stay_in_their_row(norm: str) -> None:
    module = rows(norm, "4x20", row="20")
    inputs = operands((4, 20), (20,))
    inputs[0][1] = values((20,), "f32")
    inputs[0][2, 3] = np.inf
    inputs[0][3] = -np.inf
    actual = lowered_as_one(module, KIND, inputs)
    assert_same(actual, compiled(module, inputs), 1e-5)
    assert not np.isnan(actual[0][0]).any()


def reduce(op: str, shape: str, result: str, axes: str, keepdims: int) -> ModuleOp:
    """Abs, Add, a reduction, Sub of a second input or, where sizes are not known, of itself, Mul."""
    element = "f32"
    t, u = f"tensor<{shape}x{element}>", f"tensor<{result}x{element}>" if result else f"tensor<{element}>"
    count = len(axes.split(","))
    return parse_module(f"""
func.func @f(%x: {t}, %c: {u}) -> {u} {{
  %axes = onnx.Constant dense<[{axes}]> : tensor<{count}xi64>
  %half = onnx.Constant dense<0.5> : tensor<{element}>
  %0 = "onnx.Abs"(%x) : ({t}) -> {t}
  %1 = "onnx.Add"(%0, %half) : ({t}, tensor<{element}>) -> {t}
  %2 = "onnx.{op}"(%1, %axes) {{keepdims = {keepdims} : si64}} : ({t}, tensor<{count}xi64>) -> {u}
  %3 = "onnx.Sub"(%2, {"%2" if "?" in shape else "%c"}) : ({u}, {u}) -> {u}
  %4 = "onnx.Mul"(%3, %half) : ({u}, tensor<{element}>) -> {u}
  onnx.Return %4 : {u}
}}""")


@pytest.mark.parametrize("op", REDUCTIONS)
def test_reductions(op: str) -> None:
    check(reduce(op, "3x4x9", "3x4x1", "2", 1), [normal((3, 4, 9)), normal((3, 4, 1), "f32", 1)])
    check(reduce(op, "3x2x3", "3", "-1, 1", 0), [normal((3, 2, 3)), normal((3,), "f32", 1)])


def test_reductions_to_one_number_and_of_unknown_sizes() -> None:
    check(reduce("ReduceMean", "3x4", "", "0, 1", 0), [normal((3, 4)), normal((), "f32", 1)])
    for size in (0, 1, 5):
        check(reduce("ReduceMax", "?x9", "?x1", "1", 1), [normal((size, 9)), normal((size, 1), "f32", 1)])


def test_data_that_others_read_is_written_once() -> None:
    module = parse_module("""
func.func @f(%x: tensor<3x9xf32>) -> (tensor<3x9xf32>, tensor<3x1xf32>) {
  %axes = onnx.Constant dense<[1]> : tensor<1xi64>
  %0 = "onnx.Exp"(%x) : (tensor<3x9xf32>) -> tensor<3x9xf32>
  %1 = "onnx.ReduceLogSumExp"(%0, %axes) : (tensor<3x9xf32>, tensor<1xi64>) -> tensor<3x1xf32>
  onnx.Return %0, %1 : tensor<3x9xf32>, tensor<3x1xf32>
}""")
    check(module, [normal((3, 9))])


def test_data_of_a_body_must_have_rows_of_equal_number() -> None:
    """Dims that detection proved equal are checked with the sizes at hand."""
    module = parse_module("""
func.func @f(%x: tensor<?x4xf32>, %y: tensor<?x4xf32>) -> tensor<?x4xf32> {
  %0 = "onnx.FusedOp"(%x, %y) <{kind = "onnx.reduction"}> ({
  ^bb0(%a: tensor<?x4xf32>, %b: tensor<?x4xf32>):
    %1 = "onnx.Add"(%a, %b) : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
    %2 = "onnx.Softmax"(%1) : (tensor<?x4xf32>) -> tensor<?x4xf32>
    "onnx.Yield"(%2) : (tensor<?x4xf32>) -> ()
  }) {dim_conditions = [[0, 0, 1, 0]], lead_count = 1 : si64, op_count = 2 : si64}
    : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
  onnx.Return %0 : tensor<?x4xf32>
}""")
    for first, second in ((3, 3), (1, 3), (3, 1), (0, 1)):
        inputs = [normal((first, 4)), normal((second, 4), "f32", 1)]
        assert_same(compiled(module, inputs), reference(module, inputs), 1e-5)


def test_a_chain_that_reads_the_data_beside_the_result_is_fused() -> None:
    module = parse_module("""
func.func @f(%x: tensor<3x9xf32>) -> tensor<3x9xf32> {
  %0 = "onnx.Softmax"(%x) : (tensor<3x9xf32>) -> tensor<3x9xf32>
  %1 = "onnx.Mul"(%0, %x) : (tensor<3x9xf32>, tensor<3x9xf32>) -> tensor<3x9xf32>
  onnx.Return %1 : tensor<3x9xf32>
}""")
    assert sum(isinstance(op, onnx.FusedOp) for op in fused(module, KIND).walk()) == 1
    check(module, [normal((3, 9))])
