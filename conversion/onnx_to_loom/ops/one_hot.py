"""OneHot: each index compared with its place along the depth. What is out of range is off everywhere."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import TensorType, i64
from xdsl.ir import SSAValue

from onnxloom.conversion.onnx_to_loom.builder import (
    KernelBuilder,
    buffer_element,
    number_element,
    rank_of,
    ranked,
)
from onnxloom.conversion.onnx_to_loom.kernel_body import KernelBody
from onnxloom.conversion.onnx_to_loom.moving.copying import word_type
from onnxloom.conversion.onnx_to_loom.ops.movement import exact_dims
from onnxloom.conversion.onnx_to_loom.registry import Inputs, lowering
from onnxloom.conversion.onnx_to_loom.value_checks import read_sizes, refuse_other_count
from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.access import int_attr
from onnxloom.dialects.onnx.semantics.conversion import convert
from onnxloom.dialects.onnx.semantics.scalars import is_float, is_unsigned


@lowering(onnx.OneHotOp)
def lower_one_hot(op: onnx.OneHotOp, inputs: Inputs, builder: KernelBuilder) -> Sequence[SSAValue]:
    """The depth is read when the plan is made; negative indices count from its end."""
    indices, depth, values = inputs
    assert indices is not None and depth is not None and values is not None
    number_element(indices.type)
    type_ = ranked(op.output.type, "the result")
    word_type(type_)
    dims = builder.dims(indices)
    axis = int_attr(op, "axis", -1) % (rank_of(indices) + 1)
    size = _whole(builder, depth)
    refuse_other_count(builder, values, 2, "the operand with the values for off and on")
    may_be_negative = not is_unsigned(ranked(indices.type, "the indices").element_type)
    k = builder.kernel("one_hot", [indices, values], [type_], 3)
    outer, count, inner = k.sizes
    s = k.scalars
    off, on = (k.load(k.ins[1], k.index(i)) for i in range(2))
    with k.task_nest(outer, inner) as (o, i):
        index = k.to_index(convert(s, k.load(k.ins[0], k.at(o, inner, i)), i64, not may_be_negative))
        place = (
            s.select(s.cmp("lt", index, k.index(0)), k.add(index, count), index) if may_be_negative else index
        )
        with k.loop(count, parallel=True) as d:
            hit = s.cmp("eq", place, d)
            k.store(s.select(hit, on, off), k.outs[0], k.at(k.at(o, count, d), inner, i))
    out = builder.empty(type_, exact_dims(builder, type_, [*dims[:axis], size, *dims[axis:]]))
    sizes = [builder.multiply(dims[:axis]), size, builder.multiply(dims[axis:])]
    return builder.launch(k, [indices, values], [out], sizes)


def _whole(builder: KernelBuilder, depth: SSAValue) -> SSAValue:
    """The depth as a size; floats are truncated."""
    element = buffer_element(depth.type)
    if not is_float(element):
        return read_sizes(builder, depth, 1, "the depth")[0]
    refuse_other_count(builder, depth, 1, "the depth")
    k = KernelBody("truncated", [element], [i64], 0)
    k.store(convert(k.scalars, k.load(k.ins[0], k.index(0)), i64, False), k.outs[0], k.index(0))
    (whole,) = builder.launch(k, [depth], [builder.empty(TensorType(i64, [1]), [builder.index(1)])], [])
    return builder.read(whole, 0)
