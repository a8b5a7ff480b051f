"""How is a tensor transposed so that memory is read and written along its rows?

Two dims matter: the one that is contiguous in the source and the one that is contiguous in the result.
Tiles of both go through scratch memory: read along the source's rows, written along the result's. The
scratch rows have an odd length, so that a column of it does not fall into one cache set.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects import arith
from xdsl.dialects.builtin import DYNAMIC_INDEX, TensorType
from xdsl.ir import Attribute, SSAValue

from onnxloom.conversion.onnx_to_loom.builder import KernelBuilder, ranked, shape_of
from onnxloom.conversion.onnx_to_loom.kernel_body import KernelBody
from onnxloom.conversion.onnx_to_loom.moving.copying import gather_copy, word_type
from onnxloom.conversion.onnx_to_loom.moving.interleaving import MAX_ROWS, interleave_kernel
from onnxloom.conversion.onnx_to_loom.moving.transpose_tiles import Matrix, tile_lanes, write_transposed
from onnxloom.dialects.onnx.semantics.scalars import Scalar

TILE = 32
"""Rows and columns of a tile; 32 x 32 f32 are 4 KiB."""

STRIP_ROWS, STRIP_COLUMNS = 128, 1024
"""Rows and columns of the result that are a task at most."""


def transposed(builder: KernelBuilder, data: SSAValue, perm: Sequence[int]) -> SSAValue:
    """A copy with permuted dims; a view where only dims of 1 move."""
    dims, shape = builder.dims(data), shape_of(data)
    out_dims = [dims[p] for p in perm]
    moved = [p for p in perm if shape[p] != 1]
    if moved == sorted(moved):
        return builder.view(data, out_dims)
    type_ = TensorType(ranked(data.type, "the operand").element_type, [shape[p] for p in perm])
    groups = _neighbours(moved)
    sizes = [builder.multiply([dims[p] for p in group]) for group in groups]
    strides = _strides(builder, groups, sizes)
    lengths = [_length([shape[p] for p in group]) for group in groups]
    contiguous = max(range(len(groups)), key=lambda g: groups[g][-1])
    return strided_copy(builder, data, type_, out_dims, Places(sizes, strides, lengths, contiguous))


@dataclass(frozen=True)
class Places:
    """Where the elements of a result lie in its source: one entry per loop, the outermost first."""

    sizes: Sequence[SSAValue]
    strides: Sequence[SSAValue]
    lengths: Sequence[int | None]
    """The sizes as far as they are known at compile time."""
    contiguous: int | None
    """The loop along which elements are next to each other in the source."""


def strided_copy(
    builder: KernelBuilder,
    source: SSAValue,
    type_: TensorType[Attribute],
    dims: Sequence[SSAValue],
    places: Places,
    offset: SSAValue | None = None,
) -> SSAValue:
    """A row-major tensor of what lies at these places, the first of them at `offset`."""
    sizes, strides = places.sizes, places.strides
    if places.contiguous is None or places.contiguous == len(sizes) - 1:
        return gather_copy(builder, source, type_, dims, sizes, strides, offset)
    # No view that begins at the offset: strides may be negative, and lead to what lies before it.
    begins = offset is not None
    k = _interleaved(builder, source, places, begins)
    if k is not None:
        sizes, strides = sizes[:-1], [*strides[:-2], strides[-1]]
    else:
        k = _tiled_kernel(builder, source, len(sizes), places.contiguous, begins)
    extra = [] if offset is None else [offset]
    return builder.launch(k, [source], [builder.empty(type_, dims)], [*sizes, *strides, *extra])[0]


def _length(shape: Sequence[int]) -> int | None:
    return None if DYNAMIC_INDEX in shape else math.prod(shape)


def _neighbours(moved: Sequence[int]) -> list[list[int]]:
    """Runs of source dims that stay neighbours, in the result's order; dims of 1 are left out."""
    follows = dict(zip(sorted(moved), sorted(moved)[1:], strict=False))
    groups: list[list[int]] = []
    for p in moved:
        if groups and follows.get(groups[-1][-1]) == p:
            groups[-1].append(p)
        else:
            groups.append([p])
    return groups


def _strides(
    builder: KernelBuilder, groups: Sequence[Sequence[int]], sizes: Sequence[SSAValue]
) -> list[SSAValue]:
    """The distance in the source between neighbours along each group."""
    strides: dict[int, SSAValue] = {}
    inner: list[SSAValue] = []
    for g in sorted(range(len(groups)), key=lambda g: -groups[g][0]):
        strides[g] = builder.multiply(inner)
        inner.append(sizes[g])
    return [strides[g] for g in range(len(groups))]


