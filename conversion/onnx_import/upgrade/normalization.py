"""BatchNormalization before opset 14 and GroupNormalization before 21."""

from __future__ import annotations

from onnx import NodeProto

from onnxloom.conversion.onnx_import.upgrade.registry import (
    Upgrade,
    keep_inputs,
    take,
    take_float,
    take_int,
    upgrade,
)


@upgrade("BatchNormalization", to=9)
def per_channel(node: NodeProto, context: Upgrade) -> None:
    """`spatial=0` normalizes each activation with its own statistics: written out with elementwise ops."""
    take(node, "is_test")
    if take_int(node, "spatial", 1):
        return
    epsilon = take_float(node, "epsilon", 1e-5)
    inference_outputs(node, context)
    data, scale, bias, mean, variance = node.input
    shifted = context.add("Add", [variance, context.scalar_like(epsilon, variance)])
    normalized = context.add("Div", [context.add("Sub", [data, mean]), context.add("Sqrt", [shifted])])
    node.op_type = "Add"
    del node.attribute[:]
    keep_inputs(node, [context.add("Mul", [normalized, scale]), bias])


@upgrade("BatchNormalization", to=14)
def inference_outputs(node: NodeProto, context: Upgrade) -> None:
    """The statistics that training would give have no counterpart in inference."""
    if any(name and context.is_read(name) for name in node.output[1:]):
        raise context.unsupported("its statistics are read; expected inference")
    del node.output[1:]


@upgrade("GroupNormalization", to=21)
def scale_per_channel(node: NodeProto, context: Upgrade) -> None:
    """Scale and bias per group -> per channel: each repeated for the channels of its group."""
    shape = context.add("Shape", [node.input[0]], start=1, end=2)
    groups = next((a.i for a in node.attribute if a.name == "num_groups"), 1)
    if groups < 1:
        raise ValueError(f"num_groups is {groups}")
    count = context.constant([groups])
    repeats = context.add("Concat", [count, context.add("Div", [shape, count])], axis=0)
    for index in (1, 2):
        column = context.add("Unsqueeze", [node.input[index], context.constant([1])])
        expanded = context.add("Expand", [column, repeats])
        node.input[index] = context.add("Reshape", [expanded, context.constant([-1])])
