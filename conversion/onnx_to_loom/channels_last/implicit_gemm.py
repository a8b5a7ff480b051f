"""How is any convolution of channels-last tensors computed? As tiles of result points times output channels.

A task is a block of result points of one image and a range of panels of output channels. It first writes
down where the taps of each of its points lie; what lies outside of the image reads zeros, so that there
is no padded copy. Where there are few channels a tap is short: then one row of a window, all channels of
all its columns, is one tap of a padded image.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects import arith
from xdsl.dialects.builtin import i64
from xdsl.ir import Attribute, SSAValue

from onnxloom.conversion.onnx_to_loom.builder import KernelBuilder, buffer_element, ranked, shape_of
from onnxloom.conversion.onnx_to_loom.channels_last.conv_tile_op import (
    Operand,
    TileArgs,
    TileFinish,
    conv_tile_op,
)
from onnxloom.conversion.onnx_to_loom.channels_last.operand_strides import channel_stride
from onnxloom.conversion.onnx_to_loom.channels_last.weight_panels import packed_weights
from onnxloom.conversion.onnx_to_loom.convolutions.convolution import Convolution
from onnxloom.conversion.onnx_to_loom.convolutions.padded_image import build_padded_image, window_sizes
from onnxloom.conversion.onnx_to_loom.decline import Declined
from onnxloom.conversion.onnx_to_loom.kernel_body import KernelBody
from onnxloom.conversion.onnx_to_loom.products.product_loops import Epilogue, tile_of
from onnxloom.conversion.onnx_to_loom.products.widening import widened
from onnxloom.dialects import loom
from onnxloom.dialects.loom.channels_last_space import HEAD, MAX_POINTS, PER_DIM, TABLE, merged_window
from onnxloom.dialects.loom.target import GemmTile
from onnxloom.dialects.onnx.semantics.scalars import Scalar, Scalars, compute_type, is_float

SHORT = 12
"""Up to so many ops of an epilogue are computed on the accumulators: a tile's code holds them for each."""

FEW_CHANNELS = 8
"""Up to so many input channels a whole row of the window is one tap."""


def build_implicit_gemm(builder: KernelBuilder, name: str, conv: Convolution) -> SSAValue:
    """Writes the kernels and their launches; gives the result (`[N, *spatial, M]`).

    Raises:
        Declined: an element type has no kernel, or the window has too many taps.
    """
    result_type = ranked(conv.result_type, "the result")
    element = compute_type(buffer_element(conv.source.type))
    tile = tile_of(builder.kernels.target, element, conv.parts)
    if tile is None:
        raise Declined(f"a channels-last convolution of {element} has no kernel")
    merged = _is_merged(conv)
    taps = conv.window.kernel[:-1] if merged else conv.window.kernel
    if math.prod(taps) * tile.rows > TABLE:
        raise Declined(f"a channels-last convolution of {math.prod(taps)} taps has no kernel")
    source = widened(builder, conv.source)
    image = _merged_image(builder, source, conv) if merged else source
    space = builder.insert(
        loom.ChannelsLastSpaceOp(
            conv.source, conv.weights, conv.others, conv.window, conv.group, tile, merged=merged
        )
    ).results
    weights = packed_weights(builder, conv, tile, space, merged)
    places = [space[HEAD + PER_DIM * i + 1] for i in range(conv.window.rank)]
    outs = [builder.empty(result_type, [builder.dim(conv.source, 0), *places, builder.dim(conv.weights, 0)])]
    ins = [image, weights, *conv.others]
    channels = shape_of(conv.weights)[0]
    form = _Form(
        element,
        buffer_element(result_type),
        tile,
        conv.window.rank,
        [channel_stride(other, channels) for other in conv.others],
        [_point_stride(conv, other) for other in conv.others],
        conv.epilogue,
        conv.parts,
        merged or conv.border == 0,
        _fits_registers(conv, element),
    )
    kernel = KernelBody(name, [buffer_element(v.type) for v in ins], [form.result], len(space))
    kernel.hold([b for b, v in zip(kernel.ins[2:], ins[2:], strict=True) if set(shape_of(v)) <= {1}])
    _Loops(kernel, form).write()
    return builder.launch(kernel, ins, outs, list(space))[0]


def _is_merged(conv: Convolution) -> bool:
    """Whether a row of the window is one tap: few channels, known, and no gaps between columns."""
    window, channels = conv.window, shape_of(conv.source)[-1]
    if conv.group != 1 or window.dilations[-1] != 1 or window.auto_pad not in ("NOTSET", "VALID"):
        return False
    return window.kernel[-1] > 1 and 1 <= channels <= FEW_CHANNELS


