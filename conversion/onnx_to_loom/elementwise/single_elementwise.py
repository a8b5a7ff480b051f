"""How are elementwise ops lowered, alone or as the body of a fused op? As one `map` kernel."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.ir import Operation, SSAValue

from onnxloom.conversion.onnx_to_loom.builder import KernelBuilder, rank_of
from onnxloom.conversion.onnx_to_loom.elementwise.body_operands import body_operands
from onnxloom.conversion.onnx_to_loom.quantized.levels import Levels
from onnxloom.dialects.onnx.semantics.scalars import Scalar, Scalars


def lower_elementwise(
    op: Operation, inputs: Sequence[SSAValue | None], builder: KernelBuilder
) -> Sequence[SSAValue]:
    """One elementwise op as a kernel. Raises Declined where it has no scalar semantics."""
    values = {v: i for v, i in zip(op.operands, inputs, strict=True) if i is not None}
    return lower_body([op], op.results[:1], values, builder)


def lower_body(
    ops: Sequence[Operation],
    results: Sequence[SSAValue],
    values: Mapping[SSAValue, SSAValue],
    builder: KernelBuilder,
) -> Sequence[SSAValue]:
    """A chain of elementwise ops as one kernel.

    `values` maps the tensors that the chain reads from outside (arguments and constants) to program
    values. Raises Declined where an op has no scalar semantics.
    """
    reads = body_operands(ops, values, builder, keep_one=True, share=True)
    operands = list(reads.operands)
    ranks = [rank_of(values[tensor]) for tensor in (*reads.tensors, *reads.numbers)]
    if max(ranks) > max(rank_of(v) for v in operands):
        operands[0] = _with_rank(operands[0], max(ranks), builder)

    def body(s: Scalars, scalars: Sequence[Scalar]) -> Sequence[Scalar]:
        known = reads.scalars(s, scalars)
        Levels(builder, results).apply(s, ops, known)
        return [known[r] for r in results]

    name = ops[0].name.removeprefix("onnx.").lower() if len(ops) == 1 else "chain"
    return builder.map(name, operands, [r.type for r in results], body)


def _with_rank(value: SSAValue, rank: int, builder: KernelBuilder) -> SSAValue:
    missing = rank - rank_of(value)
    return builder.view(value, [*[builder.index(1)] * missing, *builder.dims(value)])
