"""TransposeTranspose: values, and why it declines."""

from __future__ import annotations

import pytest

from onnxloom.dialects import onnx
from onnxloom.testing.patterns import check_pattern, decline_reason
from onnxloom.transforms.patterns.layout.transpose_transpose import TransposeTransposePattern

X = "tensor<2x3x3xf32>"

LONELY = f"""
    func.func @f(%x: {X}) -> {X} {{
      %0 = "onnx.Transpose"(%x) <{{perm = [0, 2, 1]}}> : ({X}) -> {X}
      onnx.Return %0 : {X}
    }}"""


def chain(first: str, second: str, returned: str = "%1", x: str = "tensor<2x3x4xf32>") -> str:
    t = "tensor<*xf32>"
    types = ", ".join([t] * len(returned.split(",")))
    return f"""
    func.func @f(%x: {x}) -> ({types}) {{
      %0 = "onnx.Transpose"(%x) <{{{first}}}> : ({x}) -> {t}
      %1 = "onnx.Transpose"(%0) <{{{second}}}> : ({t}) -> {t}
      onnx.Return {returned} : {types}
    }}"""


def transposes(module: object) -> int:
    return sum(isinstance(op, onnx.TransposeOp) for op in module.walk())  # pyright: ignore


@pytest.mark.parametrize(
    ("first", "second", "left"),
    [
        ("perm = [1, 2, 0]", "perm = [1, 2, 0]", 1),
        ("perm = [1, 2, 0]", "perm = [2, 0, 1]", 0),
        ("perm = [0, 2, 1]", "perm = [0, 2, 1]", 0),
        ("perm = [2, 0, 1]", "perm = [0, 2, 1]", 1),
        ("", "perm = [1, 2, 0]", 1),
        ("", "", 0),
    ],
)
def test_two_in_a_row(first: str, second: str, left: int):
    assert transposes(check_pattern(chain(first, second), TransposeTransposePattern)) == left


@pytest.mark.parametrize("x", ["tensor<?x3x4xf32>", "tensor<?x?x?xi64>", "tensor<0x3x4xf16>"])
def test_open_and_empty_dims(x: str):
    element = x[:-1].rpartition("x")[2]
    text = chain("perm = [1, 2, 0]", "perm = [1, 2, 0]", x=x).replace("xf32", "x" + element)
    assert transposes(check_pattern(text, TransposeTransposePattern)) == 1


def test_scalars_and_vectors():
    assert transposes(check_pattern(chain("", "", x="tensor<f32>"), TransposeTransposePattern)) == 0
    assert (
        transposes(check_pattern(chain("perm = [0]", "", x="tensor<5xf32>"), TransposeTransposePattern)) == 0
    )


def test_a_shared_inner_one_stays():
    module = check_pattern(chain("perm = [1, 2, 0]", "perm = [2, 0, 1]", "%0, %1"), TransposeTransposePattern)
    assert transposes(module) == 1


def test_the_name_is_that_of_the_last():
    text = chain("perm = [1, 2, 0]", "perm = [1, 2, 0]").replace(
        "}> : (tensor<*", '}> {onnx_node_name = "b"} : (tensor<*'
    )
    module = check_pattern(text, TransposeTransposePattern)
    (op,) = [op for op in module.walk() if isinstance(op, onnx.TransposeOp)]
    assert '"b"' in str(op.attributes["onnx_node_name"])


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (chain("perm = [1, 2, 0]", "perm = [1, 2, 0]", "%0, %1"), "read elsewhere"),
        (chain("", "", x="tensor<*xf32>"), "a permutation is not known"),
        (
            LONELY,
            "the input is not transposed",
        ),
    ],
)
def test_declines(text: str, reason: str):
    assert reason in decline_reason(text, TransposeTransposePattern)
