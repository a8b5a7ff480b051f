"""`loom.channels_last_space`: sizes of a convolution of channels-last tensors as products of register tiles.

Rows of a tile are result points, its columns output channels. The *depth* is what lies together in memory
for each tap: the channels of a group, or, for a *merged* convolution, one whole row of the window of
`loom.image_space`'s padded image.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from xdsl.dialects.builtin import BoolAttr, IndexType, IntegerAttr, i64
from xdsl.ir import SSAValue
from xdsl.irdl import (
    AnyAttr,
    irdl_op_definition,
    operand_def,
    prop_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.traits import Pure

from onnxloom.dialects.loom.conv_space import Window, WindowOp, window_properties
from onnxloom.dialects.loom.plan_time import PlanTensor
from onnxloom.dialects.loom.target import GemmTile

Shape = tuple[int, ...]

TABLE: Final = 4096
"""Entries of the table of tap offsets a task holds; a convolution of more taps has no kernel."""

MAX_POINTS: Final = 1024
"""Result points of one task."""

WHOLE: Final = 128 * 1024
"""Up to so many input elements all points of an image are one block."""

BLOCK: Final = 48 * 1024
"""Input elements that the points of a block read, about."""

TASKS: Final = 16
"""Tasks a launch should have, so that threads can share them."""

NEAR: Final = 128 * 1024
"""Elements of weights that stay in the second cache while blocks of points come and go."""

LEAST_POINTS: Final = 56
"""A block has about so many points or more: each reads all weights of its panels."""

HEAD: Final = 18
"""Results that do not depend on the number of dims or operands."""

PER_DIM: Final = 7


@dataclass(frozen=True)
class Slide:
    """How a window moves along one spatial dim; `step` counts elements of the image from place to place."""

    size: int
    places: int
    stride: int
    border: int
    dilation: int
    taps: int
    step: int


def panel_width(columns: int, tile: GemmTile) -> int:
    """Columns of a panel of weights for so many output channels: panels are about equally wide."""
    vectors = max(-(-columns // tile.lanes), 1)
    panels = -(-vectors // tile.vectors)
    return -(-vectors // panels) * tile.lanes


def merged_window(window: Window, channels: int) -> Window:
    """The window over an image of one channel whose rows hold all channels of all columns."""
    d = window.rank

    def last(values: Shape) -> Shape:
        return (*values[:-1], values[-1] * channels)

    pads = (*last(window.pads[:d]), *last(window.pads[d:]))
    return replace(window, kernel=last(window.kernel), strides=last(window.strides), pads=pads)


def plain_slides(x: Shape, window: Window) -> list[Slide]:
    """The slides over `x` (`[N, *spatial, C]`) as it is."""
    sizes = x[1:-1]
    rows = zip(sizes, window.places(sizes), window.strides, window.dilations, window.kernel, strict=True)
    steps = [math.prod(x[i + 2 :]) for i in range(window.rank)]
    return [
        Slide(size, places, stride, before, dilation, taps, step)
        for (size, (places, before, _), stride, dilation, taps), step in zip(rows, steps, strict=True)
    ]


def merged_slides(x: Shape, window: Window) -> list[Slide]:
    """The slides over the padded image of `merged_window`, whose last dim has one tap."""
    merged = merged_window(window, x[-1])
    places = [p for p, _, _ in merged.places((*x[1:-2], x[-2] * x[-1]))]
    rows, columns = merged.image(places)
    row = merged.strides[-1] * columns
    leading = [
        Slide(size, count, stride, 0, dilation, taps, math.prod(rows[i + 1 :]) * row)
        for i, (size, count, stride, dilation, taps) in enumerate(
            zip(
                rows, places[:-1], merged.strides[:-1], merged.dilations[:-1], merged.kernel[:-1], strict=True
            )
        )
    ]
    return [*leading, Slide(places[-1], places[-1], 1, 0, 1, 1, merged.strides[-1])]


def operand_strides(shape: Shape, result: Shape) -> tuple[int, int, int]:
    """Strides of an epilogue operand along batch, flattened points and channels of `result`.

    Raises:
        ValueError: it does not fit, or broadcasts along some spatial dims but not along all.
    """
    padded = (1,) * (len(result) - len(shape)) + shape
    if len(padded) != len(result) or any(d not in (1, full) for d, full in zip(padded, result, strict=True)):
        raise ValueError(f"an operand of shape {list(shape)} does not fit the result {list(result)}")
    spatial, channels = padded[1:-1], padded[-1]
    points = math.prod(spatial)
    if spatial != result[1:-1] and points != 1:
        raise ValueError(f"an operand of shape {list(shape)} broadcasts along some spatial dims only")
    by_batch = 0 if padded[0] == 1 else points * channels
    return by_batch, 0 if points == 1 else channels, 0 if channels == 1 else 1


def tile_step(rows: int, places: int) -> int:
    """Rows of a tile: all, or one less where tiles then end with the rows of the result.

    Taps that lie outside of the image for a whole tile are skipped.
    """
    return rows - 1 if rows > 4 and places % rows and places % (rows - 1) == 0 else rows


def uniform_step(slides: Sequence[Slide]) -> int:
    """Elements from what one point reads to what the next one does, if that is one number; else 0.

    So it is where there is one tap, which never lies outside, and rows of windows follow each other closely.
    """
    if any(
        slide.taps != 1 or slide.border or (slide.places - 1) * slide.stride >= slide.size for slide in slides
    ):
        return 0
    steps = [slide.stride * slide.step for slide in slides]
    rows = zip(steps[:-1], steps[1:], slides[1:], strict=True)
    return steps[-1] if all(outer == inner * slide.places for outer, inner, slide in rows) else 0


def blocking(points: int, step: int, most: int, elements: int, wanted: int) -> tuple[int, int]:
    """Blocks of the points of an image and points per block.

    `most`: points a block may have; `elements`: input elements per point; `wanted`: blocks there should be.
    """
    if points == 0:
        return 0, 0
    if points <= most and points * elements <= WHOLE and wanted <= 1:
        return 1, points
    tiles = -(-points // step)
    shared = max(-(-points // wanted), LEAST_POINTS)
    wanted = max(min(most, BLOCK // max(elements, 1), shared) // step, 1)
    blocks = -(-tiles // wanted)
    block = -(-tiles // blocks) * step
    return -(-points // block), block


def channels_last_space(
    x: Shape, w: Shape, others: Sequence[Shape], window: Window, group: int, tile: GemmTile, merged: bool
) -> list[int]:
    """The integers `loom.channels_last_space` results in; see there.

    Raises:
        ValueError: input, weights and operands do not fit each other.
    """
    if x[-1] != w[1] * group or w[0] % group:
        raise ValueError(f"{x[-1]} channels do not fit weights {list(w)} in {group} groups")
    slides = merged_slides(x, window) if merged else plain_slides(x, window)
    places = [slide.places for slide in slides]
    points, columns = math.prod(places), w[0] // group
    depth = w[1] * window.kernel[-1] if merged else w[1]
    taps = math.prod(slide.taps for slide in slides)
    image = slides[0].step * slides[0].size if len(slides) > 1 or not merged else 0
    if merged and len(slides) == 1:
        count = merged_window(window, x[-1])
        image = count.strides[-1] * count.image(places)[1]
    step = tile_step(tile.rows, places[-1])
    # Groups read the same points; neighbouring windows share what they read.
    elements = x[-1] * math.prod(window.strides)
    width = panel_width(columns, tile)
    group_panels = -(-columns // width)
    panels = group * group_panels
    uniform = uniform_step(slides)
    # Where the weights are large each of them is read for as many points as possible.
    wanted = -(-TASKS // max(x[0], 1)) if math.prod(w) <= NEAR else 1
    most = MAX_POINTS if uniform else min(MAX_POINTS, TABLE // max(taps, 1))
    blocks, block = blocking(points, step, most, elements, wanted)
    tasks = max(x[0] * blocks, 1)
    splits = min(max(panels, 1), -(-TASKS // tasks))
    per_split = -(-panels // splits)
    splits = -(-panels // per_split) if per_split else 0
    result = (x[0], *places, w[0])
    head = [
        *(x[0], blocks, splits, points, block, step, panels, per_split, group_panels, width),
        *(columns, depth, taps, w[0], panels * taps * depth * width, image, uniform, int(uniform == 0)),
    ]
    rest = [v for s in slides for v in (s.size, s.places, s.stride, s.border, s.dilation, s.taps, s.step)]
    return [*head, *rest, *(v for shape in others for v in operand_strides(shape, result))]


@irdl_op_definition
class ChannelsLastSpaceOp(WindowOp):
    """Sizes of a convolution of `source` (`[N, *spatial, C]`) by `weights` (`[M, C / group, *kernel]`).

    Results, in order:

    - images; blocks per image; splits of the panels; points per image; points per block; rows per tile;
      panels of weights; panels per split; panels per group; columns per panel; columns per group; depth;
      taps; output channels; offset of the zeros behind the packed weights; elements per image; elements
      from point to point if that is one number, else 0; 0 or, in the latter case, 1;
    - per spatial dim: size, places, stride, border, dilation, taps, elements from place to place;
    - per epilogue operand: strides along images, points and channels.
    """

    name = "loom.channels_last_space"
    group = prop_def(IntegerAttr)
    rows = prop_def(IntegerAttr)
    vectors = prop_def(IntegerAttr)
    lanes = prop_def(IntegerAttr)
    merged = prop_def(BoolAttr)
    source = operand_def(AnyAttr())
    weights = operand_def(AnyAttr())
    others = var_operand_def(AnyAttr())
    results_ = var_result_def(IndexType())
    traits = traits_def(Pure())

    def __init__(
        self,
        source: SSAValue,
        weights: SSAValue,
        others: Sequence[SSAValue],
        window: Window,
        group: int,
        tile: GemmTile,
        *,
        merged: bool,
    ):
        super().__init__(
            operands=[source, weights, others],
            properties={
                **window_properties(window),
                "group": IntegerAttr(group, i64),
                "rows": IntegerAttr(tile.rows, i64),
                "vectors": IntegerAttr(tile.vectors, i64),
                "lanes": IntegerAttr(tile.lanes, i64),
                "merged": BoolAttr.from_bool(merged),
            },
            result_types=[[IndexType()] * (HEAD + PER_DIM * window.rank + 3 * len(others))],
        )

    def evaluate(self, operands: Sequence[PlanTensor | int]) -> Sequence[int]:
        x, w, *others = (o.shape for o in operands if isinstance(o, PlanTensor))
        tile = GemmTile(self.rows.value.data, self.vectors.value.data, self.lanes.value.data)
        return channels_last_space(x, w, others, self.window, self.group.value.data, tile, bool(self.merged))
