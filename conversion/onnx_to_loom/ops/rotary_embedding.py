"""RotaryEmbedding as one kernel: pairs of columns are turned, columns beyond the turned ones are copied.

With position ids the tables are gathered as the standard's function body says.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from xdsl.ir import SSAValue

from onnxloom.conversion.onnx_to_loom.builder import (
    KernelBuilder,
    buffer_element,
    rank_of,
    ranked,
)
from onnxloom.conversion.onnx_to_loom.decline import Declined
from onnxloom.conversion.onnx_to_loom.kernel_body import KernelBody
from onnxloom.conversion.onnx_to_loom.ops.attention import Heads, heads_apart, heads_side_by_side
from onnxloom.conversion.onnx_to_loom.registry import Inputs, lowering
from onnxloom.conversion.onnx_to_loom.value_checks import refuse_where
from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.access import bool_attr, int_attr, opt_int_attr
from onnxloom.dialects.onnx.semantics.scalars import Scalar, is_float


@lowering(onnx.RotaryEmbeddingOp)
def lower_rotary_embedding(
    op: onnx.RotaryEmbeddingOp, inputs: Inputs, builder: KernelBuilder
) -> Sequence[SSAValue]:
    """`x1 * cos - x2 * sin` and `x1 * sin + x2 * cos` of each pair."""
    x, cosines, sines = inputs[:3]
    assert x is not None and cosines is not None and sines is not None
    if len(inputs) > 3 and inputs[3] is not None:
        raise Declined("rotary embedding with position ids has no kernel")
    element = buffer_element(x.type)
    if not is_float(element) or any(buffer_element(t.type) != element for t in (cosines, sines)):
        raise Declined("a value and tables of different element types")
    read = _heads(op, builder, x)
    empty = builder.empty(ranked(op.Y.type, "the result"), builder.dims(x))
    return [turned(op, builder, read, (cosines, sines), replace(read, value=empty))]


def turned(
    op: onnx.RotaryEmbeddingOp, builder: KernelBuilder, x: Heads, tables: Sequence[SSAValue], y: Heads
) -> SSAValue:
    """An empty `y`, filled with the turned heads of `x`."""
    width = builder.static_size(x.columns, "the width of a head")
    count = int_attr(op, "rotary_embedding_dim", 0) or width
    if count % 2 or not 0 < count <= width:
        raise Declined(f"{count} of {width} columns cannot be turned in pairs")
    for table in tables:
        if rank_of(table) != 3:
            raise Declined("a table has rank 3 where there are no position ids")
        for size, expected, what in zip(
            builder.dims(table),
            (x.batch, x.rows, builder.index(count // 2)),
            ("batch", "rows", "columns"),
            strict=True,
        ):
            refuse_where(builder, size, "ne", expected, f"the {what} of a table are not those of the value")
    ins = [x.value, *tables]
    k = builder.kernel("rotary_embedding", ins, [y.value.type], 9)
    _write(k, width, count, bool_attr(op, "interleaved", False))
    return builder.launch(k, ins, [y.value], [x.batch, x.heads, x.rows, *x.strides, *y.strides])[0]


def _heads(op: onnx.RotaryEmbeddingOp, builder: KernelBuilder, x: SSAValue) -> Heads:
    dims = builder.dims(x)
    width = builder.static_size(dims[-1], "the width of a head")
    if len(dims) == 4:
        return heads_apart(builder, x, dims)
    count = opt_int_attr(op, "num_heads")
    if len(dims) != 3 or not count or width % count:
        raise Declined("the value has rank 4, or rank 3 and a number of heads that divides its width")
    sizes = [dims[0], builder.index(count), dims[1], builder.index(width // count)]
    return heads_side_by_side(builder, x, sizes)


def _write(k: KernelBody, width: int, turned: int, interleaved: bool) -> None:
    batch, heads, rows, *strides = k.sizes
    half = k.index(turned // 2)
    with k.task_nest(batch, heads, rows) as position:
        read, write = k.index(0), k.index(0)
        for place, source, target in zip(position, strides[:3], strides[3:], strict=True):
            read, write = k.add(read, k.mul(place, source)), k.add(write, k.mul(place, target))
        b, _, r = position
        table = k.mul(k.add(k.mul(b, rows), r), half)
        with k.loop(half, parallel=True) as i:
            reads, writes = (_pair(k, at, i, half, interleaved) for at in (read, write))
            _turn(k, reads, writes, k.add(table, i))
        with k.loop(k.index(width), start=k.index(turned), parallel=True) as i:
            k.store(k.load(k.ins[0], k.add(read, i)), k.outs[0], k.add(write, i))


def _pair(k: KernelBody, at: Scalar, i: Scalar, half: Scalar, interleaved: bool) -> tuple[Scalar, Scalar]:
    if interleaved:
        first = k.add(at, k.mul(i, k.index(2)))
        return first, k.add(first, k.index(1))
    first = k.add(at, i)
    return first, k.add(first, half)


def _turn(k: KernelBody, reads: Sequence[Scalar], writes: Sequence[Scalar], table: Scalar) -> None:
    s, storage = k.scalars, k.load(k.ins[0], reads[0]).type
    a, b = (s.widen(k.load(k.ins[0], place)) for place in reads)
    cos, sin = (s.widen(k.load(buffer, table)) for buffer in k.ins[1:])
    real = s.sub(s.mul(a, cos), s.mul(b, sin))
    imaginary = s.add(s.mul(a, sin), s.mul(b, cos))
    for value, place in zip((real, imaginary), writes, strict=True):
        k.store(s.float_to(value, storage), k.outs[0], place)
