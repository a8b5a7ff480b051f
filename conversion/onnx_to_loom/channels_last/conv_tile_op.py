"""What does `conv_tile` compute? The op with its scalar reference loops."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from xdsl.builder import Builder
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, IntegerAttr, StringAttr, i64
from xdsl.ir import Attribute, Block, Region, SSAValue
from xdsl.rewriter import InsertPoint

from onnxloom.conversion.onnx_to_loom.kernel_body import KernelBody
from onnxloom.conversion.onnx_to_loom.products.product_loops import Epilogue, word_product
from onnxloom.dialects import loom
from onnxloom.dialects.loom.target import GemmTile
from onnxloom.dialects.onnx.semantics.scalars import Scalar, Scalars

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


@dataclass(frozen=True)
class Operand:
    """What a finish reads beside the sums."""

    buffer: SSAValue
    at: Scalar
    row_stride: Scalar
    by_column: bool
    """Whether it has one element per column; else one for all."""
    all_rows: bool
    """Whether the row stride is 0."""

    @property
    def form(self) -> int:
        """The parameter of the op that says so."""
        return int(self.by_column) + 2 * int(self.all_rows)


@dataclass(frozen=True)
class TileFinish:
    """What is done to the sums of a tile; all in the type they are made in."""

    epilogue: Epilogue
    operands: Sequence[Operand]


_BUFFERS = 3
"""Of TileArgs, before the operands of a finish."""


def conv_tile_op(
    tile: GemmTile,
    element: Attribute,
    args: TileArgs,
    parts: int = 1,
    skips: bool = True,
    finish: TileFinish | None = None,
) -> loom.MicrokernelOp:
    """The `conv_tile` op: taps of `depth` elements each times their rows of weights.

    Elements of several parts are words, see `gemm_tile_op`. `skips`: taps outside of the image add nothing.
    """
    given = [getattr(args, name) for name in TileArgs.__dataclass_fields__]
    others = () if finish is None else finish.operands
    lines = [value for other in others for value in (other.at, other.row_stride)]
    operands = [*given[:_BUFFERS], *(other.buffer for other in others), *given[_BUFFERS:], *lines]
    ins = [element, i64, element, *[element] * len(others)]
    k = KernelBody("reference", ins, [element], len(operands) - len(ins) - 1)
    image, table, weights, *extras = k.ins
    (result,) = k.outs
    image_at, table_at, table_row, weights_at, weights_row, outside_at, result_at, result_row, *rest = k.sizes
    taps, depth, rows, columns, _, _, *places = rest
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
        if finish is not None:
            values: list[Scalar] = []
            for other, buffer, at, stride in zip(others, extras, places[::2], places[1::2], strict=True):
                line = k.add(at, k.mul(i, stride))
                values.append(k.load(buffer, k.add(line, j) if other.by_column else line))
            total = finish.epilogue(s, total, values)
        k.store(total, result, k.add(k.add(result_at, k.mul(i, result_row)), j))
    params: dict[str, int] = {
        "rows": tile.rows,
        "vectors": tile.vectors,
        "lanes": tile.lanes,
        "parts": parts,
        "skips": int(skips),
    }
    attributes: dict[str, Attribute] = {name: IntegerAttr(value, i64) for name, value in params.items()}
    attributes["operands"] = ArrayAttr([IntegerAttr(other.form, i64) for other in others])
    regions = [k.end().detach_region(0)]
    if finish is not None:
        regions.append(_finish_region(element, finish))
    return loom.MicrokernelOp.create(
        operands=operands,
        properties={"kind": StringAttr("conv_tile"), "params": DictionaryAttr(attributes)},
        regions=regions,
    )


def _finish_region(element: Attribute, finish: TileFinish) -> Region:
    block = Block(arg_types=[element] * (1 + len(finish.operands)))
    builder = Builder(InsertPoint.at_end(block))
    value, *operands = block.args
    done = finish.epilogue(Scalars(builder, block), value, operands)
    builder.insert(loom.YieldOp.create(operands=[done]))
    return Region(block)
