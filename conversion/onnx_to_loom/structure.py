"""What is known of a broadcast before the sizes are? The loop nest it needs, and how operands move in it.

`broadcast_space` merges dims at plan time; this module bounds, from types and proofs about dynamic
dims alone, how many loops can be left and what the strides of the innermost one are.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from enum import Enum, auto

from xdsl.dialects.builtin import DYNAMIC_INDEX, TensorType
from xdsl.ir import Attribute

DimKey = Hashable
"""An int for a static dim, else something equal for dims proven equal."""


class Role(Enum):
    """How an operand moves through the iteration space."""

    SCALAR = auto()
    """One element."""
    FULL = auto()
    """The whole space in row-major order: its offset is the output's."""
    STRIDED = auto()
    """Has strides of its own."""


@dataclass(frozen=True)
class BroadcastStructure:
    """The loop nest of a broadcast."""

    rank: int
    """Loops needed at most; at least one."""
    roles: tuple[Role, ...]
    inner: tuple[int, ...]
    """Expected stride of each operand in the innermost loop, 0 or 1."""
    certain: bool
    """Whether `inner` holds for all sizes; else kernels check it."""

    @property
    def strided(self) -> list[int]:
        """Positions of the operands with strides of their own."""
        return [i for i, role in enumerate(self.roles) if role is Role.STRIDED]


def result_dims(shapes: Sequence[Sequence[DimKey]], rank: int) -> list[DimKey]:
    """Keys of the broadcast's dims; a dim that cannot be told gets a key of its own."""
    columns = zip(*(_padded(shape, rank) for shape in shapes), strict=True)
    return [_result_dim(column) for column in columns]


def _padded(shape: Sequence[DimKey], rank: int) -> list[DimKey]:
    return [1] * (rank - len(shape)) + list(shape)


def _result_dim(column: Sequence[DimKey]) -> DimKey:
    static = [d for d in column if isinstance(d, int) and d != 1]
    if static:
        return static[0]
    keys = {d for d in column if d != 1}
    if not keys:
        return 1
    return keys.pop() if len(keys) == 1 else object()


def broadcast_structure(shapes: Sequence[Sequence[DimKey]], rank: int) -> BroadcastStructure:
    """The structure of a broadcast of operands with these dims to `rank` dims."""
    target = result_dims(shapes, rank)
    rows = [_padded(shape, rank) for shape in shapes]
    roles = tuple(_role(row, target) for row in rows)
    kept = [d for d in range(rank) if target[d] != 1]
    strided = [row for row, role in zip(rows, roles, strict=True) if role is Role.STRIDED]
    groups: list[list[int]] = []
    for d in kept:
        if groups and all(_same_kind(row, target, groups[-1][-1], d) for row in strided):
            groups[-1].append(d)
        else:
            groups.append([d])
    if not groups:
        return BroadcastStructure(1, roles, tuple(0 for _ in roles), True)
    last = groups[-1]
    inner = tuple(_inner(row, role, last[-1]) for row, role in zip(rows, roles, strict=True))
    sized = any(isinstance(target[d], int) for d in last) or len(groups) == 1
    told = all(_kind(row, target, last[-1]) is not None for row in strided)
    return BroadcastStructure(len(groups), roles, inner, sized and told)


def _role(row: Sequence[DimKey], target: Sequence[DimKey]) -> Role:
    if all(d == 1 for d in row):
        return Role.SCALAR
    return Role.FULL if list(row) == list(target) else Role.STRIDED


def _kind(row: Sequence[DimKey], target: Sequence[DimKey], d: int) -> bool | None:
    """Whether the operand moves along dim `d`; None if that depends on sizes."""
    if row[d] == target[d]:
        return True
    return False if row[d] == 1 else None


def _same_kind(row: Sequence[DimKey], target: Sequence[DimKey], a: int, b: int) -> bool:
    kind = _kind(row, target, a)
    return kind is not None and kind == _kind(row, target, b)


def _inner(row: Sequence[DimKey], role: Role, d: int) -> int:
    return 0 if role is Role.SCALAR or row[d] == 1 else 1


def static_count(type_: Attribute) -> int | None:
    """Number of elements of a tensor type, None if it has dynamic dims or no rank."""
    if not isinstance(type_, TensorType) or DYNAMIC_INDEX in type_.get_shape():
        return None
    count = 1
    for dim in type_.get_shape():
        count *= dim
    return count
