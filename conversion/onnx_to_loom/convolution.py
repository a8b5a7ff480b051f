"""How is a convolution lowered? As a matrix product of the weights with the taps of a padded image.

The taps of a panel of neighbouring outputs are gathered into a column panel, in whole vectors, and
multiplied by all rows of the weights while they are in cache. A convolution of one tap, stride 1 and no
border (pointwise) is a product over the image as it is.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from xdsl.dialects import arith
from xdsl.dialects.builtin import DYNAMIC_INDEX, TensorType
from xdsl.ir import Attribute, SSAValue

from onnxloom.conversion.onnx_to_loom.builder import (
    KernelBuilder,
    buffer_element,
    rank_of,
    ranked,
    shape_of,
)
from onnxloom.conversion.onnx_to_loom.decline import Declined
from onnxloom.conversion.onnx_to_loom.gemm import Product, build_gemm
from onnxloom.conversion.onnx_to_loom.kernel_body import KernelBody
from onnxloom.conversion.onnx_to_loom.padded_image import SLACK, build_padded_image, window_sizes
from onnxloom.conversion.onnx_to_loom.product_loops import Epilogue, ProductLoops, Shape, Source, tile_of
from onnxloom.dialects import loom
from onnxloom.dialects.loom.conv_space import Window
from onnxloom.dialects.onnx.semantics.scalars import Scalar

GENERIC_LANES = 8
"""Elements copied at once for types without a register tile."""


@dataclass(frozen=True)
class Convolution:
    """A convolution with what is fused to it; program-level tensors."""

    source: SSAValue
    weights: SSAValue
    window: Window
    group: int
    result_type: Attribute
    others: Sequence[SSAValue] = ()
    """Epilogue operands, which broadcast to the result as numpy has it."""
    epilogue: Epilogue | None = None

    def with_epilogue(self, others: Sequence[SSAValue], epilogue: Epilogue | None) -> Convolution:
        """The same convolution, followed by `epilogue`."""
        return replace(self, others=others, epilogue=epilogue)


def build_tap_product(
    builder: KernelBuilder, name: str, conv: Convolution, column_strides: Sequence[int | None]
) -> SSAValue:
    """Any convolution; see `column_strides`. Writes the kernels and their launches; gives the result.

    Raises:
        Declined: an element type has no kernel.
    """
    window = conv.window
    sizes = window_sizes(builder, conv.source, window)
    image = build_padded_image(builder, conv.source, window, sizes, 0.0)
    result_type = ranked(conv.result_type, "the result")
    element = buffer_element(conv.source.type)
    tile = tile_of(builder.kernels.target, element)
    shape = Shape(element, buffer_element(result_type), 2, tile, column_strides, conv.epilogue)
    space = builder.insert(
        loom.ConvSpaceOp(conv.source, conv.weights, conv.others, window, conv.group)
    ).results
    depth = space[4]
    panel_type = TensorType(ranked(conv.source.type, "operand").element_type, [DYNAMIC_INDEX])
    panel_size = builder.insert(
        arith.AddiOp(builder.multiply([depth, builder.index(shape.columns)]), builder.index(SLACK))
    ).results[0]
    batch, channels = builder.dim(conv.source, 0), builder.dim(conv.weights, 0)
    outs = [
        builder.empty(result_type, [batch, channels, *sizes.outputs]),
        builder.empty(panel_type, [panel_size]),
    ]
    ins = [conv.weights, image, *conv.others]
    kernel = KernelBody(
        name, [buffer_element(v.type) for v in ins], [shape.result, shape.element], len(space)
    )
    ProductLoops(kernel, shape, _Taps(window)).write()
    return builder.launch(kernel, ins, outs, list(space))[0]


def column_strides(conv: Convolution) -> list[int | None]:
    """Per epilogue operand its stride along the flattened spatial dims, None where that depends on sizes.

    Raises:
        Declined: an operand has no such stride.
    """
    return [_column_stride(conv, other) for other in conv.others]


def _column_stride(conv: Convolution, other: SSAValue) -> int | None:
    spatial = ([1] * conv.window.rank + list(shape_of(other)))[-conv.window.rank :]
    if all(d == 1 for d in spatial):
        return 0
    result = ranked(conv.result_type, "the result").get_shape()[2:]
    if any(d == 1 and r != 1 for d, r in zip(spatial, result, strict=True)):
        raise Declined("an operand broadcasts along some spatial dims only")
    return 1 if DYNAMIC_INDEX not in spatial and list(spatial) == list(result) else None


def is_pointwise(conv: Convolution) -> bool:
    """Whether it is a product over the image as it is: one tap, stride 1, no border."""
    window = conv.window
    taps = math.prod(window.kernel)
    return (
        conv.group == 1
        and taps == 1
        and set(window.strides) == {1}
        and not any(window.pads)
        and all(_is_viewable(conv, other) for other in conv.others)
    )


def _is_viewable(conv: Convolution, other: SSAValue) -> bool:
    """Whether an operand can be read as `[batch, channels, points]`: its dims are known to be 1 or full."""
    result = ranked(conv.result_type, "the result").get_shape()
    dims = [1] * (len(result) - rank_of(other)) + list(shape_of(other))
    return all(d == 1 for d in dims[2:]) or (DYNAMIC_INDEX not in dims[2:] and dims[2:] == list(result[2:]))


def build_pointwise(builder: KernelBuilder, name: str, conv: Convolution) -> SSAValue:
    """One tap: `weights [rows, channels] @ image [batch, channels, points]`."""
    source, weights = conv.source, conv.weights
    batch, channels, *spatial = builder.dims(source)
    rows = builder.dim(weights, 0)
    points = builder.multiply(spatial)
    flat = builder.view(source, [batch, channels, points])
    matrix = builder.view(weights, [rows, channels])
    others: list[SSAValue] = []
    for other in conv.others:
        dims = builder.dims(other)
        ones = [builder.index(1)] * (2 + len(spatial) - len(dims))
        n, c, *inner = [*ones, *dims]
        others.append(builder.view(other, [n, c, builder.multiply(inner)]))
    result_type = ranked(conv.result_type, "the result")
    shape = result_type.get_shape()
    inner = shape[2:]
    count = DYNAMIC_INDEX if DYNAMIC_INDEX in inner else math.prod(inner)
    flat_type = TensorType(result_type.element_type, [shape[0], shape[1], count])
    product = build_gemm(builder, name, Product(matrix, flat, flat_type, others, conv.epilogue))
    return builder.view(product, [batch, rows, *spatial], result_type)


@dataclass(frozen=True)
class _Panel:
    """The result columns of one panel, and sizes of image and result."""

    first_row: Scalar
    last_row: Scalar
    column: Scalar
    count: Scalar
    width: Scalar
    """Columns of a result row."""
    leading: Sequence[Scalar]
    """Leading spatial dims of the result."""
    strides: Sequence[Scalar]
    """Element strides of the image's leading dims."""
    columns: Scalar
    """Columns per phase of the image."""


