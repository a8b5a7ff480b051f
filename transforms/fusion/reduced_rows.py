"""What is reduced along rows, and which elementwise ops can be computed with it?

A *row* is what the last dims of a tensor hold; the dims before them count the rows. Around the reduction of
rows, elementwise ops read three kinds of operands, told apart by types alone: numbers, tensors with an
element per element of the data, and tensors with one per element of a row.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import Final

from xdsl.dialects.builtin import DYNAMIC_INDEX, f32, f64
from xdsl.ir import Operation, SSAValue

from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.access import int_attr, is_none
from onnxloom.dialects.onnx.constant import constant_value
from onnxloom.dialects.onnx.semantics import scalar_semantics
from onnxloom.transforms.fusion.match import Miss
from onnxloom.transforms.fusion.readers import not_elementwise
from onnxloom.transforms.fusion.spaces import broadcast_reads, element_of, shape_of

REDUCE_OPS: Final[tuple[type[Operation], ...]] = (
    onnx.ReduceSumOp, onnx.ReduceMeanOp, onnx.ReduceMaxOp, onnx.ReduceMinOp, onnx.ReduceProdOp,
    onnx.ReduceL1Op, onnx.ReduceL2Op, onnx.ReduceSumSquareOp, onnx.ReduceLogSumOp, onnx.ReduceLogSumExpOp,
)  # fmt: skip
"""Ops that make one number of each row."""

NORMALIZATIONS: Final[tuple[type[Operation], ...]] = (
    onnx.LayerNormalizationOp, onnx.RMSNormalizationOp, onnx.SoftmaxOp, onnx.LogSoftmaxOp,
)  # fmt: skip
"""Ops that change each element of a row by what they find of all of it."""


class Role(Enum):
    """How an operand lies beside the data."""

    NUMBER = auto()
    FULL = auto()
    """An element per element."""
    ROW = auto()
    """An element per element of a row, the same for all rows."""


@dataclass(frozen=True)
class Rows:
    """The reduction of a chain."""

    op: Operation
    axis: int
    """The first dim of a row."""

    @property
    def data(self) -> SSAValue:
        """What is reduced."""
        return self.op.operands[0]

    @property
    def result(self) -> SSAValue:
        """What consumers read."""
        return self.op.results[0]

    @property
    def keeps_rows(self) -> bool:
        """Whether the result has the data's dims."""
        return isinstance(self.op, NORMALIZATIONS)

    def role(self, value: SSAValue, beside: SSAValue) -> Role | None:
        """How an operand lies beside the data or the result, None where the kernel cannot read it."""
        shape, full = shape_of(value), shape_of(beside)
        if shape is None or full is None:
            return None
        if isinstance(value.owner, onnx.ConstantOp) and math.prod(shape) == 1:
            return Role.NUMBER
        if shape == full:
            return Role.FULL
        row = full[self.axis :] if beside is self.data or self.keeps_rows else ()
        own = shape[-len(row) :] if row else ()
        if row and len(shape) <= len(full) and own == row and set(shape[: -len(row)]) <= {1}:
            return Role.ROW
        return None


def rows_of(op: Operation) -> Rows | Miss:
    """The rows an op reduces, or why there is no kernel that computes others with it."""
    if not isinstance(op, (*REDUCE_OPS, *NORMALIZATIONS)):
        return Miss(f"{op.name} reduces no rows")
    data, result = op.operands[0], op.results[0]
    shape = shape_of(data)
    if not shape or shape_of(result) is None:
        return Miss(f"the rank of an operand or of the result of {op.name} is not known, or is 0")
    if element_of(data) not in (f32, f64) or element_of(result) != element_of(data):
        return Miss(f"{op.name} of {element_of(data)} to {element_of(result)} is not fused")
    axis = _first_axis(op, len(shape))
    if isinstance(axis, Miss):
        return axis
    if DYNAMIC_INDEX in shape[axis:]:
        return Miss(f"the length of the rows of {op.name} is not known")
    rows = Rows(op, axis)
    problem = _why_not_alone(rows) if rows.keeps_rows else _why_not_reduced(rows)
    return rows if problem is None else problem


