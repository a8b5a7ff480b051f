"""RotaryEmbedding and RotaryConcatPart: values in each spelling, and why they decline."""

# ruff: noqa: E501 (lines of IR text)

from __future__ import annotations

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

from onnxloom.dialects import onnx
from onnxloom.testing import Abs, Rel
from onnxloom.testing.patterns import check_pattern, decline_reason
from onnxloom.transforms.patterns.attention.rotary_concat_part import RotaryConcatPartPattern
from onnxloom.transforms.patterns.attention.rotary_embedding import RotaryEmbeddingPattern

SLICES = """
      %zero = onnx.Constant dense<0> : tensor<1xi64>
      %half = onnx.Constant dense<3> : tensor<1xi64>
      %end = onnx.Constant dense<9223372036854775807> : tensor<1xi64>
      %axis = onnx.Constant dense<-1> : tensor<1xi64>
      %x1 = "onnx.Slice"(%x, %zero, %half, %axis, %none) : (X, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, none) -> tensor<*xf32>
      %x2 = "onnx.Slice"(%x, %half, %end, %axis, %none) : (X, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, none) -> tensor<*xf32>"""

SPLIT = """
      %sizes = onnx.Constant dense<[3, 3]> : tensor<2xi64>
      %x1, %x2 = "onnx.Split"(%x, %sizes) <{axis = 3 : si64}> : (X, tensor<2xi64>) -> (tensor<*xf32>, tensor<*xf32>)"""

JOINED = """
      %cos = "onnx.Concat"(%f, %f) <{axis = -1 : si64}> : (F, F) -> tensor<*xf32>
      %sin = "onnx.Concat"(%g, %g) <{axis = -1 : si64}> : (F, F) -> tensor<*xf32>"""

ANGLES = """
      %ff = "onnx.Concat"(%f, %f) <{axis = -1 : si64}> : (F, F) -> tensor<*xf32>
      %c0 = "onnx.Cos"(%ff) : (tensor<*xf32>) -> tensor<*xf32>
      %k = onnx.Constant dense<0.5> : tensor<f32>
      %c1 = "onnx.Mul"(%c0, %k) : (tensor<*xf32>, tensor<f32>) -> tensor<*xf32>
      %one = onnx.Constant dense<1> : tensor<1xi64>
      %cos = "onnx.Unsqueeze"(%c1, %one) : (tensor<*xf32>, tensor<1xi64>) -> tensor<*xf32>
      %s0 = "onnx.Sin"(%ff) : (tensor<*xf32>) -> tensor<*xf32>
      %sin = "onnx.Unsqueeze"(%s0, %one) : (tensor<*xf32>, tensor<1xi64>) -> tensor<*xf32>"""

TABLE = """
      %cos = onnx.Constant dense<[[[[1.0, 2.0, 3.0, 1.0, 2.0, 3.0], [1.5, 2.0, 3.0, 1.5, 2.0, 3.0]]]]> : tensor<1x1x2x6xf32>
      %sin = onnx.Constant dense<[[[[4.0, 2.0, 3.0, 4.0, 2.0, 3.0], [1.5, 2.0, 3.0, 1.5, 2.0, 3.0]]]]> : tensor<1x1x2x6xf32>"""


def rotary(
    halves: str = SLICES,
    tables: str = JOINED,
    *,
    x: str = "tensor<2x4x5x6xf32>",
    f: str = "tensor<2x1x5x3xf32>",
    order: str = "%n, %x1",
    total: str = "%a, %b",
    plain: str = "%x, %cos",
    returned: str = "%y",
    negated: str = "%x2",
) -> str:
    out = ", ".join(["tensor<*xf32>"] * len(returned.split(",")))
    table = "tensor<1x1x2x6xf32>" if "dense<[[[[" in tables else "tensor<*xf32>"
    types = {"%x": x, "%cos": table, "%sin": table}
    text = f"""
    func.func @f(%x: X, %f: F, %g: F) -> ({out}) {{
      %none = "onnx.NoValue"() <{{value}}> : () -> none{halves}{tables}
      %n = "onnx.Neg"({negated}) : (tensor<*xf32>) -> tensor<*xf32>
      %r = "onnx.Concat"({order}) <{{axis = -1 : si64}}> : (tensor<*xf32>, tensor<*xf32>) -> tensor<*xf32>
      %a = "onnx.Mul"({plain}) : ({", ".join(types[v.strip()] for v in plain.split(","))}) -> tensor<*xf32>
      %b = "onnx.Mul"(%r, %sin) : (tensor<*xf32>, {table}) -> tensor<*xf32>
      %y = "onnx.Add"({total}) : (tensor<*xf32>, tensor<*xf32>) -> tensor<*xf32>
      onnx.Return {returned} : {out}
    }}"""
    return (
        text.replace("F,", f"{f},")
        .replace("F)", f"{f})")
        .replace("%x: X", f"%x: {x}")
        .replace("(X,", f"({x},")
    )


