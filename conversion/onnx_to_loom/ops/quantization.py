"""QuantizeLinear and DequantizeLinear: elementwise where a scale broadcasts, else with blocks as a dim.

In blocked quantization a scale counts for `block_size` neighbours along an axis. Where these divide the axis,
data and scales are seen with one dim more, along which scales broadcast; else the scales are repeated first.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith
from xdsl.dialects.builtin import DYNAMIC_INDEX, TensorType
from xdsl.ir import Operation, SSAValue

from onnxloom.conversion.onnx_to_loom.builder import KernelBuilder, index_value, ranked, shape_of
from onnxloom.conversion.onnx_to_loom.decline import Declined
from onnxloom.conversion.onnx_to_loom.elementwise.single_elementwise import lower_elementwise
from onnxloom.conversion.onnx_to_loom.kernel_body import KernelBody
from onnxloom.conversion.onnx_to_loom.moving.copying import word_type
from onnxloom.conversion.onnx_to_loom.registry import Inputs, lowering
from onnxloom.conversion.onnx_to_loom.value_checks import refuse_where
from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.access import int_attr
from onnxloom.dialects.onnx.semantics import semantics_table
from onnxloom.dialects.onnx.semantics.quantization import (
    dequantize_covered,
    has_zero_point,
    is_blocked,
    quantize_covered,
)
from onnxloom.dialects.onnx.semantics.scalars import Scalar, Scalars


@lowering(onnx.QuantizeLinearOp, onnx.DequantizeLinearOp)
def lower_quantization(op: Operation, inputs: Inputs, builder: KernelBuilder) -> Sequence[SSAValue]:
    """One `map` kernel."""
    if not is_blocked(op):
        return lower_elementwise(op, inputs, builder)
    covered = quantize_covered if isinstance(op, onnx.QuantizeLinearOp) else dequantize_covered
    if not covered(op):
        raise Declined("blocked quantization between these element types has no kernel")
    return [_blocked(op, [v for v in inputs if v is not None], builder)]


def _blocked(op: Operation, operands: Sequence[SSAValue], builder: KernelBuilder) -> SSAValue:
    data, *parameters = operands
    shape, dims = shape_of(data), builder.dims(data)
    rank, block = len(shape), int_attr(op, "block_size", 0)
    axis = int_attr(op, "axis", 1)
    if not -rank <= axis < rank or block < 0:
        raise Declined(f"axis {axis} and blocks of {block} do not fit a tensor of rank {rank}")
    axis %= rank
    count = _blocks(builder, dims[axis], block)
    expected = [*dims[:axis], count, *dims[axis + 1 :]]
    for parameter in parameters:
        if len(shape_of(parameter)) != rank:
            raise Declined("the scales of blocks do not have the rank of the data")
        for d, size in enumerate(expected):
            message = f"dim {d} of the scales or zero points does not fit blocks of {block} along dim {axis}"
            refuse_where(builder, builder.dim(parameter, d), "ne", size, message)
    result = ranked(op.results[0].type, "the result").element_type
    types, name = shape, f"{op.name.removeprefix('onnx.').lower()}_blocked"
    if shape[axis] != DYNAMIC_INDEX and shape[axis] % block == 0:
        types = (*shape[:axis], shape[axis] // block, block, *shape[axis + 1 :])
        size, one = builder.index(block), builder.index(1)
        data = builder.view(data, [*expected[: axis + 1], size, *expected[axis + 1 :]])
        parameters = [
            builder.view(p, [*expected[: axis + 1], one, *expected[axis + 1 :]]) for p in parameters
        ]
    else:
        parameters = [_repeated(builder, p, axis, block, dims, shape) for p in parameters]
    row = semantics_table()[type(op)]

    def body(s: Scalars, x: Sequence[Scalar]) -> Sequence[Scalar]:
        zero = [x[2] if has_zero_point(op) else None] if len(op.operands) > 2 else []
        return [row.emit(s, op, [x[0], x[1], *zero])]

    (made,) = builder.map(name, [data, *parameters], [TensorType(result, types)], body)
    return builder.view(made, dims)


def _blocks(builder: KernelBuilder, size: SSAValue, block: int) -> SSAValue:
    """`size / block`, rounded up."""
    known = index_value(size)
    if known is not None:
        return builder.index(-(-known // block))
    return builder.insert(arith.CeilDivSIOp(size, builder.index(block))).results[0]


def _repeated(
    builder: KernelBuilder,
    source: SSAValue,
    axis: int,
    block: int,
    dims: Sequence[SSAValue],
    shape: Sequence[int],
) -> SSAValue:
    """Each entry along an axis `block` times, the last one as often as the size of the axis asks for."""
    type_ = TensorType(ranked(source.type, "an operand").element_type, shape)
    word = word_type(type_)
    k = KernelBody("repeat_entries", [word], [word], 5)
    outer, length, size, count, inner = k.sizes
    with k.task_nest(outer, length) as (o, i):
        read = k.mul(k.at(o, count, k.scalars.emit(arith.DivUIOp(i, size))), inner)
        write = k.mul(k.at(o, length, i), inner)
        with k.loop(inner, parallel=True) as j:
            k.store(k.load(k.ins[0], k.add(read, j)), k.outs[0], k.add(write, j))
    sizes = [
        builder.multiply(dims[:axis]),
        dims[axis],
        builder.index(block),
        builder.dim(source, axis),
        builder.multiply(dims[axis + 1 :]),
    ]
    return builder.launch(k, [source], [builder.empty(type_, dims)], sizes)[0]
