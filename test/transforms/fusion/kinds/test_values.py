"""Fused ops compute what the ops they hold compute: the reference's values, and the unfused kernels' bits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from fused_values import (
    DTYPES,
    Array,
    assert_same,
    compiled,
    fused,
    lowered_as_one,
    normal,
    reference,
    values,
)
from tampering import FALL_BACK, Tamper
from xdsl.dialects.builtin import ModuleOp

from onnxloom.conversion.onnx_to_loom.decline import FusionFallbackWarning
from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.text import parse_module

# onnx.elementwise: exact, against the unfused kernels and against the reference.


def check_elementwise(module: ModuleOp, inputs: Sequence[Array]) -> None:
    actual = lowered_as_one(module, "onnx.elementwise", inputs)
    assert_same(actual, compiled(module, inputs))
    assert_same(actual, reference(module, inputs))


def chain(element: str, x: str, y: str, full: str) -> ModuleOp:
    """Sub, Mul, Add, Max, Abs, Where and a cast: exact in every type; two results."""
    tx, ty, tf = (f"tensor<{s}{element}>" for s in (x, y, full))
    tb = f"tensor<{full}i1>"
    abs_op = (
        f'"onnx.Abs"(%3) : ({tf}) -> {tf}'
        if not element.startswith("ui")
        else f'"onnx.Max"(%3, %x) : ({tf}, {tx}) -> {tf}'
    )
    return parse_module(f"""
func.func @f(%x: {tx}, %y: {ty}) -> ({tf}, {tb}) {{
  %0 = "onnx.Sub"(%x, %y) : ({tx}, {ty}) -> {tf}
  %1 = "onnx.Mul"(%0, %x) : ({tf}, {tx}) -> {tf}
  %2 = "onnx.Add"(%1, %y) : ({tf}, {ty}) -> {tf}
  %3 = "onnx.Max"(%2, %y) : ({tf}, {ty}) -> {tf}
  %4 = {abs_op}
  %5 = "onnx.Greater"(%4, %x) : ({tf}, {tx}) -> {tb}
  %6 = "onnx.Where"(%5, %4, %y) : ({tb}, {tf}, {ty}) -> {tf}
  onnx.Return %6, %5 : {tf}, {tb}
}}""")


@pytest.mark.parametrize("element", DTYPES)
def test_elementwise_of_every_type_is_exact(element: str):
    module = chain(element, "5x7x", "7x", "5x7x")
    check_elementwise(module, [values((5, 7), element), values((7,), element, 1)])


@pytest.mark.parametrize(
    "types, shapes",
    [
        (("", "", ""), ((), ())),
        (("3x", "", "3x"), ((3,), ())),
        (("0x4x", "4x", "0x4x"), ((0, 4), (4,))),
        (("3x1x", "1x4x", "3x4x"), ((3, 1), (1, 4))),
        (("1x1x", "1x", "1x1x"), ((1, 1), (1,))),
        (("2x3x4x5x", "3x1x1x", "2x3x4x5x"), ((2, 3, 4, 5), (3, 1, 1))),
        (("2x1x4x", "3x1x", "2x3x4x"), ((2, 1, 4), (3, 1))),
        (("?x4x", "?x4x", "?x4x"), ((3, 4), (3, 4))),
        (("?x4x", "?x4x", "?x4x"), ((3, 4), (1, 4))),
        (("?x4x", "?x4x", "?x4x"), ((1, 4), (3, 4))),
        (("?x?x", "?x", "?x?x"), ((2, 5), (5,))),
        (("?x?x", "?x", "?x?x"), ((2, 5), (1,))),
        (("?x?x", "?x", "?x?x"), ((2, 1), (5,))),
        (("?x?x", "?x", "?x?x"), ((0, 5), (5,))),
    ],
)
def test_elementwise_of_every_shape_is_exact(types: tuple[str, str, str], shapes: Any):
    module = chain("f32", *types)
    check_elementwise(module, [values(shape, "f32", i) for i, shape in enumerate(shapes)])


def test_a_scale_per_channel_lies_along_its_axis():
    module = parse_module("""
