"""Ops the first opset had as experiments: written out with the ops that stayed."""

from __future__ import annotations

import numpy as np
from onnx import NodeProto

from onnxloom.conversion.onnx_import.upgrade.registry import (
    Upgrade,
    keep_inputs,
    put,
    take,
    take_float,
    take_int,
    take_ints,
    upgrade,
)

_END = int(np.iinfo(np.int64).max)


@upgrade("ThresholdedRelu", to=10)
def thresholded_relu(node: NodeProto, context: Upgrade) -> None:
    """The same op under the same name."""


@upgrade("Affine", to=1)
def affine(node: NodeProto, context: Upgrade) -> None:
    """alpha * x + beta"""
    alpha, beta = take_float(node, "alpha", 1.0), take_float(node, "beta", 0.0)
    data = node.input[0]
    scaled = context.add("Mul", [data, context.scalar_like(alpha, data)])
    node.op_type = "Add"
    keep_inputs(node, [scaled, context.scalar_like(beta, data)])


@upgrade("Scale", to=1)
def scale(node: NodeProto, context: Upgrade) -> None:
    """scale * x"""
    factor, data = take_float(node, "scale", 1.0), node.input[0]
    node.op_type = "Mul"
    keep_inputs(node, [data, context.scalar_like(factor, data)])


@upgrade("ScaledTanh", to=1)
def scaled_tanh(node: NodeProto, context: Upgrade) -> None:
    """alpha * tanh(beta * x)"""
    _scaled_function(node, context, "Tanh")


@upgrade("ParametricSoftplus", to=1)
def parametric_softplus(node: NodeProto, context: Upgrade) -> None:
    """alpha * softplus(beta * x)"""
    _scaled_function(node, context, "Softplus")


def _scaled_function(node: NodeProto, context: Upgrade, function: str) -> None:
    alpha, beta = take_float(node, "alpha", 1.0), take_float(node, "beta", 1.0)
    data = node.input[0]
    inner = context.add("Mul", [data, context.scalar_like(beta, data)])
    node.op_type = "Mul"
    keep_inputs(node, [context.add(function, [inner]), context.scalar_like(alpha, data)])


@upgrade("ImageScaler", to=1)
def image_scaler(node: NodeProto, context: Upgrade) -> None:
    """scale * x + bias[channel]"""
    factor, data = take_float(node, "scale", 1.0), node.input[0]
    found = take(node, "bias")
    bias = np.array(found.floats if found is not None else [0.0], dtype=np.float32).reshape(-1, 1, 1)
    scaled = context.add("Mul", [data, context.scalar_like(factor, data)])
    node.op_type = "Add"
    keep_inputs(node, [scaled, context.add("CastLike", [context.constant(bias), data])])


@upgrade("Crop", to=1)
def crop(node: NodeProto, context: Upgrade) -> None:
    """The image without `border` (left, top, right, bottom), or `scale` (height, width) of it from there."""
    border, size = take_ints(node, "border"), take_ints(node, "scale")
    if border is None or len(border) != 4 or (size is not None and len(size) != 2):
        raise ValueError("border has not 4 numbers, or scale not 2")
    left, top, right, bottom = border
    ends: list[int] = [-bottom or _END, -right or _END] if size is None else [top + size[0], left + size[1]]
    node.op_type = "Slice"
    for name, values in (("starts", [top, left]), ("ends", ends), ("axes", [2, 3])):
        put(node, name, values)


@upgrade("MeanVarianceNormalization", to=9)
def mean_variance_axes(node: NodeProto, context: Upgrade) -> None:
    """`across_channels` -> axes; without `normalize_variance` only the mean is taken away."""
    axes = [0, 1, 2, 3] if take_int(node, "across_channels", 0) else [0, 2, 3]
    if take_int(node, "normalize_variance", 1):
        put(node, "axes", axes)
        return
    data = node.input[0]
    node.op_type = "Sub"
    keep_inputs(node, [data, context.add("ReduceMean", [data, context.constant(axes)])])
