"""Broadcasting before opset 7: switched on by an attribute, aligned by another."""

from __future__ import annotations

import numpy as np
from onnx import NodeProto, TensorProto

from onnxloom.conversion.onnx_import.upgrade.registry import Upgrade, take, take_int, upgrade

BINARY = ("Add", "Sub", "Mul", "Div", "Pow", "And", "Or", "Xor", "Equal", "Greater", "Less")
_IN_PLACE = (
    "Abs",
    "Add",
    "BatchNormalization",
    "Ceil",
    "Div",
    "Dropout",
    "Elu",
    "Exp",
    "Floor",
    "HardSigmoid",
    "InstanceNormalization",
    "LeakyRelu",
    "Log",
    "Max",
    "Mean",
    "Min",
    "Mul",
    "Neg",
    "PRelu",
    "Reciprocal",
    "Relu",
    "Sigmoid",
    "Sqrt",
    "Sub",
    "Sum",
    "Tanh",
)


@upgrade(*_IN_PLACE, to=6)
def no_consumed_inputs(node: NodeProto, context: Upgrade) -> None:
    """`consumed_inputs` allowed an op to work in place; it changes no result."""
    take(node, "consumed_inputs")


@upgrade(*BINARY, to=7)
def aligned_operand(node: NodeProto, context: Upgrade) -> None:
    """`axis=k`: the second operand's first dim lies at dim k of the first; numpy aligns the last dims."""
    is_broadcast = take_int(node, "broadcast", 0)
    axis = take(node, "axis")
    if axis is None or not is_broadcast:
        return
    node.input[1] = with_trailing_ones(context, node.input[0], node.input[1], axis.i)


@upgrade("Gemm", to=7)
def gemm_broadcast(node: NodeProto, context: Upgrade) -> None:
    take(node, "broadcast")


@upgrade("PRelu", to=7)
def channel_slope(node: NodeProto, context: Upgrade) -> None:
    """Before 7, a slope of rank 1 is per channel (dim 1), not per last dim."""
    rank = context.rank(node.input[1])
    if rank is None or rank == 1:
        node.input[1] = with_trailing_ones(context, node.input[0], node.input[1], 1)


def with_trailing_ones(context: Upgrade, data: str, operand: str, axis: int) -> str:
    """The operand, reshaped so that its first dim aligns with dim `axis` of the data."""
    data_rank, operand_rank = context.rank(data), context.rank(operand)
    if data_rank is not None and operand_rank is not None:
        start = axis + data_rank if axis < 0 else axis
        missing = data_rank - start - operand_rank
        if missing <= 0:
            return operand
        axes = context.constant(range(operand_rank, operand_rank + missing))
        return context.add("Unsqueeze", [operand, axes])
    shape = context.add("Shape", [operand])
    rank = context.add("Shape", [context.add("Shape", [data])])
    end = context.constant([axis]) if axis >= 0 else context.add("Add", [rank, context.constant([axis])])
    missing_dims = context.add("Sub", [context.add("Sub", [rank, end]), context.add("Shape", [shape])])
    count = context.add("Max", [missing_dims, context.constant([0])])
    one = TensorProto(data_type=TensorProto.INT64, dims=[1], raw_data=np.int64(1).tobytes())
    ones = context.add("ConstantOfShape", [count], value=one)
    return context.add("Reshape", [operand, context.add("Concat", [shape, ones], axis=0)])
