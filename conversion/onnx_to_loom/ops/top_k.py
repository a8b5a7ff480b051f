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
from onnxloom.conversion.onnx_to_loom.selection.best_of_rows import BLOCK, CollectedRows, HeapRows
from onnxloom.conversion.onnx_to_loom.selection.ordered_keys import key_width
from onnxloom.conversion.onnx_to_loom.value_checks import read_sizes, refuse_where
from onnxloom.dialects import loom, onnx
from onnxloom.dialects.onnx.access import int_attr

_LONG = 256
"""Elements of a row from which on lists are worth sorting (each time, a table is cleared),"""

_MANY = 64
"""if so many are wanted,"""

_SHARE = 128
"""and at least one in so many (else a heap hardly changes any more)."""

_LIST = 4
"""Elements of the list for each one that is wanted."""


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
    (count,), size = read_sizes(builder, wanted, 1, "k"), builder.dim(data, axis)
    refuse_where(builder, count, "slt", builder.index(0), "k is negative")
    refuse_where(builder, count, "sgt", size, "k is larger than the dim of the axis")
    best = _Best(op, data, axis, count)
    known = index_value(count), index_value(size)
    if known[0] is not None and known[1] is not None:
        by_lists = known[0] >= _MANY and _LONG <= known[1] <= known[0] * _SHARE
        return best.lower(builder, by_lists)
    if (known[0] is not None and known[0] < _MANY) or (known[1] is not None and known[1] < _LONG):
        return best.lower(builder, False)
    condition = _all_hold(
        builder,
        (count, "sge", builder.index(_MANY)),
        (size, "sge", builder.index(_LONG)),
        (size, "sle", builder.multiply([count, builder.index(_SHARE)])),
    )
    collects, keeps = Block(), Block()
    for block, by_lists in ((collects, True), (keeps, False)):
        results = best.lower(builder.nested(block), by_lists)
        block.add_op(loom.YieldOp.create(operands=results))
    return builder.insert(
        loom.IfOp.create(
            operands=[condition],
            result_types=[r.type for r in op.results],
            regions=[Region(collects), Region(keeps)],
        )
    ).results


def _all_hold(builder: KernelBuilder, *comparisons: tuple[SSAValue, str, SSAValue]) -> SSAValue:
    """1 where all comparisons of sizes hold, else 0."""
    zero, holds = builder.index(0), builder.index(1)
    for a, predicate, b in comparisons:
        found = builder.insert(arith.CmpiOp(a, b, predicate)).results[0]
        holds = builder.insert(arith.SelectOp(found, holds, zero)).results[0]
    return holds


@dataclass(frozen=True)
class _Best:
    """What is looked for."""

    op: onnx.TopKOp
    data: SSAValue
    axis: int
    count: SSAValue

    def lower(self, builder: KernelBuilder, by_lists: bool) -> Sequence[SSAValue]:
        """Values and places."""
        dims, axis = builder.dims(self.data), self.axis
        before, size, after = dims[:axis], dims[axis], dims[axis + 1 :]
        element = ranked(self.data.type, "the data").element_type
        types = [ranked(result.type, "a result") for result in self.op.results]
        outs = [builder.empty(type_, [*before, self.count, *after]) for type_ in types]
        sizes = [builder.multiply(before), size, builder.multiply(after), self.count]
        room = self.count
        if by_lists:
            length = builder.multiply([self.count, builder.index(_LIST)])
            length = builder.insert(arith.MinSIOp(length, size)).results[0]
            sizes.append(builder.insert(arith.AddiOp(length, builder.index(BLOCK))).results[0])
            room = builder.multiply([sizes[-1], builder.index(2)])
        outs.append(builder.private(i64, room))
        if by_lists and key_width(element) == 64:
            outs.append(builder.private(i64, room))
        kind, name = (CollectedRows, "top_k_lists") if by_lists else (HeapRows, "top_k")
        k = builder.kernel(name, [self.data], [value.type for value in outs], len(sizes))
        kind(k, element, int_attr(self.op, "largest", 1) != 0, axis == len(dims) - 1).write()
        return builder.launch(k, [self.data], outs, sizes)[:2]
