"""How is a convolution lowered? As a matrix product of the weights with the taps of a padded image.

The taps of a panel of neighbouring outputs are gathered into a column panel, in whole vectors, and
multiplied by all rows of the weights while they are in cache. A convolution of one tap, stride 1 and no
border (pointwise) is a product over the image as it is.
"""

from __future__ import annotations

import itertools
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
from onnxloom.conversion.onnx_to_loom.convolutions.padded_image import SLACK, build_padded_image, window_sizes
from onnxloom.conversion.onnx_to_loom.decline import Declined
from onnxloom.conversion.onnx_to_loom.kernel_body import KernelBody
from onnxloom.conversion.onnx_to_loom.products.gemm import Product, build_gemm
from onnxloom.conversion.onnx_to_loom.products.product_loops import (
    Epilogue,
    ProductLoops,
    Shape,
    Source,
    fitted,
    tile_of,
)
from onnxloom.conversion.onnx_to_loom.products.widening import widened
from onnxloom.dialects import loom
from onnxloom.dialects.loom.conv_space import Window
from onnxloom.dialects.onnx.semantics.scalars import Scalar, compute_type

MAX_UNROLLED = 16
"""Windows of more taps are gathered by loops over the taps."""

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

    parts: int = 1
    """Integers per element of input and weights, along the channels: 2 in `pair_words`, 4 in `quad_words`,
    where the weights are signed and the input is not."""
    border: int = 0
    """What lies beyond the edges of the input."""

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
    image = build_padded_image(builder, conv.source, window, sizes, conv.border)
    result_type = ranked(conv.result_type, "the result")
    element = compute_type(buffer_element(conv.source.type))
    weights = widened(builder, conv.weights)
    target = builder.kernels.target
    spatial = result_type.get_shape()[2:]
    points = DYNAMIC_INDEX if DYNAMIC_INDEX in spatial else math.prod(spatial)
    tile = fitted(tile_of(target, element, conv.parts), points)
    shape = Shape(
        element,
        buffer_element(result_type),
        2,
        tile,
        column_strides,
        conv.epilogue,
        conv.parts,
        conv.parts == 4,
    )
    space = builder.insert(
        loom.ConvSpaceOp(conv.source, conv.weights, conv.others, window, conv.group)
    ).results
    depth = space[4]
    panel_size = builder.insert(
        arith.AddiOp(builder.multiply([depth, builder.index(_row_width(shape))]), builder.index(SLACK))
    ).results[0]
    batch, channels = builder.dim(conv.source, 0), builder.dim(conv.weights, 0)
    outs = [
        builder.empty(result_type, [batch, channels, *sizes.outputs]),
        builder.private(ranked(image.type, "operand").element_type, panel_size),
    ]
    ins = [weights, image, *conv.others]
    kernel = KernelBody(
        name, [buffer_element(v.type) for v in ins], [shape.result, shape.element], len(space)
    )
    kernel.hold([b for b, v in zip(kernel.ins[2:], ins[2:], strict=True) if set(shape_of(v)) <= {1}])
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
    form = Product(
        matrix, flat, flat_type, others, conv.epilogue, parts=conv.parts, signed_left=conv.parts == 4
    )
    product = build_gemm(builder, name, form)
    return builder.view(product, [batch, rows, *spatial], result_type)


