"""Attributes that later versions take as inputs: axes, split, pads, starts, k, shape, bounds."""

from __future__ import annotations

import numpy as np
from onnx import NodeProto

from onnxloom.conversion.onnx_import.upgrade.registry import (
    Upgrade,
    put,
    set_input,
    take,
    take_float,
    take_int,
    take_ints,
    take_string,
    upgrade,
)

REDUCTIONS = (
    "ReduceL1",
    "ReduceL2",
    "ReduceLogSum",
    "ReduceLogSumExp",
    "ReduceMax",
    "ReduceMean",
    "ReduceMin",
    "ReduceProd",
    "ReduceSumSquare",
)
"""All but ReduceSum, whose axes became an input earlier."""
_FLOAT32_MAX = float(np.finfo(np.float32).max)


@upgrade("Squeeze", "Unsqueeze", "ReduceSum", to=13)
@upgrade(*REDUCTIONS, to=18)
def axes_input(node: NodeProto, context: Upgrade) -> None:
    """`axes=[...]` -> second input; an empty list means all axes, as leaving it out does."""
    axes = take_ints(node, "axes")
    if axes:
        set_input(node, 1, context.constant(axes))


@upgrade("Split", to=2)
def split_axis(node: NodeProto, context: Upgrade) -> None:
    """Version 1 takes the sizes as an attribute or as an input of the data's type."""
    if len(node.input) > 1 and node.input[1]:
        node.input[1] = context.add("Cast", [node.input[1]], to=7)


@upgrade("Split", to=13)
def split_input(node: NodeProto, context: Upgrade) -> None:
    sizes = take_ints(node, "split")
    if sizes:
        set_input(node, 1, context.constant(sizes))


@upgrade("Split", to=18)
def split_count(node: NodeProto, context: Upgrade) -> None:
    """Equal parts: their number is an attribute from 18 on."""
    if len(node.input) < 2 or not node.input[1]:
        put(node, "num_outputs", len(node.output))


@upgrade("Pad", to=2)
def pad_names(node: NodeProto, context: Upgrade) -> None:
    paddings = take_ints(node, "paddings")
    if paddings is not None:
        put(node, "pads", paddings)


@upgrade("Pad", to=11)
def pad_inputs(node: NodeProto, context: Upgrade) -> None:
    pads = take_ints(node, "pads")
    if pads is None:
        raise ValueError("attribute pads is missing")
    set_input(node, 1, context.constant(pads))
    value = take_float(node, "value", 0.0)
    if value != 0.0:
        set_input(node, 2, context.scalar_like(value, node.input[0]))


@upgrade("Slice", to=10)
def slice_inputs(node: NodeProto, context: Upgrade) -> None:
    starts, ends = take_ints(node, "starts"), take_ints(node, "ends")
    if starts is None or ends is None:
        raise ValueError("attribute starts or ends is missing")
    axes = take_ints(node, "axes")
    set_input(node, 1, context.constant(starts))
    set_input(node, 2, context.constant(ends))
    set_input(node, 3, context.constant(axes if axes else list(range(len(starts)))))


@upgrade("TopK", to=10)
def topk_input(node: NodeProto, context: Upgrade) -> None:
    set_input(node, 1, context.constant([take_int(node, "k", 0)]))


@upgrade("Reshape", to=5)
def reshape_input(node: NodeProto, context: Upgrade) -> None:
    take(node, "consumed_inputs")
    shape = take_ints(node, "shape")
    if shape is None:
        raise ValueError("attribute shape is missing")
    set_input(node, 1, context.constant(shape))


@upgrade("Tile", to=6)
def tile_repeats(node: NodeProto, context: Upgrade) -> None:
    """(tiles, axis) of one axis -> repeats of all axes."""
    if len(node.input) < 3:
        raise ValueError(f"{len(node.input)} inputs; expected 3")
    data, tiles, axis = node.input
    one = context.constant([1])
    ones = context.add("Expand", [one, context.add("Shape", [context.add("Shape", [data])])])
    index = context.add("Reshape", [context.add("Cast", [axis], to=7), one])
    update = context.add("Reshape", [context.add("Cast", [tiles], to=7), one])
    repeats = context.add("ScatterElements", [ones, index, update], axis=0)
    del node.input[1:]
    node.input.append(repeats)


@upgrade("Clip", to=6)
def clip_open(node: NodeProto, context: Upgrade) -> None:
    """Version 1 has no default bounds."""
    take(node, "consumed_inputs")
    for name, value in (("min", -np.inf), ("max", np.inf)):
        put(node, name, take_float(node, name, value))


@upgrade("Clip", to=11)
def clip_inputs(node: NodeProto, context: Upgrade) -> None:
    """Bounds that are left out are the largest float32 numbers here, so that infinities are clipped."""
    low = take_float(node, "min", -_FLOAT32_MAX)
    high = take_float(node, "max", _FLOAT32_MAX)
    for index, bound in ((1, low), (2, high)):
        if np.isfinite(bound):
            set_input(node, index, context.scalar_like(bound, node.input[0]))


@upgrade("DFT", to=20)
def dft_axis(node: NodeProto, context: Upgrade) -> None:
    axis = take_int(node, "axis", 1)
    set_input(node, 2, context.constant(np.array(axis, dtype=np.int64)))


@upgrade("Dropout", to=12)
def dropout_ratio(node: NodeProto, context: Upgrade) -> None:
    """Old versions are inference; the ratio is kept, nothing reads it."""
    ratio = take_float(node, "ratio", 0.5)
    set_input(node, 1, context.constant(np.array(ratio, dtype=np.float32)))


@upgrade("Dropout", to=10)
def dropout_mask(node: NodeProto, context: Upgrade) -> None:
    """The mask has the type of the data before version 10, is boolean from then on."""
    take(node, "is_test")
    if len(node.output) < 2 or not node.output[1]:
        return
    if context.is_read(node.output[1]):
        context.add_after(node, 1, "CastLike", node.input[0])
    else:
        del node.output[1:]


@upgrade("GridSample", to=20)
def grid_sample_modes(node: NodeProto, context: Upgrade) -> None:
    mode = take_string(node, "mode", "bilinear")
    put(node, "mode", {"bilinear": "linear", "bicubic": "cubic"}.get(mode, mode))