def count(module: ModuleOp, op_class: type) -> int:
    return sum(isinstance(op, op_class) for op in module.walk())


@pytest.mark.parametrize(
    ("halves", "tables", "changes"),
    [
        (SLICES, JOINED, {}),
        (SPLIT, JOINED, {"total": "%b, %a"}),
        (SPLIT, JOINED, {"plain": "%cos, %x"}),
        (SLICES, ANGLES, {"f": "tensor<2x5x3xf32>"}),
        (SPLIT, TABLE, {"x": "tensor<1x4x2x6xf32>"}),
    ],
)
def test_spellings(halves: str, tables: str, changes: dict[str, str]):
    # Infinities and NaN meet in other sums than before.
    module = check_pattern(
        rotary(halves, tables, **changes), RotaryEmbeddingPattern, feeds_of(changes), Rel(1e-6)
    )
    assert count(module, onnx.RotaryEmbeddingOp) == 1
    assert count(module, onnx.ConcatOp) == count(module, onnx.NegOp) == 0


def feeds_of(changes: dict[str, str]) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)

    def normal(text: str) -> np.ndarray:
        dims = text.removeprefix("tensor<").removesuffix("xf32>").split("x")
        return rng.standard_normal([int(d) for d in dims]).astype("f4")

    f = changes.get("f", "tensor<2x1x5x3xf32>")
    return {"x": normal(changes.get("x", "tensor<2x4x5x6xf32>")), "f": normal(f), "g": normal(f)}


@pytest.mark.parametrize(
    ("halves", "tables", "changes", "reason"),
    [
        (SLICES, JOINED, {"order": "%x1, %n"}, "rotated halves"),
        (SLICES, JOINED, {"negated": "%x1", "order": "%n, %x2"}, "rotated halves"),
        (SLICES.replace("dense<3>", "dense<2>"), JOINED, {}, "rotated halves"),
        (SPLIT.replace("[3, 3]", "[2, 4]"), JOINED, {}, "rotated halves"),
        (SPLIT, JOINED, {"x": "tensor<2x?x5x6xf32>"}, "known number of heads"),
        (SPLIT.replace("axis = 3", "axis = 2"), JOINED, {"x": "tensor<4x5x6xf32>", "f": "tensor<4x5x3xf32>"}, "rank 4"),
        (SPLIT, JOINED, {"f": "tensor<1x1x5x3xf32>"}, "may be broadcast"),
        (SPLIT, JOINED, {"f": "tensor<2x1x1x3xf32>"}, "may be broadcast"),
        (SPLIT, JOINED, {"f": "tensor<2x4x5x3xf32>"}, "halves of a table"),
        (SPLIT, JOINED.replace("%f, %f", "%f, %g"), {}, "halves of a table"),
        (SPLIT, TABLE.replace("4.0, 2.0, 3.0, 4.0", "4.0, 2.0, 3.0, 5.0"), {"x": "tensor<1x4x2x6xf32>"}, "halves of a table"),
        (SPLIT, JOINED, {"returned": "%y, %a"}, "reads the products"),
        (SPLIT, JOINED, {"returned": "%y, %b"}, "reads the products"),
    ],
)  # fmt: skip
def test_declines(halves: str, tables: str, changes: dict[str, str], reason: str):
    assert reason in decline_reason(rotary(halves, tables, **changes), RotaryEmbeddingPattern)


def test_halves_that_are_joined_along_another_axis():
    text = rotary(SPLIT.replace("3, 3", "1, 1"), x="tensor<2x1x5x2xf32>", f="tensor<2x1x5x1xf32>")
    text = text.replace('"onnx.Concat"(%n, %x1) <{axis = -1', '"onnx.Concat"(%n, %x1) <{axis = 1')
    assert "rotated halves" in decline_reason(text, RotaryEmbeddingPattern)


def test_doubles_have_no_such_op():
    assert "element type" in decline_reason(rotary(SPLIT).replace("xf32", "xf64"), RotaryEmbeddingPattern)


def parts(
    *, left: str = "%p, %z2", right: str = "%z1, %q", axes: tuple[int, int] = (-1, -1), z: str = "0.0", dims: tuple[int, int] = (3, 4), returned: str = "%y", total: str = "%l, %r", rows: str = "2",
) -> str:  # fmt: skip
    p, q = dims
    out = ", ".join(["tensor<*xf32>"] * len(returned.split(",")))
    types = {
        "%p": f"tensor<2x{p}xf32>",
        "%q": f"tensor<{rows}x{q}xf32>",
        "%z1": f"tensor<{rows}x3xf32>",
        "%z2": "tensor<2x4xf32>",
    }

    def of(names: str) -> str:
        return ", ".join(types[name.strip()] for name in names.split(","))

    return f"""
    func.func @f(%p: tensor<2x{p}xf32>, %q: tensor<{rows}x{q}xf32>) -> ({out}) {{
      %shape = onnx.Constant dense<[{rows}, 3]> : tensor<2xi64>
      %z1 = "onnx.ConstantOfShape"(%shape) <{{value = dense<{z}> : tensor<1xf32>}}> : (tensor<2xi64>) -> tensor<{rows}x3xf32>
      %z2 = onnx.Constant dense<0.0> : tensor<2x4xf32>
      %l = "onnx.Concat"({left}) <{{axis = {axes[0]} : si64}}> : ({of(left)}) -> tensor<*xf32>
      %r = "onnx.Concat"({right}) <{{axis = {axes[1]} : si64}}> : ({of(right)}) -> tensor<*xf32>
      %y = "onnx.Add"({total}) : (tensor<*xf32>, tensor<*xf32>) -> tensor<*xf32>
      onnx.Return {returned} : {out}
    }}"""


