"""ReverseSequence: of each batch entry, the first elements along time in the opposite order."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import i64
from xdsl.ir import SSAValue

from onnxloom.conversion.onnx_to_loom.builder import KernelBuilder, rank_of
from onnxloom.conversion.onnx_to_loom.decline import Declined
from onnxloom.conversion.onnx_to_loom.kernel_body import KernelBody
from onnxloom.conversion.onnx_to_loom.moving.copying import word_type
from onnxloom.conversion.onnx_to_loom.registry import Inputs, lowering
from onnxloom.conversion.onnx_to_loom.value_checks import check_range, refuse_where
from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.access import int_attr


@lowering(onnx.ReverseSequenceOp)
def lower_reverse_sequence(
    op: onnx.ReverseSequenceOp, inputs: Inputs, builder: KernelBuilder
) -> Sequence[SSAValue]:
    """`[time, batch, ...]` or `[batch, time, ...]`; a length out of range is refused."""
    data, lengths = inputs
    assert data is not None and lengths is not None
    word = word_type(data.type)
    batch_first = int_attr(op, "batch_axis", 1) == 0
    axes = int_attr(op, "batch_axis", 1), int_attr(op, "time_axis", 0)
    if set(axes) != {0, 1} or rank_of(data) < 2 or rank_of(lengths) != 1:
        raise Declined("ReverseSequence over other axes than the first two has no kernel")
    dims = builder.dims(data)
    batches, times = (dims[axis] for axis in axes)
    refuse_where(
        builder, builder.dim(lengths, 0), "ne", batches, "there is not one length for each batch entry"
    )
    check_range(builder, lengths, times, "the length of a sequence")
    k = KernelBody("reverse_sequence", [word, i64], [word], 3)
    s, (outer, middle, inner) = k.scalars, k.sizes
    with k.task_nest(outer, middle) as (i, j):
        batch, time, size = (i, j, middle) if batch_first else (j, i, outer)
        length = s.minimum(k.to_index(k.load(k.ins[1], batch)), size)
        mirrored = k.sub(k.sub(length, k.index(1)), time)
        source = s.select(s.cmp("lt", time, length), mirrored, time)
        row = k.at(i, middle, source) if batch_first else k.at(source, middle, j)
        read, write = k.mul(row, inner), k.mul(k.at(i, middle, j), inner)
        with k.loop(inner, parallel=True) as e:
            k.store(k.load(k.ins[0], k.add(read, e)), k.outs[0], k.add(write, e))
    sizes = [*dims[:2], builder.multiply(dims[2:])]
    return builder.launch(k, [data, lengths], [builder.empty(data.type, dims)], sizes)
