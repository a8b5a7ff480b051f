"""How is a 3x3 convolution of stride 1 computed with a quarter of the multiplications? Winograd F(4x4, 3x3).

Two kernels: one brings the patches under all tiles to the 36 points, the other multiplies the points by those
of the weights, for a block of tiles and a panel of channels at a time, and brings the products back to
results, on which the epilogue runs. Tensors are channels-last; the transforms are vectorised along channels.

Sums round a few times more than those of the direct form, and an infinity or NaN of the input is in all
results of the tiles that read it: `KernelSet.winograd` says whether this may be chosen.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from xdsl.dialects import arith
from xdsl.dialects.builtin import DYNAMIC_INDEX, Float32Type, IntegerAttr, TensorType, f32, i64
from xdsl.dialects.math import FmaOp
from xdsl.ir import SSAValue

from onnxloom.conversion.onnx_to_loom.builder import (
    KernelBuilder,
    buffer_element,
    ranked,
    shape_of,
)
from onnxloom.conversion.onnx_to_loom.channels_last.operand_strides import channel_stride
from onnxloom.conversion.onnx_to_loom.convolutions.convolution import Convolution
from onnxloom.conversion.onnx_to_loom.kernel_body import KernelBody
from onnxloom.conversion.onnx_to_loom.launch_once import launch_once_written
from onnxloom.conversion.onnx_to_loom.plan_known import is_plan_known
from onnxloom.conversion.onnx_to_loom.products.product_loops import fitted, gemm_tile_op, tile_of
from onnxloom.dialects import loom
from onnxloom.dialects.loom.target import GemmTile
from onnxloom.dialects.loom.winograd_filter import FAR, NEAR, PATCH, TILE
from onnxloom.dialects.onnx.semantics.scalars import Scalar, Scalars

POINTS = PATCH * PATCH

BLOCK = 32
"""Tiles whose products are made at a time: each weight that comes into the cache meets all of them."""

CHUNK = 64
"""Channels of a patch at the border that are copied at a time."""

LEAST_CHANNELS = 16
"""With fewer channels on either side the transforms cost more than the multiplications saved."""

LEAST_TILES = 12
"""With fewer tiles the weights, 4 times as large at the points, are read more often than they pay."""


def prefers_winograd(builder: KernelBuilder, conv: Convolution) -> bool:
    """Whether a convolution can be computed this way and is faster so.

    The weights are constant, the window is 3x3 of stride 1, and the result, as far as its dims are known, is
    large enough.
    """
    window = conv.window
    if window.kernel != (3, 3) or {*window.strides, *window.dilations} != {1} or conv.group != 1:
        return False
    types = {buffer_element(t) for t in (conv.source.type, conv.weights.type, conv.result_type)}
    if not all(isinstance(t, Float32Type) for t in types):
        return False
    if not is_plan_known(conv.weights) or not builder.kernels.winograd:
        return False
    rows, channels = shape_of(conv.weights)[:2]
    if min(rows, channels) < LEAST_CHANNELS:
        return False
    images, *places = ranked(conv.result_type, "the result").get_shape()[:3]
    if DYNAMIC_INDEX in places:
        return True
    # A number of images that is not known is 1 more often than not.
    return max(images, 1) * math.prod(-(-d // TILE) for d in places) >= LEAST_TILES


def build_winograd(builder: KernelBuilder, name: str, conv: Convolution) -> SSAValue:
    """Writes the kernels and their launches for a convolution of which `prefers_winograd` holds."""
    tile = fitted(tile_of(builder.kernels.target, f32), shape_of(conv.weights)[0])
    assert tile is not None
    space = builder.insert(loom.WinogradSpaceOp(conv.source, conv.weights, conv.others, conv.window)).results
    channels, tiles = space[3], space[11]
    slack = builder.index(tile.lanes)
    step = builder.insert(arith.AddiOp(builder.multiply([tiles, channels]), slack)).results[0]
    vector = TensorType(f32, [DYNAMIC_INDEX])
    points = builder.empty(vector, [builder.multiply([step, builder.index(POINTS)])])
    sizes = [*space[:4], *space[7:11], step]

    def write_points() -> KernelBody:
        kernel = builder.kernel("winograd_points", [conv.source], [vector], len(sizes))
        _Points(kernel).write()
        return kernel

    (points,) = launch_once_written(builder, "winograd_points", write_points, [conv.source], [points], sizes)
    weights = _packed(builder, conv.weights, tile)
    ins = [points, weights, *conv.others]
    outs = [
        builder.empty(conv.result_type, [space[0], *space[4:7]]),
        builder.private(f32, builder.index(POINTS * _point_step(tile))),
    ]
    result_space = [*space[3:7], *space[9:], step]
    kernel = builder.kernel(name, ins, [conv.result_type, vector], len(result_space))
    _Results(kernel, tile, conv).write()
    return builder.launch(kernel, ins, outs, result_space)[0]


def _packed(builder: KernelBuilder, weights: SSAValue, tile: GemmTile) -> SSAValue:
    rows, channels = shape_of(weights)[:2]
    type_ = TensorType(f32, [-(-rows // tile.columns), POINTS, channels, tile.columns])
    params = {"columns": IntegerAttr(tile.columns, i64)}
    return builder.insert(loom.PackOp(weights, "winograd_panels", dict(params), type_)).results[0]


def _point_step(tile: GemmTile) -> int:
    """Elements from one point's products of a block to the next: a vector more than they take.

    Points a power of two apart would share few sets of the cache.
    """
    return BLOCK * tile.columns + tile.lanes


class _Arithmetic:
    """Sums of products with constants."""

    def __init__(self, scalars: Scalars):
        self.s = scalars

    def fma(self, factor: float, x: Scalar, y: Scalar) -> Scalar:
        """factor * x + y."""
        return self.s.emit(FmaOp(x, self.s.const(factor, f32), y))

    def to_points(self, d: Sequence[Scalar]) -> list[Scalar]:
        """BT d, for a row or column of 6."""
        even = [self.fma(-(p * p), d[2], d[4]) for p in (FAR, NEAR)]
        odd = [self.fma(-(p * p), d[1], d[3]) for p in (FAR, NEAR)]
        squares = [(NEAR * FAR) ** 2, -(NEAR**2 + FAR**2)]
        ends = [self.fma(squares[0], d[i], self.fma(squares[1], d[i + 2], d[i + 4])) for i in (0, 1)]
        middle: list[Scalar] = []
        for point, e, o in zip((NEAR, FAR), even, odd, strict=True):
            middle += [self.fma(point, o, e), self.fma(-point, o, e)]
        return [ends[0], *middle, ends[1]]

    def to_results(self, m: Sequence[Scalar]) -> list[Scalar]:
        """AT m, for a row or column of 6."""
        s = self.s
        sums = [s.add(m[1], m[2]), s.add(m[3], m[4])]
        differences = [s.sub(m[1], m[2]), s.sub(m[3], m[4])]
        first = s.add(s.add(m[0], sums[0]), sums[1])
        rest: list[Scalar] = []
        for power, pair in ((1, differences), (2, sums), (3, differences)):
            far = s.mul_const(pair[1], FAR**power)
            rest.append(self.fma(NEAR**power, pair[0], far if power < 3 else s.add(far, m[5])))
        return [first, *rest]


class _Points:
    """Writes the kernel that brings patches to the points: `[N, H, W, C]` -> `[36, tiles, C]`."""

    def __init__(self, kernel: KernelBody):
        self.kernel = kernel
        self.batch, self.height, self.width, self.channels, *rest = kernel.sizes
        self.top, self.left, self.down, self.across, self.step = rest
        self.image, self.points = kernel.ins[0], kernel.outs[0]
        self.patch = kernel.scratch(f32, POINTS * CHUNK)

    def write(self) -> None:
        k, s = self.kernel, self.kernel.scalars
        with k.tasks(k.mul(self.batch, self.down)) as line:
            image = s.emit(arith.DivSIOp(line, self.down))
            y = k.sub(k.mul(k.remainder(line, self.down), k.index(TILE)), self.top)
            with k.loop(self.across) as column:
                x = k.sub(k.mul(column, k.index(TILE)), self.left)
                target = k.mul(k.at(line, self.across, column), self.channels)
                inside = self._all(
                    [k.index(0), y, k.index(0), x],
                    [y, k.sub(self.height, k.index(PATCH)), x, k.sub(self.width, k.index(PATCH))],
                )
                row = k.at(image, self.height, y)
                with k.branch(inside) as (whole, border):
                    with k.inside(whole):
                        by_column = self.channels
                        by_row = k.mul(self.width, self.channels)
                        at = k.mul(k.at(row, self.width, x), self.channels)
                        self._transform(self.image, at, by_row, by_column, target, self.channels)
                    with k.inside(border):
                        self._border(row, y, x, target)

    def _all(self, small: Sequence[Scalar], large: Sequence[Scalar]) -> Scalar:
        """Whether each is at most its counterpart."""
        s = self.kernel.scalars
        both = [s.cmp("le", a, b) for a, b in zip(small, large, strict=True)]
        result = both[0]
        for condition in both[1:]:
            result = s.and_(result, condition)
        return result

    def _border(self, row: Scalar, y: Scalar, x: Scalar, target: Scalar) -> None:
        """A patch that reaches beyond the image: copied between zeros first."""
        k, s = self.kernel, self.kernel.scalars
        size = k.index(CHUNK)
        with k.loop(s.emit(arith.CeilDivSIOp(self.channels, size))) as chunk:
            first = k.mul(chunk, size)
            count = s.minimum(size, k.sub(self.channels, first))
            with k.loop(k.index(PATCH)) as i, k.loop(k.index(PATCH)) as j:
                line, column = k.add(y, i), k.add(x, j)
                zero, last_y = k.index(0), k.sub(self.height, k.index(1))
                last_x = k.sub(self.width, k.index(1))
                there = self._all([zero, line, zero, column], [line, last_y, column, last_x])
                at = k.add(k.mul(k.at(k.add(row, i), self.width, column), self.channels), first)
                to = k.mul(k.at(i, k.index(PATCH), j), size)
                with k.branch(there) as (copied, empty):
                    with k.inside(copied), k.loop(count, parallel=True) as c:
                        k.store(k.load(self.image, k.add(at, c)), self.patch, k.add(to, c))
                    with k.inside(empty), k.loop(count, parallel=True) as c:
                        k.store(s.const(0.0, f32), self.patch, k.add(to, c))
            by_row = k.index(PATCH * CHUNK)
            self._transform(self.patch, k.index(0), by_row, size, k.add(target, first), count)

    def _transform(
        self,
        source: SSAValue,
        at: Scalar,
        by_row: Scalar,
        by_column: Scalar,
        target: Scalar,
        count: Scalar,
    ) -> None:
        """The patch of `source` at `at`, `count` channels of it."""
        k, a = self.kernel, _Arithmetic(self.kernel.scalars)
        rows = [k.add(at, k.mul(k.index(i), by_row)) for i in range(PATCH)]
        places = [[k.add(row, k.mul(k.index(j), by_column)) for j in range(PATCH)] for row in rows]
        targets = [k.add(target, k.mul(k.index(p), self.step)) for p in range(POINTS)]
        with k.loop(count, parallel=True) as c:
            columns = [
                a.to_points([k.load(source, k.add(places[i][j], c)) for i in range(PATCH)])
                for j in range(PATCH)
            ]
            for i in range(PATCH):
                for j, value in enumerate(a.to_points([column[i] for column in columns])):
                    k.store(value, self.points, k.add(targets[PATCH * i + j], c))


class _Results:
    """Writes the kernel from the points of patches and weights to the results."""

    def __init__(self, kernel: KernelBody, tile: GemmTile, conv: Convolution):
        self.kernel, self.tile, self.epilogue = kernel, tile, conv.epilogue
        self.channels, self.height, self.width, self.rows, *rest = kernel.sizes
        self.down, self.across, self.tiles, *strides, self.step = rest
        self.points, self.weights, *self.others = kernel.ins
        self.result, self.products = kernel.outs
        self.strides = [strides[4 * i : 4 * i + 4] for i in range(len(self.others))]
        channels = shape_of(conv.weights)[0]
        self.channel_strides = [channel_stride(other, channels) for other in conv.others]
        self.sums = kernel.scratch(f32, TILE * TILE * tile.columns)
        self.start = kernel.private(kernel.index(POINTS * _point_step(tile)))
        """Where the products of this thread begin."""

    def write(self) -> None:
        k, s = self.kernel, self.kernel.scalars
        block, columns = k.index(BLOCK), k.index(self.tile.columns)
        panels = s.emit(arith.CeilDivSIOp(self.rows, columns))
        blocks = s.emit(arith.CeilDivSIOp(self.tiles, block))
        with k.tasks(k.mul(blocks, panels)) as task:
            first = k.mul(s.emit(arith.DivSIOp(task, panels)), block)
            count = s.minimum(block, k.sub(self.tiles, first))
            panel = k.remainder(task, panels)
            column = k.mul(panel, columns)
            width = s.minimum(columns, k.sub(self.rows, column))
            self._products(first, count, panel, width)
            with k.loop(count) as i:
                self._back(i, width)
                self._finish(k.add(first, i), column, width)

    def _products(self, first: Scalar, count: Scalar, panel: Scalar, width: Scalar) -> None:
        """products[point, tile, column] of a block and a panel."""
        k, s = self.kernel, self.kernel.scalars
        height, columns = k.index(self.tile.rows), k.index(self.tile.columns)
        plane = k.mul(self.channels, columns)
        with k.loop(k.index(POINTS)) as point:
            left = k.add(k.mul(point, self.step), k.mul(first, self.channels))
            right = k.mul(k.at(panel, k.index(POINTS), point), plane)
            target = k.add(self.start, k.mul(point, k.index(_point_step(self.tile))))
            with k.loop(s.emit(arith.CeilDivSIOp(count, height))) as i:
                row = k.mul(i, height)
                rows = s.minimum(height, k.sub(count, row))
                at = k.add(left, k.mul(row, self.channels))
                to = k.at(row, columns, target)
                offsets = [at, self.channels, k.index(1), right, columns, to, columns]
                args = [self.points, self.weights, self.products, *offsets, self.channels, rows, width]
                k.builder.insert(gemm_tile_op(self.tile, f32, args))

    def _back(self, tile: Scalar, width: Scalar) -> None:
        """The sums of one tile: `sums[y, x, column]`."""
        k, a = self.kernel, _Arithmetic(self.kernel.scalars)
        columns = k.index(self.tile.columns)
        start = k.add(self.start, k.mul(tile, columns))
        with k.loop(width, parallel=True) as c:
            at = k.add(start, c)
            points = [
                k.load(self.products, k.add(at, k.index(p * _point_step(self.tile)))) for p in range(POINTS)
            ]
            lines = [a.to_results(points[j::PATCH]) for j in range(PATCH)]
            for i in range(TILE):
                for j, value in enumerate(a.to_results([line[i] for line in lines])):
                    k.store(value, self.sums, k.add(k.index((TILE * i + j) * self.tile.columns), c))

    def _finish(self, tile: Scalar, column: Scalar, width: Scalar) -> None:
        """The sums of a tile through the epilogue into the result, as far as it reaches."""
        k, s = self.kernel, self.kernel.scalars
        line = s.emit(arith.DivSIOp(tile, self.across))
        image = s.emit(arith.DivSIOp(line, self.down))
        y = k.mul(k.remainder(line, self.down), k.index(TILE))
        x = k.mul(k.remainder(tile, self.across), k.index(TILE))
        down = s.minimum(k.index(TILE), k.sub(self.height, y))
        across = s.minimum(k.index(TILE), k.sub(self.width, x))
        with k.loop(down) as i, k.loop(across) as j:
            row, place = k.add(y, i), k.add(x, j)
            at = k.at(k.at(k.at(image, self.height, row), self.width, place), self.rows, column)
            source = k.mul(k.at(i, k.index(TILE), j), k.index(self.tile.columns))
            starts = [
                k.add(k.add(k.mul(image, n), k.mul(row, h)), k.add(k.mul(place, w), k.mul(column, c)))
                for n, h, w, c in self.strides
            ]
            steps = [
                strides[3] if known is None else k.index(known)
                for strides, known in zip(self.strides, self.channel_strides, strict=True)
            ]
            fixed = k.load_fixed(self.others, starts, self.channel_strides)
            with k.loop(width, parallel=True) as c:
                operands = [
                    k.load(buffer, k.add(start, k.mul(c, step))) if held is None else held
                    for buffer, start, step, held in zip(self.others, starts, steps, fixed, strict=True)
                ]
                value = k.load(self.sums, k.add(source, c))
                if self.epilogue is not None:
                    value = self.epilogue(s, value, operands)
                k.store(value, self.result, k.add(at, c))
