"""Ops whose older versions mean something else, or are called something else."""

from __future__ import annotations

import numpy as np
from onnx import NodeProto

from onnxloom.conversion.onnx_export.downgrade.registry import (
    Downgrade,
    Refused,
    downgrade,
    drop_inputs,
    input_name,
    int_of,
    string_of,
)
from onnxloom.conversion.onnx_import.upgrade.attributes_to_inputs import REDUCTIONS
from onnxloom.conversion.onnx_import.upgrade.broadcasting import BINARY
from onnxloom.conversion.onnx_import.upgrade.registry import Array, keep_inputs, put, take

_FROM_THE_FRONT = (
    "ArgMax",
    "ArgMin",
    "Compress",
    "Flatten",
    "Split",
    "Squeeze",
    "TopK",
    "Unsqueeze",
    "ReduceSum",
    *REDUCTIONS,
)
"""Ops whose axes count from the end from version 11 on."""


@downgrade("Softmax", "LogSoftmax", "Hardmax", below=13)
def over_last_axis(node: NodeProto, context: Downgrade) -> None:
    """Only over the last axis do both versions mean the same."""
    axis, dims = int_of(node, "axis", -1), context.dims(node.input[0])
    if dims is None and axis != -1:
        raise Refused("it may not be over the last axis")
    if dims is not None and axis not in (-1, len(dims) - 1):
        raise Refused("it is not over the last axis")
    put(node, "axis", -1 if dims is None else len(dims) - 1)


@downgrade("Softmax", "LogSoftmax", "Hardmax", "Concat", below=11)
def axis_from_the_front(node: NodeProto, context: Downgrade) -> None:
    axis, dims = int_of(node, "axis", 0), context.dims(node.input[0])
    if axis >= 0:
        return
    if dims is None:
        raise Refused("its axis counts from the end of an unknown rank")
    put(node, "axis", axis + len(dims))


@downgrade(*_FROM_THE_FRONT, below=11)
def axes_from_the_front(node: NodeProto, context: Downgrade) -> None:
    """Models of that time may say it nevertheless: where the rank is not known it is left as it is."""
    found = next((a for a in node.attribute if a.name in ("axis", "axes")), None)
    if found is None:
        return
    axes, dims = list(found.ints) or [found.i], context.dims(node.input[0])
    if min(axes) >= 0:
        return
    if dims is None:
        if context.original >= 11:
            raise Refused("its axis counts from the end of an unknown rank")
        return
    rank = len(dims) + (len(axes) if node.op_type == "Unsqueeze" else 0)
    positive = [axis + rank if axis < 0 else axis for axis in axes]
    put(node, found.name, positive if found.name == "axes" else positive[0])


@downgrade("Reshape", below=14)
def empty_dims(node: NodeProto, context: Downgrade) -> None:
    """A 0 copies a dim in older versions; models of their time say nothing else."""
    allow_zero = take(node, "allowzero")
    if allow_zero is None or not allow_zero.i or context.original < 14:
        return
    if 0 in context.ints(node.input[1], "shape, which may hold 0,"):
        raise Refused("a 0 in its shape is an empty dim")


@downgrade("GridSample", below=20)
def grid_sample_modes(node: NodeProto, context: Downgrade) -> None:
    dims = context.dims(node.input[0])
    if context.original >= 20 and (dims is None or len(dims) != 4):
        raise Refused("it may not be two-dimensional")
    mode = string_of(node, "mode", "linear")
    put(node, "mode", {"linear": "bilinear", "cubic": "bicubic"}.get(mode, mode))


@downgrade("RoiAlign", below=16)
def roi_align_coordinates(node: NodeProto, context: Downgrade) -> None:
    if string_of(node, "coordinate_transformation_mode", "half_pixel") != "output_half_pixel":
        raise Refused("its coordinates are half_pixel")
    take(node, "coordinate_transformation_mode")


@downgrade("GroupNormalization", below=21)
def scale_per_group(node: NodeProto, context: Downgrade) -> None:
    raise Refused("its scale is per channel")


@downgrade("BatchNormalization", below=14)
def inference_only(node: NodeProto, context: Downgrade) -> None:
    mode = take(node, "training_mode")
    if mode is not None and mode.i:
        raise Refused("it is in training mode")


@downgrade("ScatterElements", below=11)
def as_scatter(node: NodeProto, context: Downgrade) -> None:
    if string_of(node, "reduction", "none") != "none":
        raise Refused("it reduces")
    take(node, "reduction")
    node.op_type = "Scatter"


@downgrade("Resize", below=13)
def empty_tensors(node: NodeProto, context: Downgrade) -> None:
    """Version 11 wants region and scales even where they do not count."""
    empty = context.add_constant(np.zeros(0, dtype=np.float32))
    keep_inputs(
        node, [name or empty for name in (*node.input[:3], *[""] * (3 - len(node.input)))] + node.input[3:]
    )


@downgrade("Resize", below=11)
def coordinates_of_10(node: NodeProto, context: Downgrade) -> None:
    if len(node.input) > 3 and node.input[3]:
        raise Refused("it is given sizes")
    if string_of(node, "coordinate_transformation_mode", "half_pixel") != "asymmetric":
        raise Refused("its coordinates are not asymmetric")
    mode = string_of(node, "mode", "nearest")
    if mode == "cubic":
        raise Refused("it is cubic")
    if mode == "nearest":
        scales = context.constant_of(node.input[2])
        rounding = string_of(node, "nearest_mode", "round_prefer_floor")
        enlarges = _enlarges(scales, context) and rounding == "floor"
        shrinks = scales is not None and bool((scales <= 1).all()) and rounding == "ceil"
        if not enlarges and not shrinks:
            raise Refused(f"its nearest_mode is {rounding}")
    for name in ("coordinate_transformation_mode", "nearest_mode"):
        take(node, name)
    keep_inputs(node, [node.input[0], node.input[2]])


@downgrade("Resize", below=10)
def as_upsample(node: NodeProto, context: Downgrade) -> None:
    scales = context.constant_of(node.input[1])
    if not _enlarges(scales, context):
        raise Refused("it may shrink")
    node.op_type = "Upsample"


def _enlarges(scales: Array | None, context: Downgrade) -> bool:
    """Unknown scales of a model older than Resize came from Upsample, which only enlarges."""
    return context.original < 10 if scales is None else bool((scales >= 1).all())


@downgrade("Upsample", below=9)
def scales_attribute(node: NodeProto, context: Downgrade) -> None:
    scales = context.constant_of(node.input[1])
    if scales is None:
        raise Refused("scales is not a constant")
    put(node, "scales", [float(s) for s in scales.reshape(-1)])
    drop_inputs(node, 1)


@downgrade(*BINARY, below=7)
def no_broadcast(node: NodeProto, context: Downgrade) -> None:
    _same_dims(node, context)


@downgrade("Sum", "Max", "Min", "Mean", below=8)
def no_broadcast_in_8(node: NodeProto, context: Downgrade) -> None:
    if context.original >= 8:
        _same_dims(node, context)


def _same_dims(node: NodeProto, context: Downgrade) -> None:
    dims = [context.dims(name) for name in node.input]
    if any(found is None or found != dims[0] or min(found, default=0) < 0 for found in dims):
        raise Refused("its operands may be broadcast")


@downgrade("PRelu", below=9)
def slope_without_broadcast(node: NodeProto, context: Downgrade) -> None:
    dims = context.dims(input_name(node, 1))
    if context.original >= 9 and (dims is None or dims != context.dims(node.input[0])):
        raise Refused("its slope may be broadcast")
