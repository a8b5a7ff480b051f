"""What does a kernel load per element for the elementwise ops of a body, and what is a number in it?"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.ir import Operation, SSAValue

from onnxloom.conversion.onnx_to_loom.builder import KernelBuilder, program_constant, rank_of, shape_of
from onnxloom.conversion.onnx_to_loom.decline import Declined
from onnxloom.dialects import loom, onnx
from onnxloom.dialects.onnx import FusedOp
from onnxloom.dialects.onnx.semantics import ScalarSemantics, element_type, scalar_semantics
from onnxloom.dialects.onnx.semantics.scalars import Scalar, Scalars, storage_type

QUANTIZATION = (onnx.QuantizeLinearOp, onnx.DequantizeLinearOp)


@dataclass(frozen=True)
class BodyOperands:
    """The tensors a chain of elementwise ops reads from outside."""

    tensors: Sequence[SSAValue]
    """Those that are loaded, as the ops name them."""
    operands: Sequence[SSAValue]
    """The same as program values that broadcast as numpy has it."""
    numbers: Mapping[SSAValue, np.ndarray[Any, Any]]
    """Constants of one element."""

    def scalars(self, s: Scalars, loaded: Sequence[Scalar]) -> dict[SSAValue, Scalar]:
        """All of them as scalars of storage type; `loaded` has one per operand."""
        known = dict(zip(self.tensors, loaded, strict=True))
        for tensor, array in self.numbers.items():
            element = element_type(tensor)
            assert element is not None
            known[tensor] = s.const(array.item(), storage_type(element))
        return known


def body_operands(
    ops: Sequence[Operation],
    program: Mapping[SSAValue, SSAValue],
    builder: KernelBuilder,
    *,
    made: Iterable[SSAValue] = (),
    addends: Mapping[SSAValue, int] | None = None,
    keep_one: bool = False,
    share: bool = False,
) -> BodyOperands:
    """What `ops` read, given the program values of the tensors.

    `made` are tensors the kernel has made before; `addends` are read besides, each with the number of
    dims that follow it. With `keep_one` something is loaded even if all are numbers. With `share` the
    parameters of quantizations are loaded, which differ from layer to layer, so that layers share a kernel.
    Raises Declined where an op has no scalar semantics.
    """
    reads = _reads(ops, made, addends or {})
    loaded = {v for op in ops if share and isinstance(op, QUANTIZATION) for v in op.operands[1:]}
    numbers = {
        tensor: array
        for tensor in reads
        if tensor not in loaded and (array := _number(program[tensor])) is not None
    }
    if keep_one and len(numbers) == len(reads):
        numbers = {}
    tensors = [tensor for tensor in reads if tensor not in numbers]
    return BodyOperands(tensors, [_aligned(program[t], reads[t], builder) for t in tensors], numbers)


def program_values(
    fused_op: FusedOp, inputs: Sequence[SSAValue], builder: KernelBuilder
) -> dict[SSAValue, SSAValue]:
    """The arguments and constants of a body as program values."""
    block = fused_op.body.block
    values: dict[SSAValue, SSAValue] = dict(zip(block.args, inputs, strict=True))
    for op in block.ops:
        if isinstance(op, onnx.ConstantOp) and op.value is not None:
            values[op.output] = builder.insert(loom.ConstantOp(op.value, op.output.type)).results[0]
    return values


def _reads(
    ops: Sequence[Operation], before: Iterable[SSAValue], addends: Mapping[SSAValue, int]
) -> dict[SSAValue, int]:
    """The tensors the chain reads from outside, each with the number of dims that follow it.

    That number is 0 where operands broadcast as numpy's do, and more for a one-dimensional operand
    along one axis.
    """
    made = set(before)
    reads = dict(addends)
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


def _number(value: SSAValue) -> np.ndarray[Any, Any] | None:
    """The array of a constant of one element, which an op can hold: no complex number."""
    if DYNAMIC_INDEX in shape_of(value) or int(np.prod(shape_of(value))) != 1:
        return None
    array = program_constant(value)
    return None if array is None or array.dtype.kind == "c" else array
