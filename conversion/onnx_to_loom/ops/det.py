"""Det: elimination with the largest pivots, one matrix per task."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import f64
from xdsl.ir import SSAValue

from onnxloom.conversion.onnx_to_loom.builder import KernelBuilder, buffer_element, rank_of, ranked
from onnxloom.conversion.onnx_to_loom.decline import Declined
from onnxloom.conversion.onnx_to_loom.kernel_body import KernelBody
from onnxloom.conversion.onnx_to_loom.ops.movement import exact_dims
from onnxloom.conversion.onnx_to_loom.registry import Inputs, lowering
from onnxloom.conversion.onnx_to_loom.value_checks import refuse_where
from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.semantics.scalars import KERNEL_FLOATS, Scalar


@lowering(onnx.DetOp)
def lower_det(op: onnx.DetOp, inputs: Inputs, builder: KernelBuilder) -> Sequence[SSAValue]:
    """The determinant of each square matrix, computed in f64."""
    (data,) = inputs
    assert data is not None
    if rank_of(data) < 2 or not isinstance(buffer_element(data.type), KERNEL_FLOATS):
        raise Declined("Det of what are no matrices of floats has no kernel")
    type_ = ranked(op.results[0].type, "the result")
    *outer, rows, columns = builder.dims(data)
    refuse_where(builder, rows, "ne", columns, "a matrix is not square")
    work = builder.private(f64, builder.multiply([rows, rows]))
    k = KernelBody("det", [buffer_element(data.type)], [buffer_element(type_), f64], 2)
    with k.tasks(k.sizes[0]) as matrix:
        total = _determinant(k, matrix)
        k.store(k.scalars.float_to(total, buffer_element(type_)), k.outs[0], matrix)
    out = builder.empty(type_, exact_dims(builder, type_, outer))
    return builder.launch(k, [data], [out, work], [builder.multiply(outer), rows])[:1]


def _determinant(k: KernelBody, matrix: Scalar) -> Scalar:
    s, size, work = k.scalars, k.sizes[1], k.outs[1]
    area = k.mul(size, size)
    begin, source = k.private(area), k.mul(matrix, area)
    with k.loop(area, parallel=True) as i:
        value = s.float_to(s.widen(k.load(k.ins[0], k.add(source, i))), f64)
        k.store(value, work, k.add(begin, i))

    def element(row: Scalar, column: Scalar) -> Scalar:
        return k.add(begin, k.at(row, size, column))

    def eliminate(step: Scalar, acc: Sequence[Scalar]) -> Sequence[Scalar]:
        below = k.add(step, k.index(1))

        def larger(row: Scalar, best: Sequence[Scalar]) -> Sequence[Scalar]:
            value = s.abs(k.load(work, element(row, step)))
            found = s.cmp("gt", value, best[1])
            return [s.select(found, row, best[0]), s.select(found, value, best[1])]

        first = s.abs(k.load(work, element(step, step)))
        pivot_row = k.reduce(size, [step, first], larger, start=below)[0]
        with k.loop(size, start=step, parallel=True) as column:
            here, there = element(step, column), element(pivot_row, column)
            upper, lower = k.load(work, here), k.load(work, there)
            k.store(lower, work, here)
            k.store(upper, work, there)
        pivot = k.load(work, element(step, step))
        swapped = s.select(s.cmp("eq", pivot_row, step), acc[0], s.neg(acc[0]))
        singular = s.cmp("eq", pivot, s.const(0.0, f64))
        divisor = s.select(singular, s.const(1.0, f64), pivot)
        with k.loop(size, start=below) as row:
            factor = s.divf(k.load(work, element(row, step)), divisor)
            with k.loop(size, start=below, parallel=True) as column:
                at = element(row, column)
                less = s.sub(k.load(work, at), s.mul(factor, k.load(work, element(step, column))))
                k.store(less, work, at)
        return [s.mul(swapped, pivot)]

    return k.reduce(size, [s.const(1.0, f64)], eliminate)[0]
