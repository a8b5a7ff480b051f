"""Softmax, LogSoftmax and Hardmax before opset 13 flatten their input to a matrix at `axis`."""

from __future__ import annotations

from onnx import NodeProto

from onnxloom.conversion.onnx_import.upgrade.registry import Upgrade, put, take_int, upgrade


@upgrade("Softmax", "LogSoftmax", "Hardmax", to=13)
def over_flattened(node: NodeProto, context: Upgrade) -> None:
    """Over the last axis both mean the same; else: flatten, apply to the rows, give the shape back."""
    axis = take_int(node, "axis", 1)
    rank = context.rank(node.input[0])
    put(node, "axis", -1)
    if axis == -1 or (rank is not None and axis == rank - 1):
        return
    data = node.input[0]
    node.input[0] = context.add("Flatten", [data], axis=axis)
    # An empty dim is one of the data's own, not a copy of a dim of the matrix.
    context.add_after(node, 0, "Reshape", context.add("Shape", [data]), allowzero=1)
