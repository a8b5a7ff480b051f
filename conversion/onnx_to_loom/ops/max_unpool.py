"""MaxUnpool: elements at the places that MaxPool found them at, zeros elsewhere."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith
from xdsl.dialects.builtin import DYNAMIC_INDEX, TensorType, i64
from xdsl.ir import Attribute, SSAValue
from xdsl.utils.hints import isa

from onnxloom.conversion.onnx_to_loom.builder import KernelBuilder, rank_of, ranked
from onnxloom.conversion.onnx_to_loom.decline import Declined
from onnxloom.conversion.onnx_to_loom.moving.copying import fill, word_type
from onnxloom.conversion.onnx_to_loom.registry import Inputs, lowering
from onnxloom.conversion.onnx_to_loom.value_checks import IndexGuard, read_sizes, refuse_where
from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.access import ints_attr
from onnxloom.dialects.onnx.semantics.scalars import Scalar


@lowering(onnx.MaxUnpoolOp)
def lower_max_unpool(op: onnx.MaxUnpoolOp, inputs: Inputs, builder: KernelBuilder) -> Sequence[SSAValue]:
    """Places count within the tensor that was pooled, which lies at the beginning of a larger result."""
    data, places, *rest = inputs
    assert data is not None and places is not None
    word, rank, type_ = word_type(data.type), rank_of(data), op.output.type
    if not isa(type_, TensorType[Attribute]):  # its rank follows from that of the data
        type_ = TensorType(ranked(data.type, "the data").element_type, [DYNAMIC_INDEX] * rank)
    pooled = _pooled_dims(op, builder, data)
    dims = pooled if not rest or rest[0] is None else read_sizes(builder, rest[0], rank, "output_shape")
    for d in range(rank):
        refuse_where(
            builder,
            dims[d],
            "slt" if d > 1 else "ne",
            pooled[d],
            f"dim {d} of output_shape is {'smaller than' if d > 1 else 'not'} that of the pooled tensor",
        )
    count = builder.multiply(builder.dims(data))
    refuse_where(
        builder,
        builder.multiply(builder.dims(places)),
        "ne",
        count,
        "there is not one place for each element",
    )
    guard = IndexGuard(builder, places, [builder.multiply(pooled)], from_end=False)
    k = guard.kernel("max_unpool", [word, i64], word, 2 + 2 * rank)
    (elements, total), inner, outer = k.sizes[:2], k.sizes[2 : 2 + rank], k.sizes[2 + rank :]

    def put(i: Scalar, acc: Sequence[Scalar]) -> Sequence[Scalar]:
        place, outside = guard.place(k, k.load(k.ins[1], i), total)
        write = k.index(0)
        for d, at in enumerate(k.split(place, inner)):
            write = k.at(write, outer[d], at)
        k.store(k.load(k.ins[0], i), k.outs[0], write)
        return [guard.join(k, acc[0], outside)]

    (flag,) = k.reduce(elements, [k.index(0)], put)
    guard.report(k, flag, k.ins[1], elements, [total])
    target = fill(builder, builder.empty(type_, dims), dims, None)
    return guard.launch(k, [data, places], target, [count, builder.multiply(pooled), *pooled, *dims])


def _pooled_dims(op: onnx.MaxUnpoolOp, builder: KernelBuilder, data: SSAValue) -> list[SSAValue]:
    """The dims that the smallest tensor has which pools to the data."""
    spatial = rank_of(data) - 2
    kernel, strides = ints_attr(op, "kernel_shape") or (), ints_attr(op, "strides") or (1,) * spatial
    pads = ints_attr(op, "pads") or (0,) * (2 * spatial)
    if spatial < 1 or not len(kernel) == len(strides) == len(pads) // 2 == spatial:
        raise Declined("the window does not have as many dims as the data")
    n, c, *sizes = builder.dims(data)
    dims = [n, c]
    for i, size in enumerate(sizes):
        span = builder.multiply([size, builder.index(strides[i])])
        rest = builder.index(kernel[i] - strides[i] - pads[i] - pads[i + spatial])
        dims.append(builder.insert(arith.AddiOp(span, rest)).results[0])
    return dims
