"""OneHot: each index compared with its place along the depth. What is out of range is off everywhere."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from onnxloom.conversion.onnx_to_loom.builder import KernelBuilder, rank_of, ranked
from onnxloom.conversion.onnx_to_loom.decline import Declined
from onnxloom.conversion.onnx_to_loom.moving.copying import word_type
from onnxloom.conversion.onnx_to_loom.ops.movement import exact_dims
from onnxloom.conversion.onnx_to_loom.registry import Inputs, lowering
from onnxloom.dialects import loom, onnx
from onnxloom.dialects.onnx.access import int_attr
from onnxloom.dialects.onnx.element_types import ELEMENT_TYPES

_SIGNED = tuple(ELEMENT_TYPES[f"int{width}"] for width in (8, 16, 32, 64))


@lowering(onnx.OneHotOp)
def lower_one_hot(op: onnx.OneHotOp, inputs: Inputs, builder: KernelBuilder) -> Sequence[SSAValue]:
    """The depth is read when the plan is made; negative indices count from its end."""
    indices, depth, values = inputs
    assert indices is not None and depth is not None and values is not None
    if ranked(indices.type, "the indices").element_type not in _SIGNED:
        raise Declined("indices that are no signed integers have no kernel")
    if ranked(depth.type, "the depth").element_type not in _SIGNED:
        raise Declined("a depth that is no signed integer has no kernel")
    type_ = ranked(op.output.type, "the result")
    word_type(type_)
    dims = builder.dims(indices)
    axis = int_attr(op, "axis", -1) % (rank_of(indices) + 1)
    size = builder.insert(loom.ExtractOp(depth, 0)).results[0]
    k = builder.kernel("one_hot", [indices, values], [type_], 3)
    outer, count, inner = k.sizes
    s = k.scalars
    off, on = (k.load(k.ins[1], k.index(i)) for i in range(2))
    with k.task_nest(outer, inner) as (o, i):
        index = k.to_index(k.load(k.ins[0], k.at(o, inner, i)))
        place = s.select(s.cmp("lt", index, k.index(0)), k.add(index, count), index)
        with k.loop(count, parallel=True) as d:
            hit = s.cmp("eq", place, d)
            k.store(s.select(hit, on, off), k.outs[0], k.at(k.at(o, count, d), inner, i))
    out = builder.empty(type_, exact_dims(builder, type_, [*dims[:axis], size, *dims[axis:]]))
    sizes = [builder.multiply(dims[:axis]), size, builder.multiply(dims[axis:])]
    return builder.launch(k, [indices, values], [out], sizes)