func.func @f(%x: tensor<2x3x4xf32>, %s: tensor<3xf32>, %z: tensor<3xi8>) -> tensor<2x3x4xf32> {
  %0 = "onnx.QuantizeLinear"(%x, %s, %z) {axis = 1 : si64}
    : (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xi8>) -> tensor<2x3x4xi8>
  %1 = "onnx.DequantizeLinear"(%0, %s, %z) {axis = -2 : si64}
    : (tensor<2x3x4xi8>, tensor<3xf32>, tensor<3xi8>) -> tensor<2x3x4xf32>
  onnx.Return %1 : tensor<2x3x4xf32>
}""")
    x = np.random.default_rng(0).standard_normal((2, 3, 4)).astype(np.float32)
    scale, zero = np.array([0.01, 0.1, 1.0], np.float32), np.array([0, 3, -5], np.int8)
    check_elementwise(module, [x, scale, zero])


@pytest.mark.parametrize(
    "typed, shape",
    [("2x3x4x5", (2, 3, 4, 5)), ("?x3x?", (2, 3, 4)), ("?x?x?x?", (2, 3, 1, 5)), ("4x3", (4, 3))],
)
@pytest.mark.parametrize("element, tolerance", [("f32", 1e-6), ("f16", 4e-3), ("f64", 1e-12)])
def test_given_statistics_lie_along_the_channels(
    typed: str, shape: tuple[int, ...], element: str, tolerance: float
):
    tx, tc = f"tensor<{typed}x{element}>", f"tensor<3x{element}>"
    module = parse_module(f"""
func.func @f(%x: {tx}, %s: {tc}, %b: {tc}, %m: {tc}, %v: {tc}) -> {tx} {{
  %0 = "onnx.Neg"(%x) : ({tx}) -> {tx}
  %1, %2, %3 = "onnx.BatchNormalization"(%0, %s, %b, %m, %v) {{epsilon = 0.125 : f32}}
    : ({tx}, {tc}, {tc}, {tc}, {tc}) -> ({tx}, none, none)
  %4 = "onnx.Relu"(%1) : ({tx}) -> {tx}
  onnx.Return %4 : {tx}
}}""")
    inputs = [normal(shape, element), *(normal((3,), element, seed) for seed in (1, 2, 3))]
    inputs.append(np.abs(normal((3,), element, 4)))
    actual = lowered_as_one(module, "onnx.elementwise", inputs)
    assert_same(actual, compiled(module, inputs))
    assert_same(actual, reference(module, inputs), tolerance)


def test_of_an_operand_that_gives_a_type_only_the_type_counts():
    module = parse_module("""
func.func @f(%x: tensor<?xf32>, %t: tensor<?x?xi32>) -> tensor<?xi32> {
  %0 = "onnx.Round"(%x) : (tensor<?xf32>) -> tensor<?xf32>
  %1 = "onnx.CastLike"(%0, %t) : (tensor<?xf32>, tensor<?x?xi32>) -> tensor<?xi32>
  onnx.Return %1 : tensor<?xi32>
}""")
    check_elementwise(module, [np.array([0.5, 1.5, -2.5, 7.0], np.float32), np.zeros((3, 2), np.int32)])


def test_elementwise_functions_agree_with_the_unfused_kernels():
    t = "tensor<6x9xf32>"
    ops = ["Sigmoid", "Tanh", "Exp", "Softplus", "Erf", "Gelu", "Relu", "Sqrt", "Sin", "HardSwish", "Elu"]
    lines = [f'%{i + 1} = "onnx.{op}"(%{i}) : ({t}) -> {t}' for i, op in enumerate(ops)]
    text = "\n".join(['%0 = "onnx.Neg"(%x) : (T) -> T'.replace("T", t), *lines])
    module = parse_module(f"func.func @f(%x: {t}) -> {t} {{\n{text}\nonnx.Return %{len(ops)} : {t}\n}}")
    inputs = [values((6, 9), "f32")]
    actual = compiled(fused(module, "onnx.elementwise"), inputs)
    assert_same(actual, compiled(module, inputs))
    assert_same(actual, reference(module, inputs), 1e-5)


# onnx.matmul_epilogue: 1e-5 relative for f32 (sums in another order).


def check_matmul(module: ModuleOp, inputs: Sequence[Array], tolerance: float = 1e-5) -> None:
    actual = lowered_as_one(module, "onnx.matmul_epilogue", inputs)
    assert_same(actual, reference(module, inputs), tolerance)


GELU = """
  %c = onnx.Constant dense<1.41421354> : tensor<E>
  %one = onnx.Constant dense<1.0> : tensor<E>
  %half = onnx.Constant dense<0.5> : tensor<E>
  %m = "onnx.MatMul"(%x, %w) : (tensor<LxE>, tensor<RxE>) -> tensor<OxE>
  %0 = "onnx.Add"(%m, %b) : (tensor<OxE>, tensor<BxE>) -> tensor<OxE>
  %1 = "onnx.Div"(%0, %c) : (tensor<OxE>, tensor<E>) -> tensor<OxE>
  %2 = "onnx.Erf"(%1) : (tensor<OxE>) -> tensor<OxE>
  %3 = "onnx.Add"(%2, %one) : (tensor<OxE>, tensor<E>) -> tensor<OxE>
  %4 = "onnx.Mul"(%0, %3) : (tensor<OxE>, tensor<OxE>) -> tensor<OxE>
  %5 = "onnx.Mul"(%4, %half) : (tensor<OxE>, tensor<E>) -> tensor<OxE>
  onnx.Return %5 : tensor<OxE>
