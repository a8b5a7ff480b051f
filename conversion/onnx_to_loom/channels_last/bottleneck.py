"""How do a pointwise, a depthwise and a pointwise convolution run as one kernel? Strip by strip.

    image ──► expand 1x1 ──► depthwise ──► project 1x1 ──► result

What lies between two of them is never a whole tensor: a task computes some lines of the result, and keeps
the lines of the expanded image that its windows have seen, and the few lines the projection reads next, in
memory of its own that stays in the cache. Expansion or projection may be missing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from xdsl.dialects import arith
from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.ir import Attribute, SSAValue

from onnxloom.conversion.onnx_to_loom.builder import KernelBuilder, buffer_element, ranked, shape_of
from onnxloom.conversion.onnx_to_loom.channels_last.depthwise import DepthwiseSums, weights_by_tap
from onnxloom.conversion.onnx_to_loom.channels_last.point_product import PointProduct, point_matrix
from onnxloom.conversion.onnx_to_loom.channels_last.tile_shapes import WindowSizes, tile_shape
from onnxloom.conversion.onnx_to_loom.channels_last.windows import Point, WindowTiles
from onnxloom.conversion.onnx_to_loom.decline import Declined
from onnxloom.conversion.onnx_to_loom.kernel_body import KernelBody
from onnxloom.conversion.onnx_to_loom.products.product_loops import Epilogue
from onnxloom.dialects import loom
from onnxloom.dialects.loom.conv_space import Window
from onnxloom.dialects.loom.target import Target
from onnxloom.dialects.loom.window_space import window_dim
from onnxloom.dialects.onnx.semantics.scalars import Scalar, bit_width

KEPT_BYTES = 1_000_000
"""Of the expanded image that a task keeps, about what an L2 cache holds."""

POINTS = 224
"""Points of the result per step of a task: enough whole register tiles to make up for its start."""

VECTORS = 4
"""Vectors of channels the windows slide over at a time; see `windows.py`."""


@dataclass(frozen=True)
class Stage:
    """One of the convolutions; program-level tensors."""

    weights: SSAValue
    result_type: Attribute
    """Channels-last."""
    others: Sequence[SSAValue]
    """Epilogue operands, of one number per channel, image or both, or with all points of the result."""
    epilogue: Epilogue | None


@dataclass(frozen=True)
class Bottleneck:
    """The convolutions of a chain."""

    source: SSAValue
    expand: Stage | None
    depthwise: Stage
    window: Window
    project: Stage | None

    @property
    def stages(self) -> list[Stage]:
        """Those that are there, in order."""
        return [stage for stage in (self.expand, self.depthwise, self.project) if stage is not None]


@dataclass(frozen=True)
class _Sizes:
    """Static sizes of a chain."""

    rows: int
    columns: int
    channels: int
    """Of the image that windows slide over."""
    out_rows: int
    out_columns: int
    before: tuple[int, int]
    after: tuple[int, int]
    lines: int
    """Lines of the result per task."""
    step: int
    """Lines of the result per step of a task."""
    kept: int
    """Rows of the expanded image a task keeps."""


def build_bottleneck(builder: KernelBuilder, name: str, chain: Bottleneck) -> SSAValue:
    """Writes the kernel and its launch; gives the result.

    Raises:
        Declined: weights are not constant, dims are not known, or an element type has no register tile.
    """
    element = buffer_element(chain.source.type)
    sizes = _sizes(chain, max(1, bit_width(element) // 8))
    window, batch = chain.window, builder.dim(chain.source, 0)
    index = builder.index
    slide = WindowSizes(
        batch,
        [index(sizes.rows), index(sizes.columns)],
        index(sizes.channels),
        [index(sizes.out_rows), index(sizes.out_columns)],
        [index(size) for size in sizes.before],
        [index(size) for size in sizes.after],
        (sizes.columns, sizes.out_columns, sizes.before[1]),
    )
    result_type = ranked(chain.stages[-1].result_type, "the result")
    outs = [builder.empty(result_type, [batch, *map(index, result_type.get_shape()[1:])])]
    ins, steps = [chain.source], list[_Step]()
    arguments = [*slide.arguments, index(sizes.lines), index(sizes.step), index(sizes.kept)]
    for stage in chain.stages:
        weights, strides = (
            weights_by_tap(builder, stage.weights)
            if stage is chain.depthwise
            else (point_matrix(builder, stage.weights), (0, 0))
        )
        steps.append(_Step(stage, strides, len(ins), len(arguments)))
        ins += [weights, *stage.others]
        dims = [batch, *map(index, ranked(stage.result_type, "a result").get_shape()[1:])]
        if stage.others:
            arguments += list(builder.insert(loom.BroadcastStridesOp(stage.others, dims)).results)
    if chain.expand is not None:
        outs.append(builder.private(element, index(sizes.kept * sizes.columns * sizes.channels)))
    if chain.project is not None:
        outs.append(builder.private(element, index(sizes.step * sizes.out_columns * sizes.channels)))
    kernel = builder.kernel(name, ins, [out.type for out in outs], len(arguments))
    shape = tile_shape(window, slide, sizes.channels, 1, element, builder.kernels.target)
    writer = _Writer(kernel, chain, sizes, element, steps, builder.kernels.target)
    count = len(slide.arguments)
    writer.write(WindowTiles(kernel, window, kernel.sizes[:count], shape, *writer.between), count)
    return builder.launch(kernel, ins, outs, arguments)[0]


def _sizes(chain: Bottleneck, element_bytes: int) -> _Sizes:
    source, window = shape_of(chain.source), chain.window
    channels = shape_of(chain.depthwise.weights)[0]
    if DYNAMIC_INDEX in source[1:] or DYNAMIC_INDEX in shape_of(chain.depthwise.weights):
        raise Declined("the dims of a chain of convolutions are not known")
    pads = [window.pads[i::2] for i in range(2)]
    rows = [
        window_dim(size, k, s, d, (pad[0], pad[1]), window.auto_pad, False)
        for size, k, s, d, pad in zip(
            source[1:3], window.kernel, window.strides, window.dilations, pads, strict=True
        )
    ]
    (out_rows, *border_rows), (out_columns, *border_columns) = rows
    step = max(1, min(out_rows, -(-POINTS // max(out_columns, 1))))
    row_bytes = max(1, source[2] * channels * element_bytes)
    lines = max((KEPT_BYTES // row_bytes - window.extents[0]) // window.strides[0] + 1, step)
    tasks = max(1, -(-out_rows // lines))
    lines = max(1, -(-out_rows // tasks))
    kept = min(source[1], (lines - 1) * window.strides[0] + window.extents[0])
    before, after = zip(border_rows, border_columns, strict=True)
    return _Sizes(
        source[1], source[2], channels, out_rows, out_columns, before, after, lines, step, max(kept, 1)
    )


@dataclass(frozen=True)
class _Step:
    """What a stage reads: numbers of its first input and its first stride among those of the kernel."""

    stage: Stage
    tap_strides: tuple[int, int]
    first_in: int
    first_stride: int


class _Writer:
    """Writes the kernel."""

    def __init__(
        self,
        k: KernelBody,
        chain: Bottleneck,
        sizes: _Sizes,
        element: Attribute,
        steps: Sequence[_Step],
        target: Target,
    ):
        self.k, self.chain, self.sizes, self.element, self.target = k, chain, sizes, element, target
        rest = list(k.outs[1:])
        self.expanded = rest.pop(0) if chain.expand is not None else None
        self.strip = rest.pop(0) if chain.project is not None else None
        self.steps = {id(step.stage): step for step in steps}

    @property
    def between(self) -> tuple[SSAValue | None, SSAValue | None]:
        """What the windows read and write, None for the image or the result."""
        return self.expanded, self.strip

    def write(self, tiles: WindowTiles, first_size: int) -> None:
        k, s, window = self.k, self.k.scalars, self.chain.window
        lines, step, kept = k.sizes[first_size : first_size + 3]
        out_rows, rows = tiles.places[0], tiles.spatial[0]
        strips = s.emit(arith.CeilDivSIOp(out_rows, lines))
        with k.task_nest(tiles.batch, strips) as (image, strip):
            first = k.mul(strip, lines)
            last = s.minimum(k.add(first, lines), out_rows)
            top = s.maximum(k.sub(k.mul(first, k.index(window.strides[0])), tiles.before[0]), k.index(0))
            top = s.minimum(top, rows)
            at = _Task(image, top, k.private(k.mul(kept, tiles.strides[0])))

            def lines_of(i: Scalar, done: Sequence[Scalar]) -> Sequence[Scalar]:
                start = k.add(first, k.mul(i, step))
                stop = s.minimum(k.add(start, step), last)
                below = k.sub(k.mul(k.sub(stop, k.index(1)), k.index(window.strides[0])), tiles.before[0])
                need = s.minimum(k.add(below, k.index(window.extents[0])), rows)
                need = s.maximum(need, done[0])
                self._expand(tiles, at, done[0], need)
                self._slide(tiles, at, start, stop)
                self._project(tiles, at, start, stop)
                return [need]

            count = s.emit(arith.CeilDivSIOp(k.sub(last, first), step))
            k.reduce(count, [top], lines_of)

    def _expand(self, tiles: WindowTiles, at: _Task, first: Scalar, last: Scalar) -> None:
        """Rows of the expanded image."""
        stage, k = self.chain.expand, self.k
        if stage is None:
            return
        assert self.expanded is not None
        depth = shape_of(self.chain.source)[-1]
        start = k.mul(first, tiles.spatial[1])
        source = k.mul(
            k.add(k.mul(k.mul(at.image, tiles.spatial[0]), tiles.spatial[1]), start), k.index(depth)
        )
        target = k.add(at.kept, k.mul(k.sub(first, at.top), tiles.strides[0]))
        points = k.mul(k.sub(last, first), tiles.spatial[1])
        self._product(stage, depth, (k.ins[0], source, points), (self.expanded, target), at.image, start)

    def _slide(self, tiles: WindowTiles, at: _Task, first: Scalar, last: Scalar) -> None:
        """Lines of the depthwise convolution."""
        k, stage = self.k, self.chain.depthwise
        step = self.steps[id(stage)]
        weights = k.ins[step.first_in]
        sums = DepthwiseSums(k, self.element, weights, step.tap_strides)

        def at_point(point: Point, value: Scalar) -> Scalar:
            place = k.add(k.mul(point.line.index[1], tiles.places[1]), point.place)
            return self._finisher(stage, at.image, point.channel)(place, value)

        vectors = -(-self.sizes.channels // tiles.shape.lanes)
        with k.loop(k.index(-(-vectors // VECTORS))) as chunk:
            vector = k.mul(chunk, k.index(VECTORS))
            end = k.scalars.minimum(k.add(vector, k.index(VECTORS)), k.index(vectors))
            with k.loop(last, start=first) as number:
                line = tiles.line(k.add(k.mul(at.image, tiles.places[0]), number))
                if self.expanded is not None:
                    row = k.sub(line.taps[0].start, at.top)
                    line = replace(line, source=k.add(at.kept, k.mul(row, tiles.strides[0])))
                if self.strip is not None:
                    row = k.mul(k.mul(k.sub(number, first), tiles.places[1]), k.index(self.sizes.channels))
                    line = replace(line, target=k.add(self._strip_at(tiles), row))
                tiles.write_line(sums.reduction(at_point), line, (vector, end))

    def _strip_at(self, tiles: WindowTiles) -> Scalar:
        k = self.k
        step = k.index(self.sizes.step)
        return k.private(k.mul(k.mul(step, tiles.places[1]), k.index(self.sizes.channels)))

    def _project(self, tiles: WindowTiles, at: _Task, first: Scalar, last: Scalar) -> None:
        """Lines of the result from the strip."""
        stage, k = self.chain.project, self.k
        if stage is None:
            return
        assert self.strip is not None
        start = k.mul(first, tiles.places[1])
        columns = k.index(shape_of(stage.weights)[0])
        image = k.mul(k.mul(at.image, tiles.places[0]), tiles.places[1])
        target = k.mul(k.add(image, start), columns)
        points = k.mul(k.sub(last, first), tiles.places[1])
        source = (self.strip, self._strip_at(tiles), points)
        self._product(stage, self.sizes.channels, source, (k.outs[0], target), at.image, start)

    def _product(
        self,
        stage: Stage,
        depth: int,
        source: tuple[SSAValue, Scalar, Scalar],
        target: tuple[SSAValue, Scalar],
        image: Scalar,
        first: Scalar,
    ) -> None:
        """`source`: buffer, offset, points; `first`: number of the first point in its image."""
        k, step = self.k, self.steps[id(stage)]
        columns = shape_of(stage.weights)[0]
        product = PointProduct(k, self.element, self.target, depth, columns, k.ins[step.first_in])

        def finish(column: Scalar) -> Callable[[Scalar, Scalar], None]:
            finished = self._finisher(stage, image, column)

            def store(point: Scalar, value: Scalar) -> None:
                place = k.add(k.add(target[1], k.mul(point, k.index(columns))), column)
                k.store(finished(k.add(first, point), value), target[0], place)

            return store

        product.write(*source, finish)

    def _finisher(self, stage: Stage, image: Scalar, channel: Scalar) -> Callable[[Scalar, Scalar], Scalar]:
        """(number of a point of the image, sum) -> element of the stage's result.

        Operands that do not differ between points are loaded here.
        """
        k, step = self.k, self.steps[id(stage)]
        places: list[Scalar] = []
        strides: list[Scalar | None] = []
        for i, other in enumerate(stage.others):
            at = step.first_stride + 4 * i
            by_image, _, by_point, by_channel = k.sizes[at : at + 4]
            shape = shape_of(other)
            place = k.mul(image, by_image)
            if shape and shape[-1] != 1:
                place = k.add(place, channel if shape[-1] != DYNAMIC_INDEX else k.mul(channel, by_channel))
            places.append(place)
            strides.append(by_point if any(dim != 1 for dim in shape[-3:-1]) else None)
        buffers = k.ins[step.first_in + 1 : step.first_in + 1 + len(places)]
        fixed = k.load_fixed(buffers, places, [0 if stride is None else None for stride in strides])

        def finish(point: Scalar, value: Scalar) -> Scalar:
            if stage.epilogue is None:
                return value
            operands: list[Scalar] = []
            for buffer, place, stride, held in zip(buffers, places, strides, fixed, strict=True):
                if held is None:
                    assert stride is not None
                    held = k.load(buffer, k.add(place, k.mul(point, stride)))
                operands.append(held)
            return stage.epilogue(k.scalars, value, operands)

        return finish


@dataclass(frozen=True)
class _Task:
    image: Scalar
    top: Scalar
    """Row of the expanded image that is the first one kept."""
    kept: Scalar
    """Where this thread keeps rows."""
