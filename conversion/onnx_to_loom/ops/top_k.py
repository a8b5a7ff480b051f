"""TopK: the k best of each row, in order; of equal elements the first, NaN above all numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects import arith
from xdsl.dialects.builtin import i64
from xdsl.ir import Block, Region, SSAValue

from onnxloom.conversion.onnx_to_loom.builder import (
    KernelBuilder,
    index_value,
    number_element,
    rank_of,
    ranked,
)
from onnxloom.conversion.onnx_to_loom.decline import Declined
from onnxloom.conversion.onnx_to_loom.registry import Inputs, lowering
from onnxloom.conversion.onnx_to_loom.selection.best_of_rows import HeapRows, SortedRows
from onnxloom.conversion.onnx_to_loom.selection.ordered_keys import key_width
from onnxloom.conversion.onnx_to_loom.value_checks import refuse_where
from onnxloom.dialects import loom, onnx
from onnxloom.dialects.onnx.access import int_attr

_LONG = 1024
"""A row of so many elements may be worth sorting (a pass of the sort clears a table)."""

_MANY = 8
"""It is, where more than one in so many elements is wanted."""


@lowering(onnx.TopKOp)
def lower_top_k(op: onnx.TopKOp, inputs: Inputs, builder: KernelBuilder) -> Sequence[SSAValue]:
    """`k` is read when the plan is made; with it goes which kernel runs."""
    data, wanted = inputs
    assert data is not None and wanted is not None
    rank = rank_of(data)
    if rank == 0:
        raise Declined("TopK of a scalar has no kernel")
    number_element(data.type)
    axis = int_attr(op, "axis", -1) % rank
    count, size = builder.read(wanted, 0), builder.dim(data, axis)
    refuse_where(builder, count, "slt", builder.index(0), "k is negative")
    refuse_where(builder, count, "sgt", size, "k is larger than the dim of the axis")
    best = _Best(op, data, axis, count)
    known = index_value(count), index_value(size)
    if known[0] is not None and known[1] is not None:
        return best.lower(builder, known[1] >= _LONG and known[0] * _MANY > known[1])
    if known[1] is not None and known[1] < _LONG:
        return best.lower(builder, False)
    many = builder.multiply([count, builder.index(_MANY)])
    is_many = builder.insert(arith.CmpiOp(many, size, "sgt")).results[0]
    is_long = builder.insert(arith.CmpiOp(size, builder.index(_LONG), "sge")).results[0]
    one, zero = builder.index(1), builder.index(0)
    is_both = builder.insert(arith.SelectOp(is_many, one, zero)).results[0]
    is_both = builder.insert(arith.SelectOp(is_long, is_both, zero)).results[0]
    sorts, keeps = Block(), Block()
    for block, by_sorting in ((sorts, True), (keeps, False)):
        results = best.lower(builder.nested(block), by_sorting)
        block.add_op(loom.YieldOp.create(operands=results))
    return builder.insert(
        loom.IfOp.create(
            operands=[is_both],
            result_types=[r.type for r in op.results],
            regions=[Region(sorts), Region(keeps)],
        )
    ).results


@dataclass(frozen=True)
class _Best:
    """What is looked for."""

    op: onnx.TopKOp
    data: SSAValue
    axis: int
    count: SSAValue

    def lower(self, builder: KernelBuilder, by_sorting: bool) -> Sequence[SSAValue]:
        """Values and places."""
        dims, axis = builder.dims(self.data), self.axis
        before, size, after = dims[:axis], dims[axis], dims[axis + 1 :]
        element = ranked(self.data.type, "the data").element_type
        types = [ranked(result.type, "a result") for result in self.op.results]
        room = builder.multiply([size, builder.index(2)]) if by_sorting else self.count
        outs = [builder.empty(type_, [*before, self.count, *after]) for type_ in types]
        outs.append(builder.private(i64, room))
        if by_sorting and key_width(element) == 64:
            outs.append(builder.private(i64, room))
        kind, name = (SortedRows, "top_k_sorted") if by_sorting else (HeapRows, "top_k")
        k = builder.kernel(name, [self.data], [value.type for value in outs], 4)
        kind(k, element, int_attr(self.op, "largest", 1) != 0, axis == len(dims) - 1).write()
        sizes = [builder.multiply(before), size, builder.multiply(after), self.count]
        return builder.launch(k, [self.data], outs, sizes)[:2]
