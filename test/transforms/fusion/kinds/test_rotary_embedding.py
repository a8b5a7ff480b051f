"""Rotary embedding between Transposes of heads: what is fused, what is not and why, and its values."""

from __future__ import annotations

import numpy as np
import pytest
from attention_text import SWAP, function, swap, tensor
from fused_values import Array, assert_same, compiled, fused, lowered_as_one, normal
from fusion_reasons import checked, detected
from xdsl.pattern_rewriter import PatternRewriter

from onnxloom.conversion.onnx_to_loom.decline import FusionFallbackWarning
from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.text import parse_module
from onnxloom.transforms.fusion.kinds.rotary_embedding import RotaryEmbeddingFusion

KIND = "onnx.rotary_embedding"


def text_of(
    sizes: tuple[str, str, str, str],
    half: int,
    element: str = "f32",
    attributes: str = "",
    sides: tuple[bool, bool] = (True, True),
) -> str:
    """`sizes`: batch, rows, heads, columns; `sides`: whether a Transpose stands before and after."""
    b, s, h, d = sizes
    moved, apart = f"{b}x{s}x{h}x{d}", f"{b}x{h}x{s}x{d}"
    table = tensor(f"{b}x{s}x{half}", element)
    lines = [swap("%x1", "%x", moved, apart, element)] if sides[0] else []
    kept = f" <{{{attributes}}}>" if attributes else ""
    types = f"({tensor(apart, element)}, {table}, {table}, none) -> {tensor(apart, element)}"
    value = "%x1" if sides[0] else "%x"
    lines.append(f'%0 = "onnx.RotaryEmbedding"({value}, %c, %s, %none){kept} : {types}')
    if sides[1]:
        lines.append(swap("%y", "%0", apart, moved, element))
    inputs = [("%x", tensor(moved if sides[0] else apart, element)), ("%c", table), ("%s", table)]
    result = ("%y", tensor(moved, element)) if sides[1] else ("%0", tensor(apart, element))
    return function(inputs, lines, [result])


def check(text: str, inputs: list[Array]) -> None:
    module = parse_module(text)
    assert_same(lowered_as_one(module, KIND, inputs), compiled(module, inputs))


def operands(shape: tuple[int, int, int, int], half: int, element: str, before: bool) -> list[Array]:
    b, s, h, d = shape
    x = normal((b, s, h, d) if before else (b, h, s, d), element)
    return [x, normal((b, s, half), element, 1), normal((b, s, half), element, 2)]


@pytest.mark.parametrize("sides", [(True, True), (True, False), (False, True)])
@pytest.mark.parametrize(
    "shape, half, attributes, element",
    [
        ((2, 5, 3, 8), 4, "", "f32"),
        ((1, 7, 2, 64), 32, "interleaved = 1 : si64", "f32"),
        ((1, 4, 3, 10), 3, "rotary_embedding_dim = 6 : si64", "f16"),
        ((1, 1, 2, 8), 4, "", "bf16"),
    ],
)
def test_values_are_those_of_the_unfused_ops(
    shape: tuple[int, int, int, int], half: int, attributes: str, element: str, sides: tuple[bool, bool]
) -> None:
    b, s, h, d = shape
    known = (str(b), str(s), str(h), str(d)) if sides[0] else ("?", "?", str(h), str(d))
    check(text_of(known, half, element, attributes, sides), operands(shape, half, element, sides[0]))


@pytest.mark.parametrize("shape", [(0, 5, 3, 8), (2, 0, 3, 8), (1, 2, 0, 8)])
def test_empty_values(shape: tuple[int, int, int, int]) -> None:
    check(text_of(("?", "?", "?", "8"), 4), operands(shape, 4, "f32", True))


def test_nan_and_infinities() -> None:
    inputs = operands((2, 5, 3, 8), 4, "f32", True)
    inputs[0][0, 1, 2, 3], inputs[0][1, 0, 0, 0], inputs[1][0, 0, 1] = np.nan, np.inf, -np.inf
    check(text_of(("2", "5", "3", "8"), 4), inputs)


def test_a_body_with_another_op_runs_op_by_op() -> None:
    text = text_of(("2", "5", "3", "8"), 4)
    module = fused(parse_module(text), KIND)
    op = next(op for op in module.walk() if isinstance(op, onnx.FusedOp))
    first = next(inner for inner in op.body.block.ops if isinstance(inner, onnx.TransposeOp))
    negated = onnx.NegOp.create(operands=[first.data], result_types=[first.data.type])
    PatternRewriter(first).insert(negated)
    first.operands[0] = negated.results[0]
    x, *tables = operands((2, 5, 3, 8), 4, "f32", True)
    with pytest.warns(FusionFallbackWarning, match="the body is not a rotary embedding"):
        actual = compiled(module, [x, *tables])
    assert_same(actual, compiled(parse_module(text), [-x, *tables]))


# What is taken along, and why not.

