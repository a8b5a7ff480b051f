"""How are elementwise ops lowered, alone or as the body of a fused op? As one `map` kernel."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.ir import Operation, SSAValue

from onnxloom.conversion.onnx_to_loom.builder import KernelBuilder, program_constant, rank_of, shape_of
from onnxloom.conversion.onnx_to_loom.decline import Declined
from onnxloom.dialects.onnx.semantics import ScalarSemantics, element_type, scalar_semantics
from onnxloom.dialects.onnx.semantics.scalars import Scalar, Scalars, storage_type


def lower_elementwise(
    op: Operation, inputs: Sequence[SSAValue | None], builder: KernelBuilder
) -> Sequence[SSAValue]:
    """One elementwise op as a kernel. Raises Declined where it has no scalar semantics."""
    values = {v: i for v, i in zip(op.operands, inputs, strict=True) if i is not None}
    return lower_body([op], op.results[:1], values, builder)


def lower_body(
    ops: Sequence[Operation],
    results: Sequence[SSAValue],
    values: dict[SSAValue, SSAValue],
    builder: KernelBuilder,
) -> Sequence[SSAValue]:
    """A chain of elementwise ops as one kernel.

    `values` maps the tensors that the chain reads from outside (arguments and constants) to program
    values. Raises Declined where an op has no scalar semantics.
    """
    reads = _reads(ops)
    inlined = {tensor: array for tensor in reads if (array := _number(values[tensor])) is not None}
    if len(inlined) == len(reads):
        inlined = {}
    launched = [tensor for tensor in reads if tensor not in inlined]
    operands = [_aligned(values[tensor], reads[tensor], builder) for tensor in launched]
    rank = max(rank_of(values[t]) for t in reads)
    if rank > max(rank_of(v) for v in operands):
        operands[0] = _with_rank(operands[0], rank, builder)

    def body(s: Scalars, scalars: Sequence[Scalar]) -> Sequence[Scalar]:
        known = dict(zip(launched, scalars, strict=True))
        for tensor, array in inlined.items():
            element = element_type(tensor)
            assert element is not None
            known[tensor] = s.const(array.item(), storage_type(element))
        builder.apply(s, ops, known)
        return [known[r] for r in results]

    name = ops[0].name.removeprefix("onnx.").lower() if len(ops) == 1 else "chain"
    return builder.map(name, operands, [r.type for r in results], body)


def _reads(ops: Sequence[Operation]) -> dict[SSAValue, int]:
    """The tensors the chain reads from outside, each with the number of dims that follow it.

    That number is 0 where operands broadcast as numpy's do, and more for a one-dimensional operand
    along one axis.
    """
    made: set[SSAValue] = set()
    reads: dict[SSAValue, int] = {}
    for op in ops:
        row = scalar_semantics(op)
        if row is None:
            raise Declined(_no_semantics(op))
        for i in row.reads(op):
            operand = op.operands[i]
            trailing = _trailing_dims(op, row, i)
            if operand in made:
                if trailing:
                    raise Declined(f"operand {i} of {op.name} lies along one axis and is made in the chain")
                continue
            if reads.setdefault(operand, trailing) != trailing:
                raise Declined(f"operand {i} of {op.name} is read along two different axes")
        made.update(op.results)
    return reads


def _no_semantics(op: Operation) -> str:
    types = ", ".join(str(v.type) for v in (*op.operands[:3], *op.results[:1]))
    return f"{op.name} has no kernel for this form ({types})"


def _trailing_dims(op: Operation, row: ScalarSemantics, operand: int) -> int:
    axis = row.axis(op, operand)
    if axis is None:
        return 0
    rank = rank_of(op.operands[0])
    return max(rank - 1 - (axis + rank if axis < 0 else axis), 0)


def _aligned(value: SSAValue, trailing: int, builder: KernelBuilder) -> SSAValue:
    """A one-dimensional tensor along an axis as one that broadcasts there."""
    if trailing == 0:
        return value
    return builder.view(value, [builder.dim(value, 0), *[builder.index(1)] * trailing])


def _with_rank(value: SSAValue, rank: int, builder: KernelBuilder) -> SSAValue:
    missing = rank - rank_of(value)
    return builder.view(value, [*[builder.index(1)] * missing, *builder.dims(value)])


def _number(value: SSAValue) -> np.ndarray | None:
    """The array of a constant of one element."""
    if DYNAMIC_INDEX in shape_of(value) or int(np.prod(shape_of(value))) != 1:
        return None
    return program_constant(value)
