"""What is the meaning of one elementwise op? `ScalarSemantics`: one scalar of the result.

A row of the table is a function over operands that have been widened to the type arithmetic is done
in (`f32` for `f16` and `bf16`); its result is rounded once to the op's element type. So every ONNX op
rounds to its own type, as the reference does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias, cast

from xdsl.dialects.builtin import TensorType, UnrankedTensorType
from xdsl.ir import Attribute, Operation, SSAValue

from onnxloom.dialects.onnx.access import is_none
from onnxloom.dialects.onnx.semantics.scalars import (
    Scalar,
    Scalars,
    has_kernel,
    is_float,
    is_unsigned,
    storage_type,
)

Operands: TypeAlias = Sequence[Scalar | None]
Compute: TypeAlias = Callable[[Scalars, Operation, Sequence[Scalar]], Scalar]


def element_type(value: SSAValue) -> Attribute | None:
    """Element type of a tensor value, ranked or not."""
    type_: Attribute = value.type
    if isinstance(type_, (TensorType, UnrankedTensorType)):
        return cast("TensorType[Attribute]", type_).element_type
    return None


def unsigned(op: Operation, operand: int = 0) -> bool:
    """Whether an operand's element type is unsigned."""
    element = element_type(op.operands[operand])
    return element is not None and is_unsigned(element)


def result_storage(op: Operation) -> Attribute:
    """Storage type of the op's result."""
    element = element_type(op.results[0])
    assert element is not None
    return storage_type(element)


def _present(op: Operation) -> Sequence[int]:
    return [i for i, operand in enumerate(op.operands) if not is_none(operand)]


def _always(op: Operation) -> bool:
    return True


def _trailing(op: Operation, operand: int) -> int | None:
    return None


@dataclass(frozen=True)
class ScalarSemantics:
    """How one op computes one scalar."""

    compute: Compute
    """(emitter, op, widened operands) -> result; an omitted operand must not be read."""
    supports: Callable[[Operation], bool] = _always
    """Whether this form of the op (attributes, operand types) is covered."""
    reads: Callable[[Operation], Sequence[int]] = _present
    """Positions of the operands whose values (not only types) count."""
    axis: Callable[[Operation, int], int | None] = _trailing
    """For a one-dimensional operand that lies along one axis of operand 0 (a per-axis scale): that
    axis. None where operands broadcast as numpy's do."""
    widen: bool = True
    """Whether half-width float operands are widened before `compute`."""

    def emit(self, scalars: Scalars, op: Operation, operands: Operands) -> Scalar:
        """Emits the op's result from its operands, both of storage type.

        `operands` has one entry per operand of the op; entries that `reads` does not list are ignored.
        """
        values: list[Scalar] = []
        for operand in operands:
            value = operand if operand is None or not self.widen else scalars.widen(operand)
            values.append(cast(Scalar, value))
        result = self.compute(scalars, op, values)
        target = result_storage(op)
        if is_float(target):
            return scalars.float_to(result, target)
        return result


def covered(op: Operation, row: ScalarSemantics) -> bool:
    """Whether `row` can compute `op`: one used result, element types that kernels hold."""
    if not op.results or any(r.uses for r in op.results[1:]):
        return False
    values = [*(op.operands[i] for i in row.reads(op)), op.results[0]]
    elements = [element_type(v) for v in values]
    if not all(e is not None and has_kernel(e) for e in elements):
        return False
    return row.supports(op)


Table: TypeAlias = Mapping[type[Operation], ScalarSemantics]