"""


def gelu(element: str, left: str, right: str, bias: str, out: str) -> ModuleOp:
    text = f"func.func @f(%x: tensor<LxE>, %w: tensor<RxE>, %b: tensor<BxE>) -> tensor<OxE> {{{GELU}}}"
    for letter, shape in (("L", left), ("R", right), ("B", bias), ("O", out)):
        text = text.replace(
            f"tensor<{letter}xE>", f"tensor<{shape}x{element}>" if shape else f"tensor<{element}>"
        )
    return parse_module(text.replace("tensor<E>", f"tensor<{element}>"))


@pytest.mark.parametrize("element, tolerance", [("f32", 1e-5), ("f64", 1e-6), ("f16", 5e-3), ("bf16", 4e-2)])
def test_matmul_epilogue_of_every_type(element: str, tolerance: float):
    # f64: the reference computes Erf in single precision.
    module = gelu(element, "5x8", "8x33", "33", "5x33")
    inputs = [normal((5, 8), element), normal((8, 33), element, 1), normal((33,), element, 2)]
    check_matmul(module, inputs, tolerance)


@pytest.mark.parametrize(
    "types, shapes",
    [
        (("4x8", "8x16", "", "4x16"), ((4, 8), (8, 16), ())),
        (("4x8", "8x16", "4x1", "4x16"), ((4, 8), (8, 16), (4, 1))),
        (("0x8", "8x16", "16", "0x16"), ((0, 8), (8, 16), (16,))),
        (("4x0", "0x16", "16", "4x16"), ((4, 0), (0, 16), (16,))),
        (("?x8", "8x16", "16", "?x16"), ((3, 8), (8, 16), (16,))),
        (("?x8", "8x16", "16", "?x16"), ((0, 8), (8, 16), (16,))),
        (("2x3x4x8", "8x16", "16", "2x3x4x16"), ((2, 3, 4, 8), (8, 16), (16,))),
        (("2x1x4x8", "3x8x5", "3x1x1", "2x3x4x5"), ((2, 1, 4, 8), (3, 8, 5), (3, 1, 1))),
        (("?x?x8", "8x5", "5", "?x?x5"), ((2, 7, 8), (8, 5), (5,))),
    ],
)
def test_matmul_epilogue_of_every_shape(types: tuple[str, str, str, str], shapes: Any):
    module = gelu("f32", *types)
    check_matmul(module, [normal(s, "f32", i) for i, s in enumerate(shapes)])


@pytest.mark.parametrize("trans_a", [0, 1])
@pytest.mark.parametrize("trans_b", [0, 1])
def test_gemm_keeps_its_attributes(trans_a: int, trans_b: int):
    left, right = ("8x4" if trans_a else "4x8"), ("16x8" if trans_b else "8x16")
    module = parse_module(f"""
func.func @f(%x: tensor<{left}xf32>, %w: tensor<{right}xf32>, %c: tensor<16xf32>, %r: tensor<4x16xf32>)
    -> tensor<4x16xf32> {{
  %0 = "onnx.Gemm"(%x, %w, %c)
    {{alpha = 0.5 : f32, beta = 2.0 : f32, transA = {trans_a} : si64, transB = {trans_b} : si64}}
    : (tensor<{left}xf32>, tensor<{right}xf32>, tensor<16xf32>) -> tensor<4x16xf32>
  %1 = "onnx.Add"(%0, %r) : (tensor<4x16xf32>, tensor<4x16xf32>) -> tensor<4x16xf32>
  %2 = "onnx.Relu"(%1) : (tensor<4x16xf32>) -> tensor<4x16xf32>
  onnx.Return %2 : tensor<4x16xf32>
}}""")
    shapes = [tuple(map(int, s.split("x"))) for s in (left, right, "16", "4x16")]
    check_matmul(module, [normal(s, "f32", i) for i, s in enumerate(shapes)])


@pytest.mark.parametrize("element, tolerance", [("f32", 1e-5), ("f64", 1e-12), ("f16", 5e-3)])
@pytest.mark.parametrize("tail", [True, False])
@pytest.mark.parametrize("rows", [1, 3, 70])
def test_a_transposed_factor_is_read_as_it_is(rows: int, tail: bool, element: str, tolerance: float):
    left, right, out = (f"tensor<{s}x{element}>" for s in (f"2x{rows}x8", "1x?x8", f"2x{rows}x?"))
    swapped = f"tensor<1x8x?x{element}>"
    more = f'%r = "onnx.Relu"(%1) : ({out}) -> {out}' if tail else ""
    module = parse_module(f"""
