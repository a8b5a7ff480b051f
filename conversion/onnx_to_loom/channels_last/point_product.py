"""How does a kernel multiply neighbouring points by a matrix, as one step among others?

The points are rows of memory, one behind the other, the matrix lies row by row. Sums of some points times
some vectors of columns stay in registers until the epilogue has run on them: for the short depths of
pointwise convolutions that is what takes the time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from xdsl.dialects import arith
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, SSAValue

from onnxloom.conversion.onnx_to_loom.builder import KernelBuilder, ranked
from onnxloom.conversion.onnx_to_loom.channels_last.depthwise import CONTRACT
from onnxloom.conversion.onnx_to_loom.decline import Declined
from onnxloom.conversion.onnx_to_loom.kernel_body import KernelBody
from onnxloom.conversion.onnx_to_loom.plan_known import is_plan_known
from onnxloom.dialects import loom
from onnxloom.dialects.loom.target import Target
from onnxloom.dialects.onnx.semantics.scalars import Scalar, bit_width

VECTORS = 3
"""Vectors of columns of the widest tile."""

MAX_POINTS = 16
"""Points of the tallest tile."""

Finish: TypeAlias = Callable[[Scalar], Callable[[Scalar, Scalar], None]]


def point_matrix(builder: KernelBuilder, weights: SSAValue) -> SSAValue:
    """The weights of a convolution of one tap (`[M, C, 1, ...]`) as the matrix `[C, M]`, made ahead of time.

    Raises:
        Declined: they are not constant.
    """
    type_ = ranked(weights.type, "the weights")
    if not is_plan_known(weights):
        raise Declined("the weights of a pointwise convolution are not constant")
    columns, depth = type_.get_shape()[:2]
    matrix = TensorType(type_.element_type, [depth, columns])
    return builder.insert(loom.PackOp(weights, "transposed_rows", {}, matrix)).results[0]


@dataclass(frozen=True)
class ColumnTiles:
    """Tiles of columns that look alike."""

    first: int
    """Column the first of them starts at."""
    count: int
    offsets: tuple[int, ...]
    """Where its vectors start in a tile."""
    step: int
    """Columns from one tile to the next."""


def column_tiles(columns: int, lanes: int) -> list[ColumnTiles]:
    """Vectors of `lanes` columns in tiles of at most VECTORS, as even as can be; the last one may overlap."""
    vectors = -(-columns // lanes)
    starts = [min(i * lanes, columns - lanes) for i in range(vectors)]
    tiles = -(-vectors // VECTORS)
    found: list[ColumnTiles] = []
    for i in range(tiles):
        part = starts[i * vectors // tiles : (i + 1) * vectors // tiles]
        offsets = tuple(start - part[0] for start in part)
        last = found[-1] if found else None
        if last is not None and last.offsets == offsets and part[0] == last.first + last.count * last.step:
            found[-1] = replace(last, count=last.count + 1)
        else:
            found.append(ColumnTiles(part[0], 1, offsets, len(part) * lanes))
    return found


@dataclass(frozen=True)
class PointProduct:
    """Writes `points x matrix` into a kernel."""

    k: KernelBody
    element: Attribute
    target: Target
    depth: int
    columns: int
    matrix: SSAValue

    def write(self, source: SSAValue, source_at: Scalar, points: Scalar, finish: Finish) -> None:
        """Multiplies `points` rows from `source_at` on.

        `finish` is given a column, and gives what stores, from the number of a point and the sum there.
        """
        k = self.k
        lanes = self.target.lanes(max(1, bit_width(self.element) // 8))
        lanes = min(lanes, 1 << (self.columns.bit_length() - 1))
        registers = 24 if self.target.vector_registers >= 32 else 12
        for tiles in column_tiles(self.columns, lanes):
            rows = min(registers // len(tiles.offsets), MAX_POINTS)
            with k.loop(k.index(tiles.count)) as i:
                column = k.add(k.index(tiles.first), k.mul(i, k.index(tiles.step)))
                starts = [k.add(column, k.index(offset)) for offset in tiles.offsets]
                whole = k.scalars.emit(arith.DivSIOp(points, k.index(rows)))
                with k.loop(whole) as tile:
                    first = k.mul(tile, k.index(rows))
                    self._tile(starts, lanes, (source, source_at), first, rows, finish)
                with k.loop(points, start=k.mul(whole, k.index(rows))) as point:
                    self._tile(starts, lanes, (source, source_at), point, 1, finish)

    def _tile(
        self,
        starts: Sequence[Scalar],
        lanes: int,
        source: tuple[SSAValue, Scalar],
        first: Scalar,
        rows: int,
        finish: Finish,
    ) -> None:
        k, s, vectors = self.k, self.k.scalars, len(starts)
        buffer, at = source
        # All points from one address: there are more of them than registers for addresses.
        base = k.add(at, k.mul(first, k.index(self.depth)))
        with k.lanes(lanes) as lane:
            places = [k.add(start, lane) for start in starts]

            def step(t: Scalar, sums: Sequence[Scalar]) -> Sequence[Scalar]:
                row, here = k.mul(t, k.index(self.columns)), k.add(base, t)
                factors = [k.load(self.matrix, k.add(row, place)) for place in places]
                result: list[Scalar] = []
                for p in range(rows):
                    value = k.load(buffer, k.add(here, k.index(p * self.depth)))
                    for total, factor in zip(sums[p * vectors :], factors, strict=False):
                        product = s.emit(arith.MulfOp(value, factor, CONTRACT))
                        result.append(s.emit(arith.AddfOp(total, product, CONTRACT)))
                return result

            zero = s.const(0.0, self.element)
            sums = k.reduce(k.index(self.depth), [zero] * (rows * vectors), step)
            stores = [finish(place) for place in places]
            for i, total in enumerate(sums):
                stores[i % vectors](k.add(first, k.index(i // vectors)), total)
