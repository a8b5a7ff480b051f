"""Ops that reduce axes: Reduce*, ArgMax, ArgMin, GlobalAveragePool, GlobalMaxPool."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Operation, SSAValue

from onnxloom.conversion.onnx_to_loom.builder import (
    KernelBuilder,
    buffer_element,
    program_constant,
    rank_of,
    ranked,
    shape_of,
)
from onnxloom.conversion.onnx_to_loom.decline import Declined
from onnxloom.conversion.onnx_to_loom.ops.movement import exact_dims
from onnxloom.conversion.onnx_to_loom.reductions.reducing import Reduction, reduce_axes, row_reduction
from onnxloom.conversion.onnx_to_loom.reductions.reductions import arg_extreme, reduction
from onnxloom.conversion.onnx_to_loom.registry import Inputs, lowering
from onnxloom.conversion.onnx_to_loom.value_checks import refuse_empty
from onnxloom.dialects import loom, onnx
from onnxloom.dialects.onnx.access import int_attr

REDUCE_OPS = (
    onnx.ReduceSumOp, onnx.ReduceMeanOp, onnx.ReduceProdOp, onnx.ReduceMaxOp, onnx.ReduceMinOp,
    onnx.ReduceL1Op, onnx.ReduceL2Op, onnx.ReduceSumSquareOp, onnx.ReduceLogSumOp, onnx.ReduceLogSumExpOp,
)  # fmt: skip

_IDENTITIES = (onnx.ReduceSumOp, onnx.ReduceMeanOp, onnx.ReduceProdOp, onnx.ReduceMaxOp, onnx.ReduceMinOp)
"""Of one element they give that element; the others still square it, take its logarithm, ..."""


def result_dims(builder: KernelBuilder, source: SSAValue, axes: set[int], keepdims: bool) -> list[SSAValue]:
    """Dims left after a reduction."""
    dims = builder.dims(source)
    one = builder.index(1)
    return [one if d in axes else size for d, size in enumerate(dims) if keepdims or d not in axes]


def _place(axis: int, rank: int) -> int:
    """The axis counted from the front. Raises Declined if there is no such dim (the host step says so)."""
    if not -max(rank, 1) <= axis < max(rank, 1):
        raise Declined(f"axis {axis} is out of range for a tensor of {rank} dims")
    return axis % max(rank, 1)


def lower_reduce(op: Operation, inputs: Inputs, builder: KernelBuilder) -> Sequence[SSAValue]:
    """Reduce*: axes as a constant, or as an operand read at plan time."""
    data, axes = [*inputs, None][:2]
    assert data is not None
    buffer_element(data.type)
    type_ = ranked(op.results[0].type, "the result")
    rank, keepdims = rank_of(data), bool(int_attr(op, "keepdims", 1))
    noop = bool(int_attr(op, "noop_with_empty_axes", 0))
    rule = reduction(op.name.removeprefix("onnx."), ranked(data.type, "the operand").element_type)
    constant = None if axes is None else program_constant(axes)
    # No axes are no axes, whoever makes the operand.
    listless = axes is None or list(shape_of(axes)) == [0]
    if listless or constant is not None:
        listed = [] if constant is None else [_place(int(a), rank) for a in constant.reshape(-1)]
        chosen = set(listed) if listed or noop else set(range(rank))
        if not chosen and isinstance(op, _IDENTITIES):
            return [data]
        dims = result_dims(builder, data, chosen, keepdims)
        return [reduce_axes(builder, rule, data, chosen, type_, exact_dims(builder, type_, dims))]
    assert axes is not None
    return [_planned(builder, rule, data, axes, type_, keepdims, noop)]


def _planned(
    builder: KernelBuilder,
    rule: Reduction,
    data: SSAValue,
    axes: SSAValue,
    type_: object,
    keepdims: bool,
    noop: bool,
) -> SSAValue:
    result_type = ranked(type_, "the result")  # pyright: ignore[reportArgumentType]
    rank, out_rank = max(rank_of(data), 1), result_type.get_num_dims()
    space = builder.insert(loom.ReductionSpaceOp.make(data, axes, rank, out_rank, keepdims, noop)).results
    dims = exact_dims(builder, result_type, space[:out_rank])
    rows = [space[out_rank + i * rank : out_rank + (i + 1) * rank] for i in range(4)]
    return row_reduction(
        builder, rule, data, result_type, dims, (rows[0], rows[1]), (rows[2], rows[3]), unit=False
    )


def lower_arg(op: Operation, inputs: Inputs, builder: KernelBuilder) -> Sequence[SSAValue]:
    """ArgMax, ArgMin."""
    (data,) = inputs
    assert data is not None
    type_ = ranked(op.results[0].type, "the result")
    rank = rank_of(data)
    axis = _place(int_attr(op, "axis", 0), rank)
    rule = arg_extreme(
        ranked(data.type, "the operand").element_type,
        largest=isinstance(op, onnx.ArgMaxOp),
        last=bool(int_attr(op, "select_last_index", 0)),
    )
    if rank:
        refuse_empty(builder, builder.dim(data, axis), f"axis {axis} has no elements to choose from")
    dims = result_dims(builder, data, {axis}, bool(int_attr(op, "keepdims", 1)))
    return [reduce_axes(builder, rule, data, {axis}, type_, exact_dims(builder, type_, dims))]


def lower_global_pool(op: Operation, inputs: Inputs, builder: KernelBuilder) -> Sequence[SSAValue]:
    """GlobalAveragePool, GlobalMaxPool: all dims after the channels."""
    (data,) = inputs
    assert data is not None
    type_ = ranked(op.results[0].type, "the result")
    name = "ReduceMean" if isinstance(op, onnx.GlobalAveragePoolOp) else "ReduceMax"
    axes = set(range(2, rank_of(data)))
    rule = reduction(name, ranked(data.type, "the operand").element_type)
    dims = result_dims(builder, data, axes, keepdims=True)
    return [reduce_axes(builder, rule, data, axes, type_, exact_dims(builder, type_, dims))]


reduce = lowering(*REDUCE_OPS)(lower_reduce)
arg = lowering(onnx.ArgMaxOp, onnx.ArgMinOp)(lower_arg)
global_pool = lowering(onnx.GlobalAveragePoolOp, onnx.GlobalMaxPoolOp)(lower_global_pool)