@pytest.mark.parametrize("changes", [{}, {"total": "%r, %l"}, {"axes": (1, -1)}])
def test_parts_are_joined(changes: dict[str, str]):
    module = check_pattern(parts(**changes), RotaryConcatPartPattern, tolerance=Abs(0))  # pyright: ignore
    assert count(module, onnx.AddOp) == 0 and count(module, onnx.ConcatOp) == 1


def test_a_fill_without_a_value_is_zero():
    text = parts().replace(" <{value = dense<0.0> : tensor<1xf32>}>", "")
    assert count(check_pattern(text, RotaryConcatPartPattern, tolerance=Abs(0)), onnx.ConcatOp) == 1


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"left": "%p, %z2, %z2", "right": "%z1, %q, %q"}, "two joined pairs"),
        ({"total": "%l, %l"}, "added to itself"),
        ({"left": "%z2, %p"}, "opposite sides"),
        ({"z": "1.0"}, "opposite sides"),
        ({"dims": (4, 4), "left": "%p, %z2", "right": "%z2, %q"}, None),
        ({"rows": "1"}, "may be broadcast"),
        ({"returned": "%y, %l"}, "else reads a pair"),
        ({"returned": "%y, %r"}, "else reads a pair"),
    ],
)
def test_parts_that_are_not(changes: dict[str, str], reason: str | None):
    if reason is None:
        check_pattern(parts(**changes), RotaryConcatPartPattern, tolerance=Abs(0))  # pyright: ignore
        return
    assert reason in decline_reason(parts(**changes), RotaryConcatPartPattern)  # pyright: ignore


def test_pairs_along_other_axes_and_of_other_lengths():
    square = """
    func.func @f(%p: tensor<2x4xf32>, %q: tensor<4x2xf32>) -> tensor<*xf32> {
      %z1 = onnx.Constant dense<0.0> : tensor<2x4xf32>
      %z2 = onnx.Constant dense<0.0> : tensor<4x2xf32>
      %l = "onnx.Concat"(%p, %z1) <{axis = 0 : si64}> : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<*xf32>
      %r = "onnx.Concat"(%z2, %q) <{axis = 1 : si64}> : (tensor<4x2xf32>, tensor<4x2xf32>) -> tensor<*xf32>
      %y = "onnx.Add"(%l, %r) : (tensor<*xf32>, tensor<*xf32>) -> tensor<*xf32>
      onnx.Return %y : tensor<*xf32>
    }"""
    assert "different axes" in decline_reason(square, RotaryConcatPartPattern)
    longer = """
    func.func @f(%p: tensor<2x3xf32>, %q: tensor<2x3xf32>) -> tensor<*xf32> {
      %z2 = onnx.Constant dense<0.0> : tensor<2x4xf32>
      %l = "onnx.Concat"(%p, %z2) <{axis = 1 : si64}> : (tensor<2x3xf32>, tensor<2x4xf32>) -> tensor<*xf32>
      %r = "onnx.Concat"(%z2, %q) <{axis = 1 : si64}> : (tensor<2x4xf32>, tensor<2x3xf32>) -> tensor<*xf32>
      %y = "onnx.Add"(%l, %r) : (tensor<*xf32>, tensor<*xf32>) -> tensor<*xf32>
      onnx.Return %y : tensor<*xf32>
    }"""
    assert "as long as the part" in decline_reason(longer, RotaryConcatPartPattern)


def test_pairs_of_no_known_rank():
    text = """
    func.func @f(%p: tensor<*xf32>, %q: tensor<*xf32>, %z: tensor<*xf32>) -> tensor<*xf32> {
      %l = "onnx.Concat"(%p, %z) <{axis = 1 : si64}> : (tensor<*xf32>, tensor<*xf32>) -> tensor<*xf32>
      %r = "onnx.Concat"(%z, %q) <{axis = 1 : si64}> : (tensor<*xf32>, tensor<*xf32>) -> tensor<*xf32>
      %y = "onnx.Add"(%l, %r) : (tensor<*xf32>, tensor<*xf32>) -> tensor<*xf32>
      onnx.Return %y : tensor<*xf32>
    }"""
    assert "not the same rank" in decline_reason(text, RotaryConcatPartPattern)
