"""Identity: values for each op it takes away, and why it declines."""

from __future__ import annotations

import pytest

from onnxloom.testing.patterns import check_pattern, decline_reason
from onnxloom.transforms.patterns.canonicalization.identity import IdentityPattern

MAX = 9223372036854775807
NONE = '%none = "onnx.NoValue"() {value} : () -> none\n'


def graph(op: str, *, x: str = "tensor<?x3xf32>", y: str = "", constants: str = "", types: str = "") -> str:
    """`op` is the text up to its types; `%c` is the first constant."""
    y = y or x
    return f"""
    func.func @f(%x: {x}, %other: {x}) -> {y} {{
      {constants}
      %y = {op} : ({types or x}) -> {y}
      onnx.Return %y : {y}
    }}"""


def binary(op: str, constant: str, element: str = "f32", *, shape: str = "?x3x", left: bool = False) -> str:
    """`op(x, constant)`, or the other way round."""
    x, c = f"tensor<{shape}{element}>", constant.rpartition(" : ")[2]
    operands, types = ("%c, %x", f"{c}, {x}") if left else ("%x, %c", f"{x}, {c}")
    return graph(f'"onnx.{op}"({operands})', x=x, constants=f"%c = onnx.Constant {constant}", types=types)


def slice_(starts: str, ends: str, steps: str | None = None) -> str:
    names = ["%s", "%e", "%none", "%none" if steps is None else "%p"]
    constants = NONE + f"%s = onnx.Constant dense<{starts}> : tensor<2xi64>\n"
    constants += f"%e = onnx.Constant dense<{ends}> : tensor<2xi64>\n"
    constants += "" if steps is None else f"%p = onnx.Constant dense<{steps}> : tensor<2xi64>\n"
    x, i = "tensor<?x3xf32>", "tensor<2xi64>"
    types = f"{x}, {i}, {i}, none, {'none' if steps is None else i}"
    return graph(
        f'"onnx.Slice"(%x, {", ".join(names)})', x=x, y="tensor<?x?xf32>", constants=constants, types=types
    )


def reshape(shape: str, count: int = 2, allowzero: int = 0, x: str = "tensor<?x3xf32>") -> str:
    c = f"%c = onnx.Constant dense<{shape}> : tensor<{count}xi64>"
    op = f'"onnx.Reshape"(%x, %c) <{{allowzero = {allowzero} : si64}}>'
    return graph(op, x=x, y="tensor<*xf32>", constants=c, types=f"{x}, tensor<{count}xi64>")


@pytest.mark.parametrize(
    "text",
    [
        binary("Add", "dense<-0.0> : tensor<f32>"),
        binary("Add", "dense<-0.0> : tensor<1x3xf32>", left=True),
        binary("Add", "dense<0> : tensor<i64>", "i64"),
        binary("Add", "dense<0> : tensor<3xi32>", "i32", left=True),
        binary("Sub", "dense<0.0> : tensor<1x1xf32>"),
        binary("Sub", "dense<0> : tensor<i64>", "i64"),
        binary("Mul", "dense<1.0> : tensor<3xf16>", "f16"),
        binary("Mul", "dense<1> : tensor<ui8>", "ui8", left=True),
        binary("Div", "dense<1.0> : tensor<bf16>", "bf16"),
        binary("Div", "dense<1> : tensor<i32>", "i32"),
        binary("Or", "dense<false> : tensor<i1>", "i1"),
        binary("Xor", "dense<false> : tensor<i1>", "i1", left=True),
        binary("And", "dense<true> : tensor<3xi1>", "i1"),
        binary("BitwiseOr", "dense<0> : tensor<i32>", "i32"),
        binary("BitwiseXor", "dense<0> : tensor<i32>", "i32", left=True),
        binary("Add", "dense<-0.0> : tensor<f32>", shape=""),
        slice_("0", str(MAX)),
        slice_("0", str(MAX), "1"),
        reshape("0"),
        graph('"onnx.Transpose"(%x) <{perm = [0, 1]}>'),
        graph('"onnx.Transpose"(%x)', x="tensor<?xf32>"),
        graph('"onnx.Transpose"(%x)', x="tensor<f32>"),
        graph(
            '"onnx.Expand"(%x, %c)',
            constants="%c = onnx.Constant dense<1> : tensor<2xi64>",
            types="tensor<?x3xf32>, tensor<2xi64>",
        ),
        graph(
            '"onnx.Expand"(%x, %c)',
            constants="%c = onnx.Constant dense<3> : tensor<1xi64>",
            types="tensor<?x3xf32>, tensor<1xi64>",
        ),
        graph('"onnx.Cast"(%x) <{to = 1 : si64}>'),
    ],
)
def test_what_changes_nothing_goes(text: str):
    module = check_pattern(text, IdentityPattern, times=1)
    assert not any(type(op) in IdentityPattern.start_ops for op in module.walk())


