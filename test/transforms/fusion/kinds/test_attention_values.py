"""Attention with what moves its heads computes what the ops do: the unfused kernels' values."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from attention_text import parts_of_one, swapped_heads
from fused_values import Array, assert_same, compiled, fused, lowered_as_one, normal
from xdsl.dialects.builtin import IntegerAttr, ModuleOp
from xdsl.pattern_rewriter import PatternRewriter

from onnxloom.conversion.onnx_to_loom.decline import FusionFallbackWarning
from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.element_types import si64
from onnxloom.dialects.onnx.text import parse_module
from onnxloom.errors import OnnxloomError

KIND = "onnx.attention"
SIZES = [
    # batch, heads, key heads, queries, keys, width, width of values
    (2, 3, 3, 5, 7, 8, 8),
    (1, 4, 2, 33, 50, 64, 64),
    (2, 4, 1, 1, 100, 64, 64),
    (1, 2, 2, 2, 49, 16, 24),
    (1, 2, 2, 40, 130, 20, 37),
    (1, 1, 1, 3, 1, 4, 4),
    (1, 2, 2, 3, 9, 16, 96),
    (0, 2, 2, 3, 9, 16, 16),
    (1, 2, 2, 0, 9, 16, 16),
]


def check(text: str, inputs: list[Array], tolerance: float = 1e-6) -> list[Array]:
    module = parse_module(text)
    actual = lowered_as_one(module, KIND, inputs)
    assert_same(actual, compiled(module, inputs), tolerance)
    return actual


def typed(size: tuple[int, ...], dynamic: bool) -> Any:
    """The sizes as text; batch and rows may be unknown."""
    return tuple("?" if dynamic and i in (0, 3, 4) else str(n) for i, n in enumerate(size))


def operands(size: tuple[int, ...], element: str = "f32") -> list[Array]:
    b, h, g, s, t, d, dv = size
    shapes = [(b, s, h, d), (b, t, g, d), (b, t, g, dv)]
    return [normal(shape, element, i) for i, shape in enumerate(shapes)]


@pytest.mark.parametrize("size", SIZES)
def test_heads_side_by_side(size: tuple[int, ...]):
    check(swapped_heads(typed(size, dynamic=size[0] == 1)), operands(size))


def test_batch_and_rows_that_are_not_known():
    check(swapped_heads(typed(SIZES[0], True)), operands(SIZES[0]))


def test_causal_masked_capped_and_in_double_precision():
    size = SIZES[1]
    text = swapped_heads(
        typed(size, False), "f64", "is_causal = 1 : si64, softcap = 2.0 : f32", "tensor<33x50xf64>"
    )
    check(text, [*operands(size, "f64"), normal((33, 50), "f64", 5)], 1e-13)
    hidden = np.random.default_rng(6).random((2, 1, 5, 7)) < 0.5
    check(swapped_heads(typed(SIZES[0], True), mask="tensor<?x1x?x?xi1>"), [*operands(SIZES[0]), hidden])


def test_nan_and_infinities_come_through():
    q, k, v = operands(SIZES[0])
    q[0, 1, 2, 3], v[1, 2, 1, 0], v[0, 0, 0, 0] = np.nan, np.inf, -0.0
    check(swapped_heads(typed(SIZES[0], False)), [q, k, v])


@pytest.mark.parametrize("size, past", [(SIZES[0], 6), (SIZES[1], 1), (SIZES[4], 5), (SIZES[6], 0)])
def test_new_keys_are_joined_to_past_ones(size: tuple[int, ...], past: int):
    b, _, g, _, _, d, dv = size
    inputs = [*operands(size), normal((b, g, past, d), "f32", 7), normal((b, g, past, dv), "f32", 8)]
    keys, values, _ = check(swapped_heads(typed(size, True), past="?"), inputs)
    np.testing.assert_array_equal(keys, np.concatenate([inputs[3], inputs[1].swapaxes(1, 2)], 2))
    np.testing.assert_array_equal(values, np.concatenate([inputs[4], inputs[2].swapaxes(1, 2)], 2))


def test_past_keys_of_another_batch_are_refused():
    size = SIZES[0]
    module = fused(parse_module(swapped_heads(typed(size, True), past="?")), KIND)
    inputs = [*operands(size), normal((1, 3, 4, 8)), normal((2, 3, 4, 8))]
    with pytest.raises(OnnxloomError, match="past keys or values differ from the new ones in dim 0"):
        compiled(module, inputs)


@pytest.mark.parametrize("batch, rows", [(2, 5), (1, 40), (3, 1), (0, 4), (2, 0)])
def test_parts_of_one_tensor(batch: int, rows: int):
    x = normal((batch, rows, 3, 2, 16))
    known = batch == 2
    check(parts_of_one(str(batch) if known else "?", 2, str(rows) if known else "?", 16), [x])


def test_parts_are_counted_from_the_end_too():
    check(parts_of_one("?", 2, "?", 16, (-1, 0, -2)), [normal((2, 5, 3, 2, 16))])


# Tampering between creation and lowering.


def tampered() -> tuple[ModuleOp, onnx.FusedOp]:
    module = fused(parse_module(swapped_heads(typed(SIZES[0], False))), KIND)
    return module, next(op for op in module.walk() if isinstance(op, onnx.FusedOp))


def test_a_body_with_another_op_runs_op_by_op():
    module, op = tampered()
    first = next(inner for inner in op.body.block.ops if isinstance(inner, onnx.TransposeOp))
    again = onnx.NegOp.create(operands=[first.data], result_types=[first.data.type])
    PatternRewriter(first).insert(again)
    first.operands[0] = again.results[0]
    inputs = operands(SIZES[0])
    with pytest.warns(FusionFallbackWarning, match="onnx.Neg is not read through"):
        actual = compiled(module, inputs)
    plain = compiled(parse_module(swapped_heads(typed(SIZES[0], False))), [-inputs[0], *inputs[1:]])
    assert_same(actual, plain, 1e-6)


def test_an_attention_that_was_changed_computes_what_it_says():
    module, op = tampered()
    attention = next(inner for inner in op.body.block.ops if isinstance(inner, onnx.AttentionOp))
    attention.properties["is_causal"] = IntegerAttr(1, si64)
    text = swapped_heads(typed(SIZES[0], False), attributes="is_causal = 1 : si64")
    inputs = operands(SIZES[0])
    assert_same(compiled(module, inputs), compiled(parse_module(text), inputs), 1e-6)
