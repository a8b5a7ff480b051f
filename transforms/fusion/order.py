"""Which of two ops of a block comes first? A position map that stays right while ops are inserted."""

from __future__ import annotations

from typing import Final

from xdsl.ir import Block, Operation, SSAValue

_GAP: Final = 1 << 16
"""Distance between the positions of neighbours: room for sixteen insertions at one place."""


class BlockOrder:
    """Positions of the ops of each block asked about; one linear walk per block.

    Ops may be erased freely. Ops inserted while the map is in use must be announced by
    `inserted_before`.
    """

    def __init__(self) -> None:
        self._positions: dict[Block, dict[Operation, int]] = {}

    def position(self, op: Operation) -> int:
        """Grows along the block of `op`; comparable within one block only."""
        block = op.parent
        assert block is not None, "a detached op has no position"
        return self._of(block)[op]

    def inserted_before(self, op: Operation, next_op: Operation) -> None:
        """Gives `op`, just inserted in front of `next_op`, its position."""
        block = op.parent
        assert block is not None
        positions = self._positions.get(block)
        if positions is None:
            return
        after = positions[next_op]
        before = after - 2 * _GAP if op.prev_op is None else positions[op.prev_op]
        if after - before < 2:
            self._positions[block] = _numbered(block)
        else:
            positions[op] = (before + after) // 2

    def _of(self, block: Block) -> dict[Operation, int]:
        positions = self._positions.get(block)
        if positions is None:
            positions = self._positions[block] = _numbered(block)
        return positions


def _numbered(block: Block) -> dict[Operation, int]:
    return {op: index * _GAP for index, op in enumerate(block.ops)}


def producer_in(block: Block, value: SSAValue) -> Operation | None:
    """The op of `block` that makes `value`; None when it comes from further out or is an argument."""
    owner = value.owner
    return owner if isinstance(owner, Operation) and owner.parent is block else None


def user_in(block: Block, user: Operation) -> Operation:
    """The op of `block` that is `user` or holds it in a nested region."""
    ancestor = block.find_ancestor_op_in_block(user)
    assert ancestor is not None, "a value is used where it does not dominate"
    return ancestor