def _first_axis(op: Operation, rank: int) -> int | Miss:
    if isinstance(op, NORMALIZATIONS):
        axis = int_attr(op, "axis", -1)
        axis += rank if axis < 0 else 0
        if not 0 <= axis < rank:
            return Miss(f"axis {axis} of {op.name} is out of range")
        if isinstance(op, onnx.SoftmaxOp | onnx.LogSoftmaxOp) and axis != rank - 1:
            return Miss(f"{op.name} is not over the last axis")
        return axis
    axes: Iterable[int] = range(rank)
    if len(op.operands) > 1 and not is_none(op.operands[1]):
        array = constant_value(op.operands[1])
        if array is None:
            return Miss(f"the axes of {op.name} are not constant")
        if array.size:
            axes = [int(a) for a in array.reshape(-1)]
        elif int_attr(op, "noop_with_empty_axes", 0):
            return Miss(f"{op.name} over no axes")
    elif int_attr(op, "noop_with_empty_axes", 0):
        return Miss(f"{op.name} over no axes")
    places = sorted(a + rank if a < 0 else a for a in axes)
    if places != list(range(rank - len(places), rank)):
        return Miss(f"{op.name} reduces other axes than the last ones")
    return places[0]


def _why_not_alone(rows: Rows) -> Miss | None:
    """What a normalization must not have for its rows to be computed with other ops."""
    op = rows.op
    if shape_of(rows.result) != shape_of(rows.data):
        return Miss(f"the result of {op.name} has another type than its data")
    if any(result.uses for result in op.results[1:]):
        return Miss(f"{op.name} gives more than its first result")
    if int_attr(op, "stash_type", 1) not in (1, 11):
        return Miss(f"a stash type of {op.name} other than float")
    parameters = [value for value in op.operands[1:] if not is_none(value)]
    for value in parameters:
        own = shape_of(value)
        if own != (shape_of(rows.data) or ())[rows.axis :] or element_of(value) != element_of(rows.data):
            return Miss(f"scale or bias of {op.name} do not have the dims and type of a row")
    return None


def _why_not_reduced(rows: Rows) -> Miss | None:
    shape, own = shape_of(rows.data), shape_of(rows.result)
    assert shape is not None
    kept = shape[: rows.axis]
    if own not in (kept, (*kept, *(1 for _ in shape[rows.axis :]))):
        return Miss(f"the result of {rows.op.name} is not declared with the dims that are left")
    return None


def why_no_member(rows: Rows, op: Operation, beside: SSAValue, made: Iterable[SSAValue]) -> Miss | None:
    """Why an elementwise op cannot be computed along with the rows.

    `beside` is the data for what comes before the reduction, its result for what comes after; `made` are the
    values of the chain so far.
    """
    semantics = scalar_semantics(op)
    if semantics is None:
        return not_elementwise(op)
    if shape_of(op.results[0]) != shape_of(beside):
        return Miss(f"the result of {op.name} is not declared with the dims of what it is computed with")
    reads = broadcast_reads(op, semantics)
    if reads is None:
        return Miss(f"the rank of an operand of {op.name} is not known")
    own = set(made)
    is_full = False
    for read in reads:
        if read.trailing:
            return Miss(f"{op.name} reads a vector along an axis")
        role = Role.FULL if read.value in own else rows.role(read.value, beside)
        if role is None:
            return Miss(f"{op.name} reads an operand that is neither as large as the data nor a row")
        is_full = is_full or role is Role.FULL
    return None if is_full else Miss(f"{op.name} reads nothing that has the dims of the data")


def full_inputs(rows: Rows, ops: Sequence[Operation], inputs: Sequence[SSAValue]) -> list[int]:
    """Numbers of the inputs with an element per element of the data, or of the result."""
    before = ops[: ops.index(rows.op)] if rows.op in ops else ()
    readers = {operand for op in before for operand in op.operands}
    after = {operand for op in ops[len(before) + 1 :] for operand in op.operands}
    return [
        i
        for i, value in enumerate(inputs)
        if value is rows.data
        or (value in readers and rows.role(value, rows.data) is Role.FULL)
        or (value in after and rows.role(value, rows.result) is Role.FULL)
    ]