SIZES = ("2", "5", "3", "8")
FITS = text_of(SIZES, 4)
APART, MOVED, TABLE = "tensor<2x3x5x8xf32>", "tensor<2x5x3x8xf32>", "tensor<2x5x4xf32>"
OTHER = "perm = [0 : i64, 1 : i64, 2 : i64, 3 : i64]"
SQUARE = text_of(("2", "4", "4", "4"), 2)
NO_PAIRS = "the columns of a head are not known, or cannot be turned in pairs"
NO_TABLE = "a table does not have rank 3 and the element type of the value"
NO_VALUE = "what is turned is no tensor of rank 4 with a kernel"


def found(text: str) -> str | int:
    return detected(RotaryEmbeddingFusion, text, "RotaryEmbedding")


def read_twice(value: str, type_: str) -> str:
    return FITS.replace("onnx.Return", f'%n = "onnx.Neg"({value}) : ({type_}) -> {type_}\n  onnx.Return')


@pytest.mark.parametrize(
    "text, count",
    [
        (FITS, 3),
        (text_of(SIZES, 4, sides=(True, False)), 2),
        (text_of(SIZES, 4, sides=(False, True)), 2),
        (read_twice("%x1", APART), 2),
        (read_twice("%0", APART), 2),
        (SQUARE.replace(SWAP, OTHER, 1), 2),
        (OTHER.join(SQUARE.rsplit(SWAP, 1)), 2),
    ],
)
def test_how_many_ops_are_taken(text: str, count: int) -> None:
    assert found(text) == count
    assert count < 3 or checked(RotaryEmbeddingFusion(), text) is None


DECLINES = {
    "nothing around it": (
        text_of(SIZES, 4, sides=(False, False)),
        "no Transpose around the embedding can be taken along",
    ),
    "position ids": (
        FITS.replace("%s, %none)", "%s, %p)")
        .replace("none) ->", "tensor<2x5xi64>) ->")
        .replace("func.func @f(", "func.func @f(%p: tensor<2x5xi64>, ")
        .replace(TABLE, "tensor<9x4xf32>"),
        "rotary embedding with position ids has no kernel",
    ),
    "value of unknown rank": (
        text_of(SIZES, 4, sides=(False, True)).replace(f"%x: {APART}", "%x: tensor<*xf32>").replace(
            f"({APART}, {TABLE}", f"(tensor<*xf32>, {TABLE}"
        ),
        NO_VALUE,
    ),
    "odd columns": (text_of(SIZES, 4, attributes="rotary_embedding_dim = 5 : si64"), NO_PAIRS),
    "too many columns": (text_of(SIZES, 5, attributes="rotary_embedding_dim = 10 : si64"), NO_PAIRS),
    "no columns": (text_of(("2", "5", "3", "0"), 0), NO_PAIRS),
    "unknown columns": (text_of(("2", "5", "3", "?"), 4), NO_PAIRS),
    "nobody reads it": (
        FITS.replace(f"onnx.Return %y : {MOVED}", f"onnx.Return %x : {MOVED}"),
        "nothing reads the result of the embedding",
    ),
}  # fmt: skip


@pytest.mark.parametrize("text, reason", list(DECLINES.values()), ids=list(DECLINES))
def test_declines(text: str, reason: str) -> None:
    assert found(text) == reason


def test_constants_are_turned_before_any_kernel_runs() -> None:
    lines = FITS.splitlines()
    for name, type_ in (("x", MOVED), ("c", TABLE), ("s", TABLE)):
        lines.insert(1, f"  %{name} = onnx.Constant dense<1.0> : {type_}")
    lines[0] = f"func.func @f() -> ({MOVED}) {{"
    reason = "the embedding computes from constants alone, before any kernel runs"
    assert found("\n".join(lines)) == reason


BODIES = {
    "no embedding": (
        function([("%x", MOVED)], [swap("%y", "%x", "2x5x3x8", "2x3x5x8")], [("%y", APART)]),
        "there is no rotary embedding in the body",
    ),
    "another op": (
        read_twice("%x", MOVED), "the body is not a rotary embedding with the Transposes around it",
    ),
    "a result from within": (
        FITS.replace(f"onnx.Return %y : {MOVED}", f"onnx.Return %0 : {APART}").replace(
            f"-> ({MOVED}) {{", f"-> ({APART}) {{"
        ),
        "the body is not a rotary embedding with the Transposes around it",
    ),
    "a value of rank 3": (
        text_of(SIZES, 4, sides=(False, True)).replace(f"%x: {APART}", "%x: tensor<2x5x24xf32>").replace(
            f"({APART}, {TABLE}", f"(tensor<2x5x24xf32>, {TABLE}"
        ),
        NO_VALUE,
    ),
    "double precision": (FITS.replace("f32", "f64"), NO_VALUE),
    "tables of another type": (FITS.replace("5x4xf32", "5x4xf16"), NO_TABLE),
    "tables of rank 2": (FITS.replace(TABLE, "tensor<5x4xf32>"), NO_TABLE),
}  # fmt: skip


@pytest.mark.parametrize("text, reason", list(BODIES.values()), ids=list(BODIES))
def test_bodies_that_are_none(text: str, reason: str) -> None:
    assert checked(RotaryEmbeddingFusion(), text) == reason
