"""The tuned form of a convolution tile, its reference loops and numpy agree, also at edges and outside."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import f32, f64, i64
from xdsl.ir import Attribute
from xdsl.utils.exceptions import VerifyException

from onnxloom.conversion.onnx_to_loom.channels_last.conv_tile_op import (
    Operand,
    TileArgs,
    TileFinish,
    conv_tile_op,
)
from onnxloom.conversion.onnx_to_loom.kernel_body import KernelBody
from onnxloom.dialects.loom.target import GemmTile
from onnxloom.dialects.onnx.semantics.scalars import Scalar, Scalars
from onnxloom.lowering.compile_kernels import compile_kernels
from onnxloom.lowering.emit_python import compile_python
from onnxloom.lowering.microkernels.tap_loops import CHUNK
from onnxloom.tools.testing.kernels import call

TILES = [GemmTile(8, 3, 4), GemmTile(4, 3, 8), GemmTile(8, 2, 16)]
TAPS = 3


FORMS = [
    *((tile, depth) for tile in TILES for depth in (0, 5)),
    (TILES[0], 1),
    # Of these the sums are put aside: between taps, and inside of one.
    (TILES[0], CHUNK // 2),
    (TILES[2], 2 * CHUNK),
]


@pytest.mark.parametrize(("tile", "depth"), FORMS, ids=str)
@pytest.mark.parametrize(("element", "dtype"), [(f32, np.float32), (f64, np.float64)])
def test_tuned_form_and_reference(element: Attribute, dtype: Any, tile: GemmTile, depth: int) -> None:
    kernel = KernelBody("tile", [element, i64, element], [element], 2)
    n = kernel.index
    width, zeros_at = tile.columns + 3, 5 + TAPS * depth * (tile.columns + 3)
    image, table, weights = kernel.ins
    args = TileArgs(
        image, table, weights, kernel.outs[0],
        n(2), n(1), n(tile.rows + 1), n(5), n(width), n(zeros_at), n(3), n(width),
        n(TAPS), n(depth), kernel.sizes[0], kernel.sizes[1], n(0), n(1),
    )  # fmt: skip
    kernel.builder.insert(conv_tile_op(tile, element, args))
    op = kernel.end()
    library, reference = compile_kernels([op], cache=None), compile_python(op)
    rng = np.random.default_rng(0)
    data = rng.integers(-4, 5, 2 + 20 + depth).astype(dtype)
    table_of = rng.integers(0, 20, (TAPS, tile.rows + 1))
    table_of[0, 2], table_of[1] = -1, -1
    table_data = np.concatenate([[0], table_of.reshape(-1)])
    weights_data = np.zeros(zeros_at + depth + width, dtype)
    weights_data[5:zeros_at] = rng.integers(-4, 5, zeros_at - 5)
    matrix = weights_data[5:zeros_at].reshape(TAPS, depth, width)
    for rows in range(1, tile.rows + 1):
        for columns in (1, tile.lanes, tile.columns - 1, tile.columns):
            want = np.full(3 + tile.rows * width, -1, dtype)
            lines = want[3:].reshape(tile.rows, width)
            for row in range(rows):
                sums = np.zeros(columns, dtype)
                for tap in range(TAPS):
                    at = table_of[tap, row] + 2
                    if at >= 2:
                        sums += data[at : at + depth] @ matrix[tap, :, :columns]
                lines[row, :columns] = sums
            tuned, plain = np.full_like(want, -1), np.full_like(want, -1)
            call(library.address("tile"), data, table_data, weights_data, tuned, rows, columns)
            reference(data, table_data, weights_data, plain, rows, columns)
            np.testing.assert_array_equal(tuned, want)
            np.testing.assert_array_equal(plain, want)


def finished(s: Scalars, value: Scalar, operands: Sequence[Scalar]) -> Scalar:
    """max(value + by_row, 0) * (by_both + by_column) + number."""
    by_row, by_both, by_column, number = operands
    positive = s.maximum(s.add(value, by_row), s.const(0.0, value.type))
    return s.add(s.mul(positive, s.add(by_both, by_column)), number)


@pytest.mark.parametrize("tile", TILES, ids=str)
def test_finish_of_a_tile(tile: GemmTile) -> None:
    kernel = KernelBody("tile", [f32, i64, f32, *[f32] * 4], [f32], 2)
    n, width, depth = kernel.index, tile.columns + 3, 2
    image, table, weights, *others = kernel.ins
    args = TileArgs(
        image, table, weights, kernel.outs[0],
        n(0), n(0), n(tile.rows), n(0), n(tile.columns), n(depth * tile.columns), n(3), n(width),
        n(1), n(depth), kernel.sizes[0], kernel.sizes[1], n(0), n(1),
    )  # fmt: skip
    forms = [(n(2), False, False), (n(tile.columns), True, False), (n(0), True, True), (n(0), False, True)]
    operands = [
        Operand(buffer, n(1), stride, by_column, all_rows)
        for buffer, (stride, by_column, all_rows) in zip(others, forms, strict=True)
    ]
    kernel.builder.insert(conv_tile_op(tile, f32, args, finish=TileFinish(finished, operands)))
    op = kernel.end()
    op.verify()
    library, reference = compile_kernels([op], cache=None), compile_python(op)
    rng = np.random.default_rng(0)
    sizes = (tile.rows + depth, (depth + 1) * tile.columns)
    data, factors = (rng.integers(-4, 5, size).astype(np.float32) for size in sizes)
    places = np.arange(tile.rows)
    for rows in (1, tile.rows - 1, tile.rows):
        for columns in (1, tile.lanes, tile.columns - 1, tile.columns):
            # Of the size that is read, so that what is read beyond it is found by a checked build.
            read = (1 + 2 * (rows - 1) + 1, 1 + (rows - 1) * tile.columns + columns, 1 + columns, 2)
            extras = [rng.integers(-4, 5, size).astype(np.float32) for size in read]
            sums = np.stack([data[p : p + depth] for p in places]) @ factors.reshape(-1, tile.columns)[:depth]
            want = np.full(3 + tile.rows * width, -1, np.float32)
            for row in range(rows):
                both = extras[1][1 + row * tile.columns :][:columns]
                value = np.maximum(sums[row, :columns] + extras[0][1 + 2 * row], 0)
                want[3 + row * width :][:columns] = value * (both + extras[2][1:]) + extras[3][1]
            tuned, plain = np.full_like(want, -1), np.full_like(want, -1)
            call(library.address("tile"), data, places, factors, *extras, tuned, rows, columns)
            reference(data, places, factors, *extras, plain, rows, columns)
            np.testing.assert_array_equal(tuned, want)
            np.testing.assert_array_equal(plain, want)


def test_a_finish_gives_one_value() -> None:
    kernel = KernelBody("tile", [f32, i64, f32], [f32], 0)
    values = [*kernel.ins, kernel.outs[0], *[kernel.index(1)] * 14]
    args = TileArgs(**dict(zip(TileArgs.__dataclass_fields__, values, strict=True)))
    op = conv_tile_op(TILES[0], f32, args, finish=TileFinish(_same, ()))
    op.verify()
    assert op.finish is not None and op.finish.block.last_op is not None
    op.finish.block.last_op.operands = []
    with pytest.raises(VerifyException, match="the finish must end with loom.yield of one value"):
        op.verify()


def _same(s: Scalars, value: Scalar, operands: Sequence[Scalar]) -> Scalar:
    return value
