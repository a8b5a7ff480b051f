"""What does `conv_tile` compute? The op with its scalar reference loops."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from xdsl.dialects.builtin import DictionaryAttr, IntegerAttr, StringAttr, i64
from xdsl.ir import Attribute, SSAValue

from onnxloom.conversion.onnx_to_loom.kernel_body import KernelBody
from onnxloom.conversion.onnx_to_loom.product_loops import word_product
from onnxloom.dialects import loom
from onnxloom.dialects.loom.target import GemmTile
from onnxloom.dialects.onnx.semantics.scalars import Scalar

Step: TypeAlias = Callable[[Scalar, Sequence[Scalar]], Sequence[Scalar]]


@dataclass(frozen=True)
class TileArgs:
    """What one tile reads and writes; offsets and strides count elements."""

    image: SSAValue
    table: SSAValue
    """Per tap and row the offset of the elements a row reads, counted from `image_at`; negative: none."""
    weights: SSAValue
    result: SSAValue
    image_at: Scalar
    table_at: Scalar
    table_row: Scalar
    weights_at: Scalar
    weights_row: Scalar
    outside_at: Scalar
    """Where in the weights are the `depth` elements that taps outside of the image read."""
    result_at: Scalar
    result_row: Scalar
    taps: Scalar
    depth: Scalar
    rows: Scalar
    columns: Scalar
    later_at: Scalar
    """Where in the weights lies what is read after this tile."""
    later_row: Scalar

    @property
    def operands(self) -> list[SSAValue]:
        """In order, as the op has them."""
        return [getattr(self, name) for name in TileArgs.__dataclass_fields__]


def conv_tile_op(
    tile: GemmTile, element: Attribute, args: TileArgs, parts: int = 1, skips: bool = True
) -> loom.MicrokernelOp:
    """The `conv_tile` op: taps of `depth` elements each times their rows of weights.

    Elements of several parts are words, see `gemm_tile_op`. `skips`: taps outside of the image add nothing.
    """
    k = KernelBody("reference", [element, i64, element], [element], len(args.operands) - 4)
    image, table, weights = k.ins
    (result,) = k.outs
    image_at, table_at, table_row, weights_at, weights_row, outside_at, result_at, result_row, *rest = k.sizes
    taps, depth, rows, columns, _, _ = rest
    s = k.scalars
    zero = s.const(0.0, element)
    with k.loop(rows) as i, k.loop(columns) as j:

        def add_tap(tap: Scalar, sums: Sequence[Scalar]) -> Sequence[Scalar]:
            offset = k.to_index(k.load(table, k.add(table_at, k.add(k.mul(tap, table_row), i))))
            inside = s.cmp("ge", offset, k.index(0))
            first = k.add(image_at, offset)
            row = k.add(weights_at, k.add(k.mul(k.mul(tap, depth), weights_row), j))

            def adding(buffer: SSAValue, start: Scalar) -> Step:
                def add_product(d: Scalar, sums: Sequence[Scalar]) -> Sequence[Scalar]:
                    left = k.load(buffer, k.add(start, d))
                    right = k.load(weights, k.add(row, k.mul(d, weights_row)))
                    product = s.mul(left, right) if parts == 1 else word_product(s, (left, right), parts)
                    return [s.add(sums[0], product)]

                return add_product

            none = k.index(0)
            sums = k.reduce(s.select(inside, depth, none), sums, adding(image, first))
            if skips:
                return sums
            return k.reduce(s.select(inside, none, depth), sums, adding(weights, outside_at))

        (total,) = k.reduce(taps, [zero], add_tap)
        k.store(total, result, k.add(k.add(result_at, k.mul(i, result_row)), j))
    params = {
        "rows": tile.rows,
        "vectors": tile.vectors,
        "lanes": tile.lanes,
        "parts": parts,
        "skips": int(skips),
    }
    return loom.MicrokernelOp.create(
        operands=args.operands,
        properties={
            "kind": StringAttr("conv_tile"),
            "params": DictionaryAttr({name: IntegerAttr(value, i64) for name, value in params.items()}),
        },
        regions=[k.end().detach_region(0)],
    )