@dataclass(frozen=True)
class _Panel:
    """The result columns of one panel, and sizes of image and result."""

    start: Scalar
    """Where the panel is in its buffer."""
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

    prepared = False

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
        first_row = _floor(k, column, width)
        last_row = _floor(k, k.add(column, k.sub(count, k.index(1))), width)
        line = k.index(_row_width(loops.shape))
        start = k.private(k.add(k.mul(loops.k, line), k.index(SLACK)))
        panel = _Panel(start, first_row, last_row, column, count, width, leading, strides, next(extra))
        self._pieces(loops, panel, base, plane)
        return [Source(k.outs[1], start, line)]

    def _pieces(self, loops: ProductLoops, panel: _Panel, base: Scalar, plane: Scalar) -> None:
        """Copies the panel piece by piece, one per result row, in whole vectors.

        A piece may write past its end: the next one, or the slack of the panel's rows, is there.
        """
        k, s = loops.kernel, loops.kernel.scalars
        lanes = k.index(_lanes(loops.shape))
        taps = math.prod(self.window.kernel)
        with k.loop(k.add(panel.last_row, k.index(1)), start=panel.first_row) as row:
            row_at = k.mul(row, panel.width)
            start = s.maximum(k.sub(panel.column, row_at), k.index(0))
            stop = s.minimum(k.sub(k.add(panel.column, panel.count), row_at), panel.width)
            source = k.add(k.add(base, self._row_offset(k, row, panel)), start)
            target = k.add(panel.start, k.sub(k.add(row_at, start), panel.column))
            with k.loop(s.emit(arith.CeilDivSIOp(k.sub(stop, start), lanes))) as v:
                at = k.mul(v, lanes)
                with k.loop(_floor(k, loops.k, k.index(taps))) as channel:
                    channel_at = k.add(k.add(source, at), k.mul(channel, plane))
                    first = k.mul(channel, k.index(taps * _row_width(loops.shape)))
                    self._taps(loops, panel, channel_at, k.add(k.add(target, at), first))

    def _taps(self, loops: ProductLoops, panel: _Panel, source: Scalar, target: Scalar) -> None:
        """One vector of every tap of a channel; unrolled up to MAX_UNROLLED taps."""
        k, dims = loops.kernel, self.window.kernel
        if math.prod(dims) <= MAX_UNROLLED:
            for position, tap in enumerate(itertools.product(*map(range, dims))):
                at = k.add(target, k.index(position * _row_width(loops.shape)))
                self._vector(loops, k.add(source, self._tap_offset(k, [k.index(i) for i in tap], panel)), at)
            return
        self._loop_taps(loops, panel, source, target, [])

    def _loop_taps(
        self, loops: ProductLoops, panel: _Panel, source: Scalar, target: Scalar, tap: list[Scalar]
    ) -> None:
        k, dims = loops.kernel, self.window.kernel
        if len(tap) < len(dims):
            with k.loop(k.index(dims[len(tap)])) as i:
                self._loop_taps(loops, panel, source, target, [*tap, i])
            return
        position = k.index(0)
        for i, size in zip(tap, dims, strict=True):
            position = k.add(k.mul(position, k.index(size)), i)
        at = k.add(target, k.mul(position, k.index(_row_width(loops.shape))))
        self._vector(loops, k.add(source, self._tap_offset(k, tap, panel)), at)

    def _vector(self, loops: ProductLoops, source: Scalar, target: Scalar) -> None:
        k = loops.kernel
        with k.loop(k.index(_lanes(loops.shape)), parallel=True) as lane:
            k.store(k.load(loops.rhs, k.add(source, lane)), k.outs[1], k.add(target, lane))

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

    def _row_offset(self, k: KernelBody, row: Scalar, panel: _Panel) -> Scalar:
        """Offset in the image of the first window of a result row."""
        offset = k.index(0)
        for i in reversed(range(len(panel.leading))):
            index = row if i == 0 else k.scalars.emit(arith.RemSIOp(row, panel.leading[i]))
            step = k.mul(k.index(self.window.strides[i]), panel.strides[i])
            offset = k.add(offset, k.mul(index, step))
            row = row if i == 0 else _floor(k, row, panel.leading[i])
        return offset


def _lanes(shape: Shape) -> int:
    """Elements copied at once."""
    return GENERIC_LANES if shape.tile is None else shape.tile.lanes


def _row_width(shape: Shape) -> int:
    """Elements from one row of a panel to the next: its columns, and slack for whole vectors."""
    return shape.columns + _lanes(shape)


def _floor(k: KernelBody, value: Scalar, step: Scalar) -> Scalar:
    return k.scalars.emit(arith.DivSIOp(value, step))