def _interleaved(builder: KernelBuilder, data: SSAValue, places: Places, begins: bool) -> KernelBody | None:
    """The kernel for a few long rows whose elements come to lie next to each other; None for all else."""
    word = word_type(data.type)
    lanes, rows = tile_lanes(builder.kernels.target, word), places.lengths[-1]
    if lanes is None or rows is None or places.contiguous != len(places.sizes) - 2:
        return None
    if not 2 <= rows <= min(MAX_ROWS, lanes):
        return None
    return interleave_kernel(word, len(places.sizes) - 2, rows, lanes, begins=begins)


def _tiled_kernel(
    builder: KernelBuilder, data: SSAValue, rank: int, contiguous: int, begins: bool
) -> KernelBody:
    word = word_type(data.type)
    lanes = tile_lanes(builder.kernels.target, word)
    k = KernelBody("transpose", [word], [word], 2 * rank + begins)
    sizes, strides = k.sizes[:rank], k.sizes[rank : 2 * rank]
    begin = k.sizes[-1] if begins else k.index(0)
    target_strides = [k.index(1)] * rank
    for d in range(rank - 2, -1, -1):
        target_strides[d] = k.mul(target_strides[d + 1], sizes[d + 1])
    scratch = k.scratch(word, TILE * (TILE + 1))
    row = k.index(TILE + 1)

    def tiles(size: Scalar) -> Scalar:
        return k.scalars.emit(arith.DivUIOp(k.add(size, k.index(TILE - 1)), k.index(TILE)))

    def tile(source: Scalar, target: Scalar, rows: Scalar, cols: Scalar) -> None:
        if lanes is None:
            through_scratch(source, target, rows, cols)
            return
        small = k.scalars.cmp("lt", k.scalars.minimum(rows, cols), k.index(lanes))
        with k.branch(small) as (thin, wide):
            with k.inside(thin):
                through_scratch(source, target, rows, cols)
            with k.inside(wide):
                source_side = Matrix(k.ins[0], source, strides[-1])
                target_side = Matrix(k.outs[0], target, target_strides[contiguous])
                write_transposed(k, source_side, target_side, cols, rows, lanes)

    def through_scratch(source: Scalar, target: Scalar, rows: Scalar, cols: Scalar) -> None:
        with k.loop(tiles(rows)) as tr, k.loop(tiles(cols)) as tc:
            r0, c0 = k.mul(tr, k.index(TILE)), k.mul(tc, k.index(TILE))
            height = k.scalars.minimum(k.sub(rows, r0), k.index(TILE))
            width = k.scalars.minimum(k.sub(cols, c0), k.index(TILE))
            with k.loop(width) as c:
                read = k.add(k.add(source, r0), k.mul(k.add(c0, c), strides[-1]))
                with k.loop(height, parallel=True) as r:
                    k.store(k.load(k.ins[0], k.add(read, r)), scratch, k.at(c, row, r))
            with k.loop(height) as r:
                write = k.add(k.add(target, c0), k.mul(k.add(r0, r), target_strides[contiguous]))
                with k.loop(width, parallel=True) as c:
                    k.store(k.load(scratch, k.at(c, row, r)), k.outs[0], k.add(write, c))

    outer = [d for d in range(rank - 1) if d != contiguous]

    def nest(dims: Sequence[int], source: Scalar, target: Scalar, rows: Scalar, cols: Scalar) -> None:
        if not dims:
            tile(source, target, rows, cols)
            return
        d, *rest = dims
        with k.loop(sizes[d]) as i:
            nest(rest, *step(d, i, source, target), rows, cols)

    def step(d: int, i: Scalar, source: Scalar, target: Scalar) -> tuple[Scalar, Scalar]:
        return k.add(source, k.mul(i, strides[d])), k.add(target, k.mul(i, target_strides[d]))

    def strip(size: Scalar, number: Scalar, length: int) -> tuple[Scalar, Scalar]:
        first = k.mul(number, k.index(length))
        return first, k.scalars.minimum(k.index(length), k.sub(size, first))

    def strips(size: Scalar, length: int) -> Scalar:
        return k.scalars.emit(arith.CeilDivSIOp(size, k.index(length)))

    shared = outer[:1]
    counts = [strips(sizes[contiguous], STRIP_ROWS), strips(sizes[-1], STRIP_COLUMNS)]
    with k.task_nest(*(sizes[d] for d in shared), *counts) as (*position, tr, tc):
        r0, rows = strip(sizes[contiguous], tr, STRIP_ROWS)
        c0, cols = strip(sizes[-1], tc, STRIP_COLUMNS)
        source, target = step(contiguous, r0, *step(rank - 1, c0, begin, k.index(0)))
        for d, i in zip(shared, position, strict=True):
            source, target = step(d, i, source, target)
        nest(outer[1:], source, target, rows, cols)
    return k
