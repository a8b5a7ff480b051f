"""BatchNormalization in training mode: mean and variance of what is given, which move the running ones.

In inference it is elementwise, and in the table of scalar semantics.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import math as xmath
from xdsl.dialects.builtin import NoneType, TensorType
from xdsl.ir import Attribute, SSAValue

from onnxloom.conversion.onnx_to_loom.builder import (
    Body,
    KernelBuilder,
    buffer_element,
    rank_of,
    ranked,
    shape_of,
)
from onnxloom.conversion.onnx_to_loom.decline import Declined
from onnxloom.conversion.onnx_to_loom.elementwise.single_elementwise import lower_elementwise
from onnxloom.conversion.onnx_to_loom.reductions.reducing import reduce_axes
from onnxloom.conversion.onnx_to_loom.reductions.reductions import reduction
from onnxloom.conversion.onnx_to_loom.registry import Inputs, lowering
from onnxloom.conversion.onnx_to_loom.value_checks import refuse_where
from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.access import float_attr, int_attr
from onnxloom.dialects.onnx.semantics.scalars import Scalar, Scalars, compute_type


@lowering(onnx.BatchNormalizationOp)
def lower_batch_normalization(
    op: onnx.BatchNormalizationOp, inputs: Inputs, builder: KernelBuilder
) -> Sequence[SSAValue]:
    """Statistics are kept in f32 or f64."""
    if not int_attr(op, "training_mode"):
        return lower_elementwise(op, inputs, builder)
    data, scale, bias, mean, variance = inputs
    assert data is not None and scale is not None and bias is not None
    assert mean is not None and variance is not None
    rank = rank_of(data)
    if rank < 2:
        raise Declined("BatchNormalization of data without channels has no kernel")
    wide = compute_type(buffer_element(data.type))
    channels, one = builder.dim(data, 1), builder.index(1)
    parameters: list[SSAValue] = []
    for value in (scale, bias, mean, variance):
        if rank_of(value) != 1:
            raise Declined("a parameter of BatchNormalization is no vector")
        message = "a parameter does not have an element per channel"
        refuse_where(builder, builder.dim(value, 0), "ne", channels, message)
        parameters.append(builder.view(value, [channels, *[one] * (rank - 2)]))
    means = _channel_means(builder, data, wide)
    spread = TensorType(wide, shape_of(data))

    def squares(s: Scalars, x: Sequence[Scalar]) -> Sequence[Scalar]:
        distance = s.sub(s.widen(x[0]), x[1])
        return [s.mul(distance, distance)]

    variances = _channel_means(
        builder, builder.map("batch_squares", [data, means], [spread], squares)[0], wide
    )
    result = ranked(op.Y.type, "the result")
    storage = buffer_element(result)
    epsilon, momentum = float_attr(op, "epsilon"), float_attr(op, "momentum")

    def normalized(s: Scalars, x: Sequence[Scalar]) -> Sequence[Scalar]:
        value, center, square, factor, shift = (s.float_to(s.widen(v), wide) for v in x)
        root = s.unary(xmath.SqrtOp, s.add_const(square, epsilon))
        scaled = s.divf(s.mul(factor, s.sub(value, center)), root)
        return [s.float_to(s.add(scaled, shift), storage)]

    operands = [data, means, variances, *parameters[:2]]
    made = list(builder.map("batch_norm", operands, [result], normalized))
    for old, current, declared in ((mean, means, op.running_mean), (variance, variances, op.running_var)):
        if isinstance(declared.type, NoneType):
            continue
        type_ = ranked(declared.type, "a running statistic")
        now = builder.view(current, [channels])
        made += builder.map("running", [old, now], [type_], _moving(momentum, wide, buffer_element(type_)))
    return made


def _moving(momentum: float, wide: Attribute, target: Attribute) -> Body:
    """A running statistic and the current one, as the next running one."""

    def body(s: Scalars, x: Sequence[Scalar]) -> Sequence[Scalar]:
        before, now = (s.float_to(s.widen(v), wide) for v in x)
        mixed = s.add(s.mul_const(before, momentum), s.mul_const(now, 1.0 - momentum))
        return [s.float_to(mixed, target)]

    return body


def _channel_means(builder: KernelBuilder, data: SSAValue, wide: Attribute) -> SSAValue:
    """The mean of each channel, `[C, 1, ...]`."""
    element = ranked(data.type, "the data").element_type
    if element != wide:
        type_ = TensorType(wide, shape_of(data))
        data = builder.map("widen", [data], [type_], lambda s, x: [s.widen(x[0])])[0]
    dims, rank = builder.dims(data), rank_of(data)
    axes = {0, *range(2, rank)}
    type_ = TensorType(ranked(data.type, "the data").element_type, [shape_of(data)[1]])
    rule = reduction("ReduceMean", type_.element_type)
    means = reduce_axes(builder, rule, data, axes, type_, [dims[1]])
    return builder.view(means, [dims[1], *[builder.index(1)] * (rank - 2)])