@pytest.mark.parametrize(
    "text", [binary("Add", "dense<0.0> : tensor<f32>"), binary("Sub", "dense<-0.0> : tensor<f32>")]
)
def test_a_zero_of_the_wrong_sign_is_not_neutral(text: str):
    assert "neither operand" in decline_reason(text, IdentityPattern)


def test_of_two_constants_the_other_one_is_given_back():
    constants = "%c = onnx.Constant dense<5> : tensor<i64>\n%d = onnx.Constant dense<0> : tensor<i64>"
    text = graph('"onnx.Add"(%c, %d)', x="tensor<i64>", constants=constants, types="tensor<i64>, tensor<i64>")
    check_pattern(text, IdentityPattern, times=1)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (binary("Sub", "dense<0> : tensor<i64>", "i64", left=True), "neither operand"),
        (binary("Div", "dense<1> : tensor<i64>", "i64", left=True), "neither operand"),
        (binary("Mul", "dense<[1.0, 1.0, 2.0]> : tensor<3xf32>"), "neither operand"),
        (binary("And", "dense<false> : tensor<i1>", "i1"), "neither operand"),
        (graph('"onnx.Mul"(%x, %other)', types="tensor<?x3xf32>, tensor<?x3xf32>"), "neither operand"),
        (slice_("1", str(MAX)), "may leave elements out"),
        (slice_("0", "5"), "may leave elements out"),
        (slice_("0", str(MAX), "2"), "may leave elements out"),
        (reshape("0", allowzero=1, x="tensor<0x0xf32>"), "a 0 is a dim of 0"),
        (reshape("0", count=1, x="tensor<?x1xf32>"), "the shape is another one"),
        (reshape("[0, -1]"), "the shape is another one"),
        (graph('"onnx.Transpose"(%x)', y="tensor<3x?xf32>"), "the axes are reversed"),
        (graph('"onnx.Transpose"(%x) <{perm = [1, 0]}>', y="tensor<3x?xf32>"), "axes change places"),
        (
            graph(
                '"onnx.Expand"(%x, %c)',
                y="tensor<2x?x3xf32>",
                constants="%c = onnx.Constant dense<[2, 1, 1]> : tensor<3xi64>",
                types="tensor<?x3xf32>, tensor<3xi64>",
            ),
            "may repeat elements",
        ),
        (graph('"onnx.Cast"(%x) <{to = 10 : si64}>', y="tensor<?x3xf16>"), "the type is another one"),
    ],
)
def test_declines(text: str, reason: str):
    assert reason in decline_reason(text, IdentityPattern)


def rank_one_more(op: str) -> str:
    c = "%c = onnx.Constant dense<1.0> : tensor<1x1x1xf32>"
    return graph(
        f'"onnx.{op}"(%x, %c)', y="tensor<1x?x3xf32>", constants=c, types="tensor<?x3xf32>, tensor<1x1x1xf32>"
    )


@pytest.mark.parametrize("op", ["Mul", "Div"])
def test_a_constant_that_adds_an_axis_is_not_neutral(op: str):
    assert "neither operand" in decline_reason(rank_one_more(op), IdentityPattern)


@pytest.mark.parametrize("name", ["%s", "%e"])
def test_bounds_that_are_not_constant(name: str):
    text = slice_("0", str(MAX)).replace("%other: tensor<?x3xf32>", "%other: tensor<2xi64>")
    text = text.replace("(%x, %s, %e", "(%x, %s, %e".replace(name, "%other"))
    assert "a bound is not constant" in decline_reason(text, IdentityPattern)


def test_a_step_that_is_not_constant():
    text = slice_("0", str(MAX), "1").replace("%other: tensor<?x3xf32>", "%other: tensor<2xi64>")
    assert "a bound is not constant" in decline_reason(
        text.replace("%none, %p)", "%none, %other)"), IdentityPattern
    )


def test_a_shape_that_is_not_constant():
    text = (
        reshape("0")
        .replace("%other: tensor<?x3xf32>", "%other: tensor<2xi64>")
        .replace("(%x, %c)", "(%x, %other)")
    )
    assert "the shape is not constant" in decline_reason(text, IdentityPattern)
