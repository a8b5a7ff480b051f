"""Upsample, and Resize before it knew coordinate modes."""

from __future__ import annotations

import numpy as np
from onnx import NodeProto

from onnxloom.conversion.onnx_import.upgrade.registry import (
    Upgrade,
    has,
    keep_inputs,
    put,
    set_input,
    take_float,
    take_string,
    upgrade,
)


@upgrade("Upsample", to=7)
def scales_of_image(node: NodeProto, context: Upgrade) -> None:
    height, width = take_float(node, "height_scale", 1.0), take_float(node, "width_scale", 1.0)
    put(node, "scales", [1.0, 1.0, height, width])


@upgrade("Upsample", to=9)
def scales_input(node: NodeProto, context: Upgrade) -> None:
    scales = next((list(a.floats) for a in node.attribute if a.name == "scales"), None)
    if scales is None:
        raise ValueError("attribute scales is missing")
    kept = [a for a in node.attribute if a.name != "scales"]
    del node.attribute[:]
    node.attribute.extend(kept)
    set_input(node, 1, context.constant(np.array(scales, dtype=np.float32)))


@upgrade("Upsample", to=10)
def as_resize(node: NodeProto, context: Upgrade) -> None:
    node.op_type = "Resize"
    mode = take_string(node, "mode", "nearest")
    put(node, "mode", "linear" if mode == "bilinear" else mode)
    # Upsample only enlarges.
    put(node, "nearest_mode", "floor")


@upgrade("Resize", to=11)
def coordinates_of_10(node: NodeProto, context: Upgrade) -> None:
    """Coordinates are out / scale; nearest rounds down where it enlarges, up where it shrinks."""
    is_upsample = has(node, "nearest_mode")
    data, scales = node.input[0], node.input[1]
    keep_inputs(node, [data, "", scales])
    put(node, "coordinate_transformation_mode", "asymmetric")
    mode = next((a.s for a in node.attribute if a.name == "mode"), b"nearest")
    if mode != b"nearest" or is_upsample:
        return
    known = context.known(scales)
    if known is not None and bool((known >= 1).all() or (known <= 1).all()):
        put(node, "nearest_mode", "floor" if bool((known >= 1).all()) else "ceil")
        return
    # Axes are independent of one another: enlarge first, then shrink.
    one = context.constant(np.array([1], dtype=np.float32))
    attributes = {"coordinate_transformation_mode": "asymmetric", "mode": "nearest"}
    larger = context.add("Max", [scales, one])
    node.input[0] = context.add("Resize", [data, "", larger], nearest_mode="floor", **attributes)
    node.input[2] = context.add("Min", [scales, one])
    put(node, "nearest_mode", "ceil")


@upgrade("Resize", to=13)
def optional_inputs_of_13(node: NodeProto, context: Upgrade) -> None:
    """Version 11 spells inputs that do not count as empty tensors; 13 leaves them out."""
    if len(node.input) > 3 and node.input[3] and len(node.input) > 2:
        node.input[2] = ""
    if len(node.input) > 1 and node.input[1]:
        roi = context.known(node.input[1])
        if roi is not None and roi.size == 0:
            node.input[1] = ""
    mode = next((a.s for a in node.attribute if a.name == "coordinate_transformation_mode"), b"")
    if mode == b"tf_half_pixel_for_nn":
        _without_tf_half_pixel(node, context)


def _without_tf_half_pixel(node: NodeProto, context: Upgrade) -> None:
    """(out + 0.5) / scale, rounded down, is half_pixel's coordinate rounded to nearest, ties up."""
    rounding = take_string(node, "nearest_mode", "round_prefer_floor") if has(node, "nearest_mode") else ""
    mode = next((a.s for a in node.attribute if a.name == "mode"), b"nearest")
    if mode != b"nearest" or rounding != "floor":
        raise context.unsupported("tf_half_pixel_for_nn is supported with nearest and floor only")
    put(node, "coordinate_transformation_mode", "half_pixel")
    put(node, "nearest_mode", "round_prefer_ceil")