class _Taps:
    """Column panels gathered from a padded image; taps go channel by channel, as the weights do."""

    def __init__(self, window: Window):
        self.window = window

    def panel(
        self, loops: ProductLoops, base: Scalar, index: Scalar, column: Scalar, count: Scalar
    ) -> Sequence[Source]:
        k, window = loops.kernel, self.window
        extra = iter(loops.extra)
        plane, width = next(extra), next(extra)
        leading = [next(extra) for _ in range(window.rank - 1)]
        strides = [next(extra) for _ in range(window.rank - 1)]
        last = k.add(column, k.sub(count, k.index(1)))
        panel = _Panel(
            _floor(k, column, width),
            _floor(k, last, width),
            column,
            count,
            width,
            leading,
            strides,
            next(extra),
        )
        row_width, taps = k.index(loops.shape.columns), k.index(math.prod(window.kernel))
        with k.loop(_floor(k, loops.k, taps)) as channel:
            source = k.add(base, k.mul(channel, plane))
            self._each_tap(loops, panel, source, k.mul(channel, taps), [])
        return [Source(k.outs[1], k.index(0), row_width)]

    def _each_tap(
        self, loops: ProductLoops, panel: _Panel, source: Scalar, first: Scalar, tap: list[Scalar]
    ) -> None:
        """Loops over the taps of a channel; `first` is the panel row of the channel's first tap."""
        k, dims = loops.kernel, self.window.kernel
        if len(tap) < len(dims):
            with k.loop(k.index(dims[len(tap)])) as i:
                self._each_tap(loops, panel, source, first, [*tap, i])
            return
        position = k.index(0)
        for i, size in zip(tap, dims, strict=True):
            position = k.add(k.mul(position, k.index(size)), i)
        target = k.mul(k.add(first, position), k.index(loops.shape.columns))
        self._gather(loops, panel, k.add(source, self._tap_offset(k, tap, panel)), target)

    def _tap_offset(self, k: KernelBody, tap: Sequence[Scalar], panel: _Panel) -> Scalar:
        """Offset of a tap from its window's first element."""
        window = self.window
        offset = k.index(0)
        for i, stride, dilation in zip(tap[:-1], panel.strides, window.dilations[:-1], strict=True):
            offset = k.add(offset, k.mul(k.mul(i, k.index(dilation)), stride))
        across = k.mul(tap[-1], k.index(window.dilations[-1]))
        if window.strides[-1] == 1:
            return k.add(offset, across)
        stride = k.index(window.strides[-1])
        phase = k.scalars.emit(arith.RemSIOp(across, stride))
        return k.add(offset, k.add(k.mul(phase, panel.columns), _floor(k, across, stride)))

    def _gather(self, loops: ProductLoops, panel: _Panel, source: Scalar, target: Scalar) -> None:
        """One tap of all columns of a panel: a piece per result row, in whole vectors.

        A piece may write past its end: what follows is written later.
        """
        k, s = loops.kernel, loops.kernel.scalars
        lanes = k.index(GENERIC_LANES if loops.shape.tile is None else loops.shape.tile.lanes)
        with k.loop(k.add(panel.last_row, k.index(1)), start=panel.first_row) as row:
            row_at = k.mul(row, panel.width)
            start = s.maximum(k.sub(panel.column, row_at), k.index(0))
            stop = s.minimum(k.sub(k.add(panel.column, panel.count), row_at), panel.width)
            source_at = k.add(k.add(source, self._row_offset(k, row, panel)), start)
            target_at = k.add(target, k.sub(k.add(row_at, start), panel.column))
            vectors = s.emit(arith.CeilDivSIOp(k.sub(stop, start), lanes))
            with k.loop(vectors) as v:
                at = k.mul(v, lanes)
                with k.loop(lanes, parallel=True) as lane:
                    j = k.add(at, lane)
                    k.store(k.load(loops.rhs, k.add(source_at, j)), k.outs[1], k.add(target_at, j))

    def _row_offset(self, k: KernelBody, row: Scalar, panel: _Panel) -> Scalar:
        """Offset in the image of the first window of a result row."""
        offset = k.index(0)
        for i in reversed(range(len(panel.leading))):
            index = row if i == 0 else k.scalars.emit(arith.RemSIOp(row, panel.leading[i]))
            step = k.mul(k.index(self.window.strides[i]), panel.strides[i])
            offset = k.add(offset, k.mul(index, step))
            row = row if i == 0 else _floor(k, row, panel.leading[i])
        return offset


def _floor(k: KernelBody, value: Scalar, step: Scalar) -> Scalar:
    return k.scalars.emit(arith.DivSIOp(value, step))
