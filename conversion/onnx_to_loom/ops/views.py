"""Ops that only rename dims: Reshape, Flatten, Squeeze, Unsqueeze are the same memory under other dims."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import DYNAMIC_INDEX, TensorType
from xdsl.ir import SSAValue

from onnxloom.conversion.onnx_to_loom.builder import (
    KernelBuilder,
    index_value,
    program_constant,
    rank_of,
    ranked,
    shape_of,
)
from onnxloom.conversion.onnx_to_loom.decline import Declined
from onnxloom.conversion.onnx_to_loom.registry import Inputs, lowering
from onnxloom.conversion.onnx_to_loom.value_checks import refuse_where
from onnxloom.dialects import loom, onnx
from onnxloom.dialects.onnx.access import int_attr


def normalized(axes: Sequence[int], rank: int) -> list[int]:
    """Axes counted from the front."""
    return [axis + rank if axis < 0 else axis for axis in axes]


def viewed(
    builder: KernelBuilder, source: SSAValue, dims: Sequence[SSAValue], op_result: SSAValue
) -> Sequence[SSAValue]:
    """A view with the op's result type, made more precise by dims known here."""
    type_ = ranked(op_result.type, "the result")
    if len(dims) != type_.get_num_dims():
        raise Declined("the result type does not have the rank computed from the operands")
    exact = [
        builder.index(d) if d != DYNAMIC_INDEX and index_value(size) is None else size
        for d, size in zip(type_.get_shape(), dims, strict=True)
    ]
    return [builder.view(source, exact)]


def lower_reshape(op: onnx.ReshapeOp, inputs: Inputs, builder: KernelBuilder) -> Sequence[SSAValue]:
    """Dims from the type where it has them, else from the shape operand at plan time."""
    data, shape = inputs
    assert data is not None and shape is not None
    type_ = ranked(op.reshaped.type, "the result")
    static = type_.get_shape()
    if static.count(DYNAMIC_INDEX) == 0 and isinstance(data.type, TensorType):
        dims = [builder.index(d) for d in static]
        message = f"the input does not have the number of elements of the shape {list(static)}"
        refuse_where(builder, builder.multiply(builder.dims(data)), "ne", builder.multiply(dims), message)
        return viewed(builder, data, dims, op.reshaped)
    allowzero = bool(int_attr(op, "allowzero", 0))
    dims = builder.insert(loom.ReshapeSizesOp(data, shape, len(static), allowzero)).results
    return viewed(builder, data, dims, op.reshaped)


def lower_flatten(op: onnx.FlattenOp, inputs: Inputs, builder: KernelBuilder) -> Sequence[SSAValue]:
    """Two dims: those before the axis and those from it on."""
    (data,) = inputs
    assert data is not None
    dims = builder.dims(data)
    axis = int_attr(op, "axis", 1)
    axis = axis + len(dims) if axis < 0 else axis
    return viewed(
        builder, data, [builder.multiply(dims[:axis]), builder.multiply(dims[axis:])], op.results[0]
    )


def _planned(
    result: SSAValue, data: SSAValue, axes: SSAValue, builder: KernelBuilder, insert: bool
) -> Sequence[SSAValue]:
    """Dims from axes that are read at plan time; only their number must be known here."""
    listed = shape_of(axes)
    if len(listed) == 1 and listed[0] != DYNAMIC_INDEX:
        rank = rank_of(data) + (listed[0] if insert else -listed[0])
    else:
        rank = ranked(result.type, "the result").get_num_dims()
    dims = builder.insert(loom.SqueezeDimsOp.make(data, axes, rank, insert)).results
    return [builder.view(data, dims)]


def lower_squeeze(op: onnx.SqueezeOp, inputs: Inputs, builder: KernelBuilder) -> Sequence[SSAValue]:
    """The dims that are not removed."""
    data, operand = [*inputs, None][:2]
    assert data is not None
    constant = None if operand is None else program_constant(operand)
    if operand is not None and constant is None:
        return _planned(op.results[0], data, operand, builder, insert=False)
    dims, rank = builder.dims(data), rank_of(data)
    if constant is not None:
        axes = [int(axis) for axis in constant.reshape(-1)]
    else:
        if any(index_value(d) is None for d in dims):
            raise Declined("which dims are 1 is not known before run time")
        axes = [i for i, d in enumerate(dims) if index_value(d) == 1]
    removed = set(normalized(axes, rank))
    for d in removed:
        refuse_where(builder, dims[d], "ne", builder.index(1), f"dim {d} is not 1: it cannot be removed")
    return viewed(builder, data, [d for i, d in enumerate(dims) if i not in removed], op.results[0])


def lower_unsqueeze(op: onnx.UnsqueezeOp, inputs: Inputs, builder: KernelBuilder) -> Sequence[SSAValue]:
    """Dims of 1 put in."""
    data, operand = inputs
    assert data is not None and operand is not None
    constant = program_constant(operand)
    if constant is None:
        return _planned(op.results[0], data, operand, builder, insert=True)
    axes = [int(axis) for axis in constant.reshape(-1)]
    dims = builder.dims(data)
    added = set(normalized(axes, len(dims) + len(axes)))
    rest = iter(dims)
    total = len(dims) + len(axes)
    return viewed(
        builder, data, [builder.index(1) if i in added else next(rest) for i in range(total)], op.results[0]
    )


def lower_identity(op: onnx.IdentityOp, inputs: Inputs, builder: KernelBuilder) -> Sequence[SSAValue]:
    """The value itself."""
    (value,) = inputs
    assert value is not None
    return [value]


reshape = lowering(onnx.ReshapeOp)(lower_reshape)
flatten = lowering(onnx.FlattenOp)(lower_flatten)
squeeze = lowering(onnx.SqueezeOp)(lower_squeeze)
unsqueeze = lowering(onnx.UnsqueezeOp)(lower_unsqueeze)
identity = lowering(onnx.IdentityOp)(lower_identity)
