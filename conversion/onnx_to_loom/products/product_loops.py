"""Which loops compute a batched matrix product tile by tile? `ProductLoops`.

The right operand is walked in column panels that a `Panels` provides: packed ahead, packed on the fly,
or gathered from an image. f32 and f64 go through the tuned `gemm_tile`, half-width floats as f32;
other types accumulate one row of a panel at a time. The epilogue, one function over scalars, runs over
each tile while it is in the L1 cache.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol, TypeAlias

from xdsl.dialects import arith
from xdsl.dialects.builtin import DictionaryAttr, Float32Type, Float64Type, IntegerAttr, StringAttr, i32, i64
from xdsl.ir import Attribute, SSAValue

from onnxloom.conversion.onnx_to_loom.kernel_body import KernelBody
from onnxloom.dialects import loom
from onnxloom.dialects.loom.target import GemmTile, Target, gemm_tile
from onnxloom.dialects.onnx.semantics.quick_ops import binary
from onnxloom.dialects.onnx.semantics.scalars import (
    Scalar,
    Scalars,
    bit_width,
    compute_type,
    is_float,
)

Epilogue: TypeAlias = Callable[[Scalars, Scalar, Sequence[Scalar]], Scalar]
"""(scalars, element of the product in the type it is accumulated in, one element per operand) -> element
of the result, in its storage type."""

ENOUGH_TASKS = 32
"""Fewer panels than this are cut along the rows too."""

MIN_TILES = 4
"""Row tiles in a task at least."""

MIN_TILES_PER_PANEL = 16
"""The same where each task prepares its panel."""

ROW_COLUMNS = 64
"""Panel width of the types without a tuned tile."""


@dataclass(frozen=True)
class Source:
    """Where the rows of a column panel are: offset of its first element and strides, in elements."""

    buffer: SSAValue
    offset: Scalar
    row_stride: Scalar
    column_stride: Scalar | None = None
    """None for contiguous rows, which is what tiles need."""
    condition: Scalar | None = None
    """Whether this source can be used; the last of several has none."""
    following: Scalar | None = None
    """Offset in the buffer of the panel that is read next, where that is worth fetching early."""


class Panels(Protocol):
    """How the column panels of the right operand come about."""

    prepared: bool
    """Whether panels are there already, so that many tasks may ask for the same one."""

    def panel(
        self, loops: ProductLoops, base: Scalar, index: Scalar, column: Scalar, count: Scalar
    ) -> Sequence[Source]:
        """Emits what prepares panel `index` (`count` columns from `column` on); gives where it is."""
        ...


@dataclass(frozen=True)
class Shape:
    """What a product kernel is specialised on."""

    element: Attribute
    """Type of the factors as they are multiplied."""
    result: Attribute
    """Storage type of the result."""
    rank: int
    """Number of batch loops."""
    tile: GemmTile | None
    """The register tile, None for types without one."""
    column_strides: Sequence[int | None]
    """Per epilogue operand its stride along the columns, None where it depends on sizes."""
    epilogue: Epilogue | None
    parts: int = 1
    """Integers per element of the factors, see `gemm_tile_op`."""
    signed_left: bool = False
    """Whether of 4 parts those of the left factor are signed, not those of the right one."""

    @property
    def columns(self) -> int:
        """Width of a panel."""
        return ROW_COLUMNS if self.tile is None else self.tile.columns

    @property
    def is_direct(self) -> bool:
        """Whether tiles are the result: there is nothing to do on them."""
        return self.tile is not None and self.epilogue is None and self.result == self.element


def tile_of(target: Target, element: Attribute, parts: int = 1) -> GemmTile | None:
    """The register tile for factors of this storage type, None if there is no tuned one.

    An element of several `parts` is a word of 32 bits.
    """
    if parts > 1:
        return gemm_tile(target, 4)
    if not isinstance(element, (Float32Type, Float64Type)):
        return None
    return gemm_tile(target, bit_width(element) // 8)


def fitted(tile: GemmTile | None, columns: int) -> GemmTile | None:
    """The tile for a result of so many columns (DYNAMIC_INDEX: not known).

    The last panel of a narrow result may be a single vector, whose tiles wait for one accumulator after the
    other: 49 columns are two panels of two vectors of 16 rather than one of three and one of one.
    """
    if tile is None or columns <= 0:
        return tile
    vectors = -(-columns // tile.lanes)
    panels = -(-vectors // tile.vectors)
    return replace(tile, vectors=-(-vectors // panels))


class ProductLoops:
    """Writes the loop nest of one product.

    The kernel's buffers are lhs, rhs, epilogue operands; result (then whatever the panels need). Its
    sizes are the results of `loom.matmul_space`, in that order, then those the panels need (`extra`).
    """

    def __init__(self, kernel: KernelBody, shape: Shape, panels: Panels):
        self.kernel, self.shape, self.panels = kernel, shape, panels
        sizes = iter(kernel.sizes)
        others = len(shape.column_strides)
        self.batch = [next(sizes) for _ in range(shape.rank)]
        self.m, self.n, self.k = (next(sizes) for _ in range(3))
        self.lines = [[next(sizes) for _ in range(shape.rank + 1)] for _ in range(3 + others)]
        self.a_k, self.b_k, self.b_n = (next(sizes) for _ in range(3))
        self.by_column = [next(sizes) for _ in range(others)]
        self.extra = list(sizes)
        self.lhs, self.rhs, *self.others = kernel.ins
        self.result = kernel.outs[0]
        self.sum_type = compute_type(shape.element)

    def write(self) -> None:
        """The whole kernel."""
        tile, shape = self.shape.tile, self.shape
        if not shape.is_direct:
            rows = 1 if tile is None else tile.rows
            self.scratch = self.kernel.scratch(self.sum_type, rows * shape.columns)
        k = self.kernel
        width = k.index(shape.columns)
        height = 1 if tile is None else tile.rows
        units = self._ceil(self.m, k.index(height))
        panels = self._ceil(self.n, width)
        blocks, per_block = self._row_blocks(panels, units)
        with k.task_nest(*self.batch, panels, blocks) as (*batch, index, block):
            bases = [k.index(0) for _ in self.lines]
            for depth, i in enumerate(batch):
                bases = [
                    k.add(base, k.mul(i, line[depth])) for base, line in zip(bases, self.lines, strict=True)
                ]
            column = k.mul(index, width)
            count = k.scalars.minimum(width, k.sub(self.n, column))
            first = k.mul(block, per_block)
            last = k.scalars.minimum(k.add(first, per_block), units)
            sources = self.panels.panel(self, bases[1], index, column, count)
            if tile is None:
                (source,) = sources
                self._row_sums(source, bases, (column, count), (first, last))
            else:
                self._tiles(tile, sources, bases, (column, count), (first, last))

    def _row_blocks(self, panels: Scalar, units: Scalar) -> tuple[Scalar, Scalar]:
        """How the row tiles of a panel are cut, so that there are tasks enough: blocks, tiles in each.

        Blocks are no smaller than what preparing the panel for each of them is worth.
        """
        k, s = self.kernel, self.kernel.scalars
        least = k.index(MIN_TILES if self.panels.prepared else MIN_TILES_PER_PANEL)
        tasks = panels
        for size in self.batch:
            tasks = k.mul(tasks, size)
        one = k.index(1)
        wanted = self._ceil(k.index(ENOUGH_TASKS), s.maximum(tasks, one))
        blocks = s.maximum(s.minimum(wanted, self._ceil(units, least)), one)
        per_block = s.maximum(self._ceil(units, blocks), one)
        return self._ceil(units, per_block), per_block

    def _tiles(
        self,
        tile: GemmTile,
        sources: Sequence[Source],
        bases: list[Scalar],
        columns: tuple[Scalar, Scalar],
        tiles: tuple[Scalar, Scalar],
    ) -> None:
        """The row tiles of a panel in the range `tiles`; `columns` are the first one and how many."""
        k = self.kernel
        column, count = columns
        height = k.index(tile.rows)
        all_tiles = self._ceil(self.m, height)
        with k.loop(tiles[1], start=tiles[0]) as i:
            row = k.mul(i, height)
            rows = k.scalars.minimum(height, k.sub(self.m, row))
            at = [k.add(base, k.mul(row, line[-1])) for base, line in zip(bases, self.lines, strict=True)]
            if self.shape.is_direct:
                target = (self.result, k.add(at[2], column), self.lines[2][-1])
            else:
                target = (self.scratch, k.index(0), k.index(self.shape.columns))
            later = self._later(sources[-1], i, all_tiles)
            self._from_first(tile, sources, at[0], target, rows, count, later)
            if not self.shape.is_direct:
                self._epilogue(at, column, rows, count)

    def _later(self, source: Source, tile: Scalar, tiles: Scalar) -> Sequence[Scalar]:
        """The share of the next panel that a tile fetches early: offset, and stride per step along K."""
        if source.following is None:
            return ()
        k = self.kernel
        width = k.index(self.shape.columns)
        step = self._ceil(width, tiles)
        start = k.scalars.minimum(k.mul(tile, step), k.sub(width, step))
        return k.add(source.following, k.mul(start, self.k)), step

    def _from_first(
        self,
        tile: GemmTile,
        sources: Sequence[Source],
        lhs_at: Scalar,
        target: tuple[SSAValue, Scalar, Scalar],
        rows: Scalar,
        count: Scalar,
        later: Sequence[Scalar],
    ) -> None:
        """The tile from the first source whose condition holds."""
        k = self.kernel
        source, *rest = sources
        if source.condition is not None and rest:
            with k.branch(source.condition) as (then, other):
                with k.inside(then):
                    self._from_first(tile, [source], lhs_at, target, rows, count, later)
                with k.inside(other):
                    self._from_first(tile, rest, lhs_at, target, rows, count, later)
            return
        buffer, at, line = target
        offsets = [lhs_at, self.lines[0][-1], self.a_k, source.offset, source.row_stride, at, line]
        args = [self.lhs, source.buffer, buffer, *offsets, self.k, rows, count, *later]
        k.builder.insert(
            gemm_tile_op(tile, self.shape.element, args, self.shape.parts, self.shape.signed_left)
        )

    def _row_sums(
        self,
        source: Source,
        bases: list[Scalar],
        columns: tuple[Scalar, Scalar],
        rows: tuple[Scalar, Scalar],
    ) -> None:
        """One row of the panel at a time: scratch[j] += a[k] * b[k, j]."""
        column, count = columns
        k, s = self.kernel, self.kernel.scalars
        zero = s.const(0, self.sum_type)
        by_column = k.index(1) if source.column_stride is None else source.column_stride
        with k.loop(rows[1], start=rows[0]) as row:
            at = [k.add(base, k.mul(row, line[-1])) for base, line in zip(bases, self.lines, strict=True)]
            with k.loop(count, parallel=True) as j:
                k.store(zero, self.scratch, j)
            with k.loop(self.k) as step:
                factor = s.widen(k.load(self.lhs, k.add(at[0], k.mul(step, self.a_k))))
                start = k.add(source.offset, k.mul(step, source.row_stride))
                with k.loop(count, parallel=True) as j:
                    other = s.widen(k.load(source.buffer, k.add(start, k.mul(j, by_column))))
                    k.store(s.add(k.load(self.scratch, j), s.mul(factor, other)), self.scratch, j)
            self._epilogue(at, column, k.index(1), count)

    def _epilogue(self, at: list[Scalar], column: Scalar, rows: Scalar, count: Scalar) -> None:
        """Scratch to result through the epilogue; a full tile with known strides has literal bounds."""
        k, s = self.kernel, self.kernel.scalars
        known_strides = self.shape.column_strides
        full = s.cmp("eq", count, k.index(self.shape.columns))
        for stride, known in zip(self.by_column, known_strides, strict=True):
            if known is None:
                full = s.and_(full, s.cmp("eq", stride, k.index(1)))
        with k.branch(full) as (fast, general):
            with k.inside(fast):
                literal = [k.index(1 if known is None else known) for known in known_strides]
                self._apply(at, column, rows, k.index(self.shape.columns), literal)
            with k.inside(general):
                strides = [
                    stride if known is None else k.index(known)
                    for stride, known in zip(self.by_column, known_strides, strict=True)
                ]
                self._apply(at, column, rows, count, strides)

    def _apply(
        self, at: list[Scalar], column: Scalar, rows: Scalar, count: Scalar, strides: Sequence[Scalar]
    ) -> None:
        k = self.kernel
        with k.loop(rows) as i:
            scratch_at = k.mul(i, k.index(self.shape.columns))
            c_at, *others_at = (
                k.add(start, k.mul(i, line[-1])) for start, line in zip(at[2:], self.lines[2:], strict=True)
            )
            fixed = k.load_fixed(self.others, others_at, self.shape.column_strides)
            with k.loop(count, parallel=True) as j:
                value = k.load(self.scratch, k.add(scratch_at, j))
                x = k.add(column, j)
                operands = [
                    k.load(buffer, k.add(start, k.mul(x, stride))) if held is None else held
                    for buffer, start, stride, held in zip(
                        self.others, others_at, strides, fixed, strict=True
                    )
                ]
                k.store(self._finish(value, operands), self.result, k.add(c_at, x))

    def _finish(self, value: Scalar, operands: Sequence[Scalar]) -> Scalar:
        s = self.kernel.scalars
        if self.shape.epilogue is not None:
            return self.shape.epilogue(s, value, operands)
        return s.float_to(value, self.shape.result) if is_float(value.type) else value

    def _ceil(self, value: Scalar, step: Scalar) -> Scalar:
        return self.kernel.scalars.emit(binary(arith.CeilDivSIOp, value, step))


def gemm_tile_op(
    tile: GemmTile, element: Attribute, args: Sequence[SSAValue], parts: int = 1, signed_left: bool = False
) -> loom.MicrokernelOp:
    """The `gemm_tile` op with its scalar reference.

    Elements of 2 parts are words of two 16-bit integers, those of 4 are words of four bytes, unsigned in A,
    signed in B or, with `signed_left`, the other way round; parts are multiplied one by one and added in 32
    bits.

    `args`: buffers A, B, C; A: offset, row stride, K stride; B: offset, row stride; C: offset, row
    stride; K, rows, columns. Two more say what is read after this tile: offset in B, stride per step.
    """
    reference = KernelBody("reference", [element, element], [element], len(args) - 3)
    a, b = reference.ins
    (c,) = reference.outs
    a_at, a_row, a_k, b_at, b_row, c_at, c_row, depth, rows, columns = reference.sizes[:10]
    k, s = reference, reference.scalars
    with k.loop(rows) as i, k.loop(columns) as j:
        line = k.add(a_at, k.mul(i, a_row))
        column = k.add(b_at, j)

        def step(t: Scalar, sums: Sequence[Scalar]) -> Sequence[Scalar]:
            left = k.load(a, k.add(line, k.mul(t, a_k)))
            right = k.load(b, k.add(column, k.mul(t, b_row)))
            words = (right, left) if signed_left else (left, right)
            product = s.mul(left, right) if parts == 1 else word_product(s, words, parts)
            return [s.add(sums[0], product)]

        (total,) = k.reduce(depth, [s.const(0.0, element)], step)
        k.store(total, c, k.add(k.add(c_at, k.mul(i, c_row)), j))
    region = reference.end().detach_region(0)
    params = {
        "rows": tile.rows,
        "vectors": tile.vectors,
        "lanes": tile.lanes,
        "parts": parts,
        "signed_left": int(signed_left),
    }
    return loom.MicrokernelOp.create(
        operands=args,
        properties={
            "kind": StringAttr("gemm_tile"),
            "params": DictionaryAttr({name: IntegerAttr(value, i64) for name, value in params.items()}),
        },
        regions=[region],
    )


def word_product(s: Scalars, words: tuple[Scalar, Scalar], parts: int) -> Scalar:
    """The products of the parts of two words, added; bytes of the first are unsigned."""
    bits = 32 // parts
    down = s.const(32 - bits, i32)
    total = s.const(0, i32)
    for part in range(parts):
        up = s.const(32 - bits * (part + 1), i32)
        a, b = (s.emit(arith.ShLIOp(word, up)) for word in words)
        a = s.emit(arith.ShRUIOp(a, down) if parts == 4 else arith.ShRSIOp(a, down))
        total = s.add(total, s.mul(a, s.emit(arith.ShRSIOp(b, down))))
    return total