func.func @f(%x: {left}, %y: {right}) -> {out} {{
  %0 = "onnx.Transpose"(%y) {{perm = [0 : si64, 2 : si64, 1 : si64]}} : ({right}) -> {swapped}
  %1 = "onnx.MatMul"(%x, %0) : ({left}, {swapped}) -> {out}
  {more}
  onnx.Return {"%r" if tail else "%1"} : {out}
}}""")
    for columns in (0, 1, 5, 100):
        check_matmul(module, [normal((2, rows, 8), element), normal((1, columns, 8), element, 1)], tolerance)


def test_matmul_epilogue_keeps_nan_and_infinities():
    module = gelu("f32", "4x8", "8x16", "16", "4x16")
    x, w, b = normal((4, 8)), normal((8, 16), "f32", 1), normal((16,), "f32", 2)
    x[0, 0], x[1, 1], b[3], b[4] = np.nan, np.inf, -np.inf, np.inf
    check_matmul(module, [x, w, b])


# Tampering between creation and lowering.

TWO_RESULTS = """
func.func @f(%x: tensor<4x8xf32>, %y: tensor<8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>) {
  %0 = "onnx.Sub"(%x, %y) : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  %1 = "onnx.LeakyRelu"(%0) {alpha = 0.25 : f32} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %2 = "onnx.Relu"(%1) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  onnx.Return %1, %2 : tensor<4x8xf32>, tensor<4x8xf32>
}"""
BIAS_RELU = """
func.func @f(%x: tensor<4x8xf32>, %w: tensor<8x8xf32>, %b: tensor<8xf32>) -> tensor<4x8xf32> {
  %0 = "onnx.MatMul"(%x, %w) : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %1 = "onnx.Add"(%0, %b) : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  %2 = "onnx.Relu"(%1) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  onnx.Return %2 : tensor<4x8xf32>
}"""
CONV_RELU = """
func.func @f(%x: tensor<2x3x6x7xf32>, %w: tensor<4x3x3x3xf32>, %b: tensor<4xf32>, %r: tensor<2x4x6x7xf32>)
    -> tensor<2x4x6x7xf32> {
  %0 = "onnx.Conv"(%x, %w, %b) {pads = [1 : si64, 1 : si64, 1 : si64, 1 : si64]}
    : (tensor<2x3x6x7xf32>, tensor<4x3x3x3xf32>, tensor<4xf32>) -> tensor<2x4x6x7xf32>
  %1 = "onnx.Relu"(%0) : (tensor<2x4x6x7xf32>) -> tensor<2x4x6x7xf32>
  %2 = "onnx.Sub"(%r, %1) : (tensor<2x4x6x7xf32>, tensor<2x4x6x7xf32>) -> tensor<2x4x6x7xf32>
  onnx.Return %2 : tensor<2x4x6x7xf32>
}"""
NORM_RELU = """
func.func @f(%x: tensor<4x8xf32>, %r: tensor<4x8xf32>, %s: tensor<8xf32>)
    -> (tensor<4x8xf32>, tensor<4x8xf32>) {
  %0 = "onnx.Add"(%x, %r) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %1 = "onnx.RMSNormalization"(%0, %s) : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  %2 = "onnx.Relu"(%1) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  onnx.Return %0, %2 : tensor<4x8xf32>, tensor<4x8xf32>
}"""
KINDS = {
    "onnx.reduction": (NORM_RELU, ((4, 8), (4, 8), (8,))),
    "onnx.elementwise": (TWO_RESULTS, ((4, 8), (8,))),
    "onnx.matmul_epilogue": (BIAS_RELU, ((4, 8), (8, 8), (8,))),
    "onnx.conv_epilogue": (CONV_RELU, ((2, 3, 6, 7), (4, 3, 3, 3), (4,), (2, 4, 6, 7))),
}


def tampered(kind: str, tamper: Tamper) -> tuple[ModuleOp, list[Array]]:
    text, shapes = KINDS[kind]
    module = fused(parse_module(text), kind)
    (fused_op,) = (op for op in module.walk() if isinstance(op, onnx.FusedOp))
    tamper(fused_op)
    module.verify()
    return module, [normal(shape, "f32", i) for i, shape in enumerate(shapes)]


@pytest.mark.parametrize("tamper", FALL_BACK)
@pytest.mark.parametrize("kind", KINDS)
def test_a_fused_op_that_was_tampered_with_runs_op_by_op(kind: str, tamper: Tamper):
    module, inputs = tampered(kind, tamper)
    with pytest.warns(FusionFallbackWarning):
        actual = compiled(module, inputs)
    assert_same(actual, reference(module, inputs), 1e-5)


def swap_the_yield(fused_op: onnx.FusedOp) -> None:
    end = fused_op.body.block.last_op
    assert end is not None
    first, second = end.operands
    end.operands[0], end.operands[1] = second, first


def change_an_op(fused_op: onnx.FusedOp) -> None:
    for op in fused_op.body.block.ops:
        if isinstance(op, onnx.LeakyReluOp):
            op.properties["alpha"] = type(op.properties["alpha"])(-3.0, 32)  # pyright: ignore


def test_swapped_results_of_rows_are_swapped():
    module, inputs = tampered("onnx.reduction", swap_the_yield)
    expected = reference(module, inputs)
    assert not np.array_equal(expected[0], reference(parse_module(NORM_RELU), inputs)[0])
    assert_same(compiled(module, inputs), expected, 1e-5)


@pytest.mark.parametrize("tamper", [swap_the_yield, change_an_op])
def test_a_body_that_is_still_of_its_kind_computes_what_it_says(tamper: Tamper):
    module, inputs = tampered("onnx.elementwise", tamper)
    expected = reference(module, inputs)
    assert not np.array_equal(expected[0], reference(parse_module(TWO_RESULTS), inputs)[0])
    assert_same(compiled(module, inputs), expected)


# Dim conditions: what detection proved is checked with the sizes at hand.

CONDITION = """
func.func @f(%x: tensor<?x8xf32>, %y: tensor<?x8xf32>) -> (tensor<?x8xf32>, tensor<?x8xf32>) {
  %0, %1 = "onnx.FusedOp"(%x, %y) <{kind = "onnx.elementwise"}> ({
  ^bb0(%a: tensor<?x8xf32>, %b: tensor<?x8xf32>):
    %2 = "onnx.Neg"(%a) : (tensor<?x8xf32>) -> tensor<?x8xf32>
    %3 = "onnx.Add"(%2, %b) : (tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<?x8xf32>
    "onnx.Yield"(%2, %3) : (tensor<?x8xf32>, tensor<?x8xf32>) -> ()
  }) {dim_conditions = [[1, 0, 0, 0]], loop_rank = 2 : si64, op_count = 2 : si64}
    : (tensor<?x8xf32>, tensor<?x8xf32>) -> (tensor<?x8xf32>, tensor<?x8xf32>)
  onnx.Return %0, %1 : tensor<?x8xf32>, tensor<?x8xf32>
}"""


@pytest.mark.parametrize("rows", [(3, 3), (1, 3), (3, 1), (1, 1), (0, 0), (0, 1)])
def test_a_condition_that_does_not_hold_runs_the_unfused_ops(rows: tuple[int, int]):
    module = parse_module(CONDITION)
    inputs = [normal((rows[0], 8)), normal((rows[1], 8), "f32", 1)]
    actual = compiled(module, inputs)
    assert actual[0].shape == (rows[0], 8)
    assert_same(actual, reference(module, inputs))


def test_without_its_condition_the_body_is_not_trusted():
    module = parse_module(CONDITION.replace("dim_conditions = [[1, 0, 0, 0]], ", ""))
    inputs = [normal((1, 8)), normal((3, 8), "f32", 1)]
    with pytest.warns(FusionFallbackWarning, match="may be smaller"):
        actual = compiled(module, inputs)
    assert_same(actual, reference(module, inputs))


def test_a_condition_written_by_hand_may_be_nonsense():
    module = parse_module(CONDITION.replace("[[1, 0, 0, 0]]", "[[1, 0, 5, 9]]"))
    inputs = [normal((3, 8)), normal((3, 8), "f32", 1)]
    with pytest.warns(FusionFallbackWarning, match="dim condition"):
        actual = compiled(module, inputs)
    assert_same(actual, reference(module, inputs))