def _merged_image(builder: KernelBuilder, source: SSAValue, conv: Convolution) -> SSAValue:
    """The input with its borders, as an image of one channel whose rows hold all channels of all columns."""
    batch, *spatial, channels = builder.dims(source)
    row = builder.multiply([spatial[-1], channels])
    flat = builder.view(source, [batch, builder.index(1), *spatial[:-1], row])
    window = merged_window(conv.window, shape_of(source)[-1])
    sizes = window_sizes(builder, flat, window)
    return build_padded_image(builder, flat, window, sizes, conv.border, split=False)


def _point_stride(conv: Convolution, other: SSAValue) -> int | None:
    """The stride of an operand along the points if it is 0, else None."""
    spatial = shape_of(other)[-1 - conv.window.rank : -1]
    return 0 if all(d == 1 for d in spatial) else None


def _fits_registers(conv: Convolution, element: Attribute) -> bool:
    """Whether the epilogue is a few operations on numbers of one float type, of known strides."""
    if conv.epilogue is None or not is_float(element):
        return False
    if any(buffer_element(type_) != element for type_ in (conv.result_type, *(v.type for v in conv.others))):
        return False
    channels = shape_of(conv.weights)[0]
    if any(channel_stride(other, channels) is None for other in conv.others):
        return False
    probe = KernelBody("probe", [element] * (1 + len(conv.others)), [], 0)
    value, *operands = (probe.load(buffer, probe.index(0)) for buffer in probe.ins)
    loads = {value.owner, *(operand.owner for operand in operands)}
    conv.epilogue(probe.scalars, value, operands)
    ops = [op for op in probe.block.ops if op not in loads]
    return len(ops) <= SHORT and all(op.name.startswith("arith.") for op in ops)


@dataclass(frozen=True)
class _Form:
    """What a kernel is specialised on."""

    element: Attribute
    result: Attribute
    tile: GemmTile
    rank: int
    column_strides: Sequence[int | None]
    point_strides: Sequence[int | None]
    """Per epilogue operand 0 where it does not differ between points."""
    epilogue: Epilogue | None
    parts: int
    skips: bool
    """Whether what lies outside of the image adds nothing."""
    in_registers: bool
    """Whether the epilogue is computed on the accumulators of a tile."""

    def finish(self, s: Scalars, value: Scalar, operands: Sequence[Scalar]) -> Scalar:
        """A sum of products as an element of the result."""
        if self.epilogue is not None:
            return self.epilogue(s, value, operands)
        return s.float_to(value, self.result) if is_float(value.type) else value

    @property
    def is_direct(self) -> bool:
        """Whether tiles are the result: there is nothing to do on them once they are stored."""
        return self.in_registers or (self.epilogue is None and self.result == self.element)


@dataclass(frozen=True)
class _Slide:
    size: Scalar
    places: Scalar
    stride: Scalar
    border: Scalar
    dilation: Scalar
    taps: Scalar
    step: Scalar


@dataclass(frozen=True)
class _Block:
    """The points of one task."""

    image: Scalar
    first: Scalar
    count: Scalar


@dataclass(frozen=True)
class _Panel:
    """One panel of weights."""

    index: Scalar
    group: Scalar
    channel: Scalar
    """The first of its output channels."""
    columns: Scalar


