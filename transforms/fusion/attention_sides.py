"""How are the heads of an Attention op laid out in memory, once the ops that move them are read through?

    [B, S, H, D] ──► Transpose(0, 2, 1, 3) ───────────────────────────► Q, K or V
    [B, S, P, H, D] ──► Transpose(2, 0, 3, 1, 4) ──► Gather(p, axis 0) ──► Q, K or V
    past, one of the above ──► Concat(axis 2) ───────────────────────► K or V

An op is read through where nothing but the next one reads its result; a joined tensor may be a result of the
graph besides.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Final

from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.ir import Operation, SSAValue
from xdsl.traits import IsTerminator

from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.access import int_attr, ints_attr
from onnxloom.dialects.onnx.constant import constant_value
from onnxloom.transforms.fusion.spaces import shape_of

SWAPPED: Final = (0, 2, 1, 3)
PARTS_FIRST: Final = (2, 0, 3, 1, 4)


@dataclass(frozen=True)
class Side:
    """Where one of Q, K and V comes from."""

    source: SSAValue
    """`[batch, head, row, column]` as it stands; else `[batch, row, head, column]`, the heads of a row being
    neighbours; with parts `[batch, row, part, head, column]`."""

    ops: tuple[Operation, ...] = ()
    """What is read through, in order; something is where the source does not stand as it is."""

    part: int | None = None
    """Which part of the source; None where it has none."""

    past: SSAValue | None = None
    """Keys or values in front, `[batch, head, row, column]`."""

    @property
    def joined(self) -> SSAValue | None:
        """Past and new keys or values as one tensor."""
        return None if self.past is None else self.ops[-1].results[0]

    @property
    def heads_and_columns(self) -> tuple[int, int]:
        """The sizes as the type of the source says."""
        shape = shape_of(self.source) or (DYNAMIC_INDEX,) * 4
        return (shape[-2] if self.ops else shape[1]), shape[-1]


@dataclass(frozen=True)
class Sides:
    """An Attention op with what is read through around it."""

    attention: onnx.AttentionOp
    inputs: tuple[Side, Side, Side]
    """Q, K and V."""
    after: onnx.TransposeOp | None
    """Writes the result as `[batch, row, head, column]`."""

    @property
    def ops(self) -> tuple[Operation, ...]:
        """All ops, each after what it reads."""
        before = dict.fromkeys(op for side in self.inputs for op in side.ops)
        return (*before, self.attention, *([] if self.after is None else [self.after]))

    @property
    def result(self) -> SSAValue:
        """What attention comes to."""
        return self.attention.Y if self.after is None else self.after.transposed


def sides_of(attention: onnx.AttentionOp) -> Sides:
    """What stands around an Attention op whose operands have rank 4."""
    found = [_side(attention, value, may_join=i > 0) for i, value in enumerate(attention.operands[:3])]
    # A tensor of parts is read through when all its readers are: else it is made anyway.
    taken = {op for side in found for op in side.ops}
    q, k, v = (
        side if _is_whole(side, taken) else Side(value)
        for side, value in zip(found, attention.operands, strict=False)
    )
    return Sides(attention, (q, k, v), swapped_after(attention.Y))


def _side(attention: onnx.AttentionOp, value: SSAValue, *, may_join: bool) -> Side:
    concat = value.owner
    if not isinstance(concat, onnx.ConcatOp):
        return _moved(attention, value)
    if not may_join or not _joins_rows(concat) or not _may_go(value, attention, or_returned=True):
        return Side(value)
    new = _moved(concat, concat.operands[1])
    return replace(new, ops=(*new.ops, concat), past=concat.operands[0]) if new.ops else Side(value)


def _joins_rows(concat: onnx.ConcatOp) -> bool:
    ranks = [len(shape_of(operand) or ()) for operand in concat.operands]
    return ranks == [4, 4] and int_attr(concat, "axis") in (2, -2)


def _moved(reader: Operation, value: SSAValue) -> Side:
    """The heads that `reader` reads, before they were moved."""
    op = value.owner
    if isinstance(op, onnx.GatherOp):
        return (_part(op) if _may_go(value, reader) else None) or Side(value)
    transpose = swapped_before(reader, value)
    return Side(value) if transpose is None else Side(transpose.data, (transpose,))


def _part(gather: onnx.GatherOp) -> Side | None:
    transpose, index = gather.data.owner, constant_value(gather.indices)
    if not isinstance(transpose, onnx.TransposeOp) or not _permutes(transpose, PARTS_FIRST):
        return None
    parts = (shape_of(transpose.data) or (0, 0, 0))[2]
    if transpose.parent is not gather.parent or int_attr(gather, "axis", 0) not in (0, -5):
        return None
    if index is None or index.ndim or not -parts <= index.item() < parts:
        return None
    return Side(transpose.data, (transpose, gather), index.item() % parts)


def _is_whole(side: Side, taken: Collection[Operation]) -> bool:
    return side.part is None or all(use.operation in taken for use in side.ops[0].results[0].uses)


def swapped_before(reader: Operation, value: SSAValue) -> onnx.TransposeOp | None:
    """The Transpose that makes `[batch, head, row, column]` for `reader` alone."""
    op = value.owner
    if not isinstance(op, onnx.TransposeOp) or not _may_go(value, reader):
        return None
    return op if _permutes(op, SWAPPED) else None


def swapped_after(value: SSAValue) -> onnx.TransposeOp | None:
    """The Transpose to `[batch, row, head, column]` that alone reads a value."""
    op = next((use.operation for use in value.uses), None)
    if not isinstance(op, onnx.TransposeOp) or not _may_go(value, op):
        return None
    return op if _permutes(op, SWAPPED) else None


def _permutes(op: onnx.TransposeOp, perm: tuple[int, ...]) -> bool:
    """Whether the rank is known and dims are moved like this."""
    return ints_attr(op, "perm") == perm and len(shape_of(op.data) or ()) == len(perm)


def _may_go(value: SSAValue, reader: Operation, *, or_returned: bool = False) -> bool:
    """Whether the op that makes a value may be merged with `reader`, which reads it."""
    if not isinstance(value.owner, Operation) or value.owner.parent is not reader.parent:
        return False
    others = (use.operation for use in value.uses if use.operation is not reader)
    return all(or_returned and op.has_trait(IsTerminator) and op.parent is reader.parent for op in others)
