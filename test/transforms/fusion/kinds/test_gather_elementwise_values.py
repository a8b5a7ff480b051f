"""Rows of tables with elementwise ops on them: the values of the ops one by one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from fused_values import Array, assert_same, compiled, fused, lowered_as_one, normal, reference, values
from xdsl.dialects.builtin import ModuleOp

from onnxloom.conversion.onnx_to_loom.decline import FusionFallbackWarning
from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.text import parse_module
from onnxloom.errors import OnnxloomError

KIND = "onnx.gather_elementwise"


def check(module: ModuleOp, inputs: Sequence[Array]) -> list[Array]:
    actual = lowered_as_one(module, KIND, inputs)
    assert_same(actual, compiled(module, inputs))
    return actual


def embeddings(batch: str, length: str, size: int, *, index: str = "i64", element: str = "f32") -> ModuleOp:
    """Words, types and positions (the same for all of a batch), a scale and a bias."""
    t, table = f"tensor<{batch}x{length}x{size}x{element}>", f"tensor<?x{size}x{element}>"
    ids, places = f"tensor<{batch}x{length}x{index}>", f"tensor<1x{length}x{index}>"
    p = f"tensor<1x{length}x{size}x{element}>"
    return parse_module(f"""
func.func @f(%w: {table}, %k: {table}, %q: {table}, %i: {ids}, %j: {ids}, %p: {places},
             %b: tensor<{size}x{element}>) -> {t} {{
  %half = onnx.Constant dense<0.5> : tensor<{element}>
  %0 = "onnx.Gather"(%w, %i) {{axis = 0 : si64}} : ({table}, {ids}) -> {t}
  %1 = "onnx.Gather"(%k, %j) : ({table}, {ids}) -> {t}
  %2 = "onnx.Gather"(%q, %p) {{axis = -2 : si64}} : ({table}, {places}) -> {p}
  %3 = "onnx.Add"(%0, %1) : ({t}, {t}) -> {t}
  %4 = "onnx.Add"(%3, %2) : ({t}, {p}) -> {t}
  %5 = "onnx.Mul"(%4, %half) : ({t}, tensor<{element}>) -> {t}
  %6 = "onnx.Add"(%5, %b) : ({t}, tensor<{size}x{element}>) -> {t}
  onnx.Return %6 : {t}
}}""")


def operands(batch: int, length: int, size: int, *, index: str = "i64", element: str = "f32") -> list[Array]:
    rng = np.random.default_rng(batch + length + size)
    tables = [values((rows, size), element, rows) for rows in (11, 2, 9)]
    kind = np.int64 if index == "i64" else np.int32
    picks = [
        rng.integers(-rows, rows, shape).astype(kind)
        for rows, shape in ((11, (batch, length)), (2, (batch, length)), (9, (1, length)))
    ]
    return [*tables, *picks, normal((size,), element)]


@pytest.mark.parametrize("size", [16, 33, 64])
@pytest.mark.parametrize("batch, length", [(1, 1), (2, 5), (3, 1), (0, 4), (4, 0)])
def test_embeddings(batch: int, length: int, size: int) -> None:
    inputs = operands(batch, length, size)
    unknown = check(embeddings("?", "?", size), inputs)
    assert_same(unknown, check(embeddings(str(batch), str(length), size), inputs))
    if batch and length:
        assert_same(unknown, reference(embeddings("?", "?", size), inputs))


@pytest.mark.parametrize("element", ["f16", "bf16", "f64"])
def test_other_types(element: str) -> None:
    check(
        embeddings("?", "3", 16, index="i32", element=element),
        operands(2, 3, 16, index="i32", element=element),
    )


def test_an_index_out_of_range_is_an_error() -> None:
    module = fused(embeddings("?", "?", 16), KIND)
    for place, rows in ((3, 11), (4, 2), (5, 9)):
        for index in (rows, -rows - 1):
            inputs = operands(2, 5, 16)
            inputs[place][0, 3] = index
            with pytest.raises(OnnxloomError, match=f"index {index} is out of range for a dim of {rows}"):
                compiled(module, inputs)


def dequantized(shape: str, table: str, row: str) -> ModuleOp:
    """A quantized table, one number per row, and rows of two dims or one."""
    q, u, t = f"tensor<{table}xui8>", f"tensor<{shape}x{row}xui8>", f"tensor<{shape}x{row}xf32>"
    one = f"tensor<{shape}x{'x'.join('1' for _ in row.split('x'))}xf32>"
    return parse_module(f"""
func.func @f(%q: {q}, %s: tensor<f32>, %z: tensor<ui8>, %i: tensor<{shape}xi64>, %n: {one}) -> {t} {{
  %0 = "onnx.Gather"(%q, %i) : ({q}, tensor<{shape}xi64>) -> {u}
  %1 = "onnx.DequantizeLinear"(%0, %s, %z) : ({u}, tensor<f32>, tensor<ui8>) -> {t}
  %2 = "onnx.Mul"(%1, %n) : ({t}, {one}) -> {t}
  onnx.Return %2 : {t}
}}""")


@pytest.mark.parametrize("row", [(16,), (2, 9)])
def test_dequantized_tables(row: tuple[int, ...]) -> None:
    text = "x".join(map(str, row))
    table, picks = values((7, *row), "ui8"), np.array([[0, 6, -1], [3, 3, -7]])
    scale, zero = np.array(0.25, np.float32), np.array(3, np.uint8)
    inputs = [table, scale, zero, picks, normal((2, 3, *(1 for _ in row)))]
    actual = check(dequantized("2x3", f"7x{text}", text), inputs)
    assert_same(actual, check(dequantized("?x3", f"?x{text}", text), inputs))
    assert_same(actual, reference(dequantized("2x3", f"7x{text}", text), inputs))


def test_an_edited_body_falls_back() -> None:
    module, inputs = fused(embeddings("?", "?", 16), KIND), operands(2, 5, 16)
    gather = next(op for op in module.walk() if isinstance(op, onnx.GatherOp))
    negated = onnx.NegOp.create(operands=[gather.output], result_types=[gather.output.type])
    gather.output.replace_uses_with_if(negated.results[0], lambda use: use.operation is not negated)
    assert gather.parent is not None
    gather.parent.insert_op_after(negated, gather)
    plain = embeddings("?", "?", 16)
    inputs_negated = [-inputs[0], *inputs[1:]]
    with pytest.warns(FusionFallbackWarning, match="the body has 8 ops; expected 7"):
        assert_same(compiled(module, inputs), compiled(plain, inputs_negated))