class _Loops:
    """Writes the kernel. Its sizes are the results of `loom.channels_last_space`."""

    def __init__(self, kernel: KernelBody, form: _Form):
        self.kernel, self.form = kernel, form
        sizes = iter(kernel.sizes)
        self.images, self.blocks, self.splits, self.points, self.block, self.step = (
            next(sizes) for _ in range(6)
        )
        self.panels, self.per_split, self.group_panels, self.width, self.columns = (
            next(sizes) for _ in range(5)
        )
        self.depth, self.taps, self.channels, self.zeros_at, self.image_size = (next(sizes) for _ in range(5))
        self.uniform, self.varying = next(sizes), next(sizes)
        self.is_uniform = kernel.scalars.cmp("eq", self.varying, kernel.index(0))
        self.slides = [_Slide(*(next(sizes) for _ in range(PER_DIM))) for _ in range(form.rank)]
        self.lines = [[next(sizes) for _ in range(3)] for _ in form.column_strides]
        self.image, self.weights, *self.others = kernel.ins
        self.result = kernel.outs[0]
        self.table = kernel.scratch(i64, TABLE)
        self.origins = [kernel.scratch(i64, MAX_POINTS) for _ in range(form.rank)]
        if not form.is_direct:
            self.tile_sums = kernel.scratch(form.element, form.tile.rows * form.tile.columns)

    def write(self) -> None:
        """The whole kernel."""
        k, s = self.kernel, self.kernel.scalars
        per_image = k.mul(self.blocks, self.splits)
        with k.tasks(k.mul(self.images, per_image)) as task:
            image, rest = _divmod(k, task, per_image)
            number, split = _divmod(k, rest, self.splits)
            first = k.mul(number, self.block)
            block = _Block(image, first, s.minimum(self.block, k.sub(self.points, first)))
            # Where all points are alike the first tile of the image stands for all.
            entries = s.select(self.is_uniform, self.step, block.count)
            self._write_origins(k.mul(first, self.varying), entries)
            self._write_table(0, k.index(0), [], entries)
            start = k.mul(split, self.per_split)
            stop = s.minimum(k.add(start, self.per_split), self.panels)
            with k.loop(stop, start=start) as index:
                group, within = _divmod(k, index, self.group_panels)
                column = k.mul(within, self.width)
                columns = s.minimum(self.width, k.sub(self.columns, column))
                channel = k.add(k.mul(group, self.columns), column)
                self._tiles(block, _Panel(index, group, channel, columns))

    def _write_origins(self, point: Scalar, count: Scalar) -> None:
        """Per dim where the windows of `count` points from `point` on begin."""
        k, s = self.kernel, self.kernel.scalars
        rest, first = point, list[Scalar]()
        for slide in reversed(self.slides[1:]):
            rest, place = _divmod(k, rest, slide.places)
            first.insert(0, place)
        one, zero = k.index(1), k.index(0)

        def step(i: Scalar, places: Sequence[Scalar]) -> Sequence[Scalar]:
            for origins, slide, place in zip(self.origins, self.slides, places, strict=True):
                begin = k.sub(k.mul(place, slide.stride), slide.border)
                k.store(k.from_index(begin, i64), origins, i)
            following: list[Scalar] = []
            carry = one
            for slide, place in reversed(list(zip(self.slides, places, strict=True))):
                more = k.add(place, carry)
                over = s.cmp("ge", more, slide.places)
                following.insert(0, s.select(over, zero, more))
                carry = s.select(over, one, zero)
            return following

        k.reduce(count, [rest, *first], step)

    def _write_table(self, depth: int, tap: Scalar, shifts: list[Scalar], count: Scalar) -> None:
        """The offset of each tap of each of those points; -1 where it lies outside of the image."""
        k = self.kernel
        if depth < self.form.rank:
            slide = self.slides[depth]
            with k.loop(slide.taps) as i:
                shift = k.mul(i, slide.dilation)
                self._write_table(depth + 1, k.at(tap, slide.taps, i), [*shifts, shift], count)
            return
        row = k.mul(tap, self.block)
        with k.loop(count, parallel=True) as i:
            k.store(k.from_index(self._offset(i, shifts), i64), self.table, k.add(row, i))

    def _offset(self, point: Scalar, shifts: Sequence[Scalar]) -> Scalar:
        k, s = self.kernel, self.kernel.scalars
        offset, inside = k.index(0), None
        for origins, slide, shift in zip(self.origins, self.slides, shifts, strict=True):
            place = k.add(k.to_index(k.load(origins, point)), shift)
            there = s.and_(s.cmp("ge", place, k.index(0)), s.cmp("lt", place, slide.size))
            inside = there if inside is None else s.and_(inside, there)
            offset = k.add(offset, k.mul(place, slide.step))
        assert inside is not None
        return s.select(inside, offset, k.index(-1))

    def _tiles(self, block: _Block, panel: _Panel) -> None:
        """All tiles of a block of points and a panel."""
        k, s, form = self.kernel, self.kernel.scalars, self.form
        steps = k.mul(self.taps, self.depth)
        size = k.mul(steps, self.width)
        weights_at = k.mul(panel.index, size)
        image_at = k.add(k.mul(block.image, self.image_size), k.mul(panel.group, self.depth))
        tiles = s.emit(arith.CeilDivSIOp(block.count, self.step))
        following = s.minimum(k.add(panel.index, k.index(1)), k.sub(self.panels, k.index(1)))
        share = s.emit(arith.CeilDivSIOp(self.width, tiles))
        lanes = k.index(form.tile.lanes)
        whole = k.mul(s.emit(arith.CeilDivSIOp(panel.columns, lanes)), lanes)
        with k.loop(tiles) as i:
            row = k.mul(i, self.step)
            rows = s.minimum(self.step, k.sub(block.count, row))
            point = k.add(block.first, row)
            result_at = k.add(k.mul(k.at(block.image, self.points, point), self.channels), panel.channel)
            later = s.minimum(k.mul(i, share), k.sub(self.width, share))
            target = (
                (self.result, result_at, self.channels)
                if form.is_direct
                else (self.tile_sums, k.index(0), k.index(form.tile.columns))
            )
            args = TileArgs(
                image=self.image,
                table=self.table,
                weights=self.weights,
                result=target[0],
                image_at=k.add(image_at, k.mul(point, self.uniform)),
                table_at=k.mul(row, self.varying),
                table_row=self.block,
                weights_at=weights_at,
                weights_row=self.width,
                outside_at=self.zeros_at,
                result_at=target[1],
                result_row=target[2],
                taps=self.taps,
                depth=self.depth,
                rows=rows,
                columns=panel.columns if form.is_direct else whole,
                later_at=k.add(k.mul(following, size), k.mul(later, steps)),
                later_row=share,
            )
            starts = [
                k.add(k.mul(block.image, n), k.add(k.mul(point, p), k.mul(panel.channel, c)))
                for n, p, c in self.lines
            ]
            finish = self._tile_finish(starts)
            op = conv_tile_op(form.tile, form.element, args, form.parts, form.skips, finish)
            k.builder.insert(op)
            if not form.is_direct:
                self._epilogue(rows, panel.columns, result_at, starts)

    def _tile_finish(self, starts: Sequence[Scalar]) -> TileFinish | None:
        """The epilogue as part of the tile, where it is; `starts`: of the operands at the tile."""
        form = self.form
        if not form.in_registers or form.epilogue is None:
            return None
        rows = zip(self.others, starts, self.lines, form.column_strides, form.point_strides, strict=True)
        operands = [
            Operand(buffer, at, line[1], by_column=by_column == 1, all_rows=by_point == 0)
            for buffer, at, line, by_column, by_point in rows
        ]
        return TileFinish(form.epilogue, operands)

    def _epilogue(self, rows: Scalar, columns: Scalar, result_at: Scalar, starts: Sequence[Scalar]) -> None:
        """Sums to results, a vector of columns at a time; what is left by half vectors, then one by one."""
        k, lanes = self.kernel, self.form.tile.lanes
        column = k.index(0)
        for width in sorted({lanes, lanes // 2} - {0, 1}, reverse=True):
            step = k.index(width)
            count = k.scalars.emit(arith.DivSIOp(k.sub(columns, column), step))
            with k.loop(count) as v:
                first = k.add(column, k.mul(v, step))
                with k.lanes(width) as lane:
                    self._finish(rows, k.add(first, lane), result_at, starts)
            column = k.add(column, k.mul(count, step))
        with k.loop(columns, start=column) as j:
            self._finish(rows, j, result_at, starts)

    def _finish(self, rows: Scalar, column: Scalar, result_at: Scalar, starts: Sequence[Scalar]) -> None:
        """All rows of a column; operands that do not differ between points are loaded once."""
        k, form = self.kernel, self.form
        places: list[Scalar] = []
        for at, line, known in zip(starts, self.lines, form.column_strides, strict=True):
            places.append(k.add(at, k.mul(column, line[2] if known is None else k.index(known))))
        fixed = k.load_fixed(self.others, places, form.point_strides)
        target = k.add(result_at, column)
        with k.loop(rows) as i:
            value = k.load(self.tile_sums, k.add(k.mul(i, k.index(form.tile.columns)), column))
            operands = [
                k.load(buffer, k.add(at, k.mul(i, line[1]))) if held is None else held
                for buffer, at, line, held in zip(self.others, places, self.lines, fixed, strict=True)
            ]
            done = form.finish(k.scalars, value, operands)
            k.store(done, self.result, k.add(target, k.mul(i, self.channels)))


def _divmod(k: KernelBody, value: Scalar, by: Scalar) -> tuple[Scalar, Scalar]:
    return k.scalars.emit(arith.DivSIOp(value, by)), k.remainder(value, by)
