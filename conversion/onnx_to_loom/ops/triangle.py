"""Ops over matrices and running sums: Trilu, CumSum, CumProd."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Operation, SSAValue

from onnxloom.conversion.onnx_to_loom.builder import KernelBuilder, buffer_element, rank_of
from onnxloom.conversion.onnx_to_loom.decline import Declined
from onnxloom.conversion.onnx_to_loom.kernel_body import KernelBody
from onnxloom.conversion.onnx_to_loom.moving.copying import word_type
from onnxloom.conversion.onnx_to_loom.registry import Inputs, lowering
from onnxloom.conversion.onnx_to_loom.value_checks import read_sizes, refuse_other_count
from onnxloom.dialects import loom, onnx
from onnxloom.dialects.onnx.access import int_attr
from onnxloom.dialects.onnx.semantics.scalars import compute_type, is_float


def lower_trilu(op: onnx.TriluOp, inputs: Inputs, builder: KernelBuilder) -> Sequence[SSAValue]:
    """Keeps one side of diagonal `k` of each matrix, zero elsewhere."""
    data, diagonal = [*inputs, None][:2]
    assert data is not None
    word = word_type(data.type)
    if rank_of(data) < 2:
        raise Declined("Trilu of a tensor without matrices")
    *batch, rows, cols = builder.dims(data)
    shift = builder.index(0)
    if diagonal is not None:
        (shift,) = read_sizes(builder, diagonal, 1, "k")
    upper = bool(int_attr(op, "upper", 1))
    k = KernelBody("triu" if upper else "tril", [word], [word], 4)
    n, n_rows, n_cols, offset = k.sizes
    offset = k.scalars.maximum(k.sub(k.index(0), n_rows), k.scalars.minimum(offset, n_cols))
    zero = k.scalars.const(0, word)
    with k.task_nest(n, n_rows) as (b, i):
        base = k.mul(k.at(b, n_rows, i), n_cols)
        edge = k.add(i, offset)
        with k.loop(n_cols, parallel=True) as j:
            kept = k.scalars.cmp("ge" if upper else "le", j, edge)
            value = k.scalars.select(kept, k.load(k.ins[0], k.add(base, j)), zero)
            k.store(value, k.outs[0], k.add(base, j))
    out = builder.empty(data.type, builder.dims(data))
    return builder.launch(k, [data], [out], [builder.multiply(batch), rows, cols, shift], [[0]])


def lower_cumulative(op: Operation, inputs: Inputs, builder: KernelBuilder) -> Sequence[SSAValue]:
    """Running sum or product along an axis."""
    data, axis = inputs
    assert data is not None and axis is not None
    storage = buffer_element(data.type)
    rank_of(data)
    refuse_other_count(builder, axis, 1, "the axis")
    product = isinstance(op, onnx.CumProdOp)
    exclusive, reverse = bool(int_attr(op, "exclusive", 0)), bool(int_attr(op, "reverse", 0))
    wide = compute_type(storage)
    name = ("cumprod" if product else "cumsum") + ("_ex" if exclusive else "") + ("_rev" if reverse else "")
    k = builder.kernel(name, [data], [data.type], 3)
    outer, length, inner = k.sizes
    s = k.scalars
    with k.task_nest(outer, inner) as (o, i):
        base = k.add(k.mul(k.mul(o, length), inner), i)

        def step(j: SSAValue, acc: Sequence[SSAValue], base: SSAValue = base) -> Sequence[SSAValue]:
            at = k.sub(k.sub(length, k.index(1)), j) if reverse else j
            offset = k.add(base, k.mul(at, inner))
            x = s.widen(k.load(k.ins[0], offset))
            total = s.mul(acc[0], x) if product else s.add(acc[0], x)
            shown = acc[0] if exclusive else total
            k.store(s.float_to(shown, storage) if is_float(storage) else shown, k.outs[0], offset)
            return [total]

        k.reduce(length, [s.const(1 if product else 0, wide)], step)
    out = builder.empty(data.type, builder.dims(data))
    sizes = builder.insert(loom.AxisSplitOp.make(data, axis)).results
    return builder.launch(k, [data], [out], sizes, [[0]])


trilu = lowering(onnx.TriluOp)(lower_trilu)
cumulative = lowering(onnx.CumSumOp, onnx.CumProdOp)(lower_cumulative)
