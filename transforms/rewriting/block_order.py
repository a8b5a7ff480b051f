"""Which of two ops of a block comes first? A position map that stays right while ops are inserted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from xdsl.ir import Block, Operation, SSAValue

_GAP: Final = 1 << 60
"""Distance between the positions of neighbours: room for sixty insertions at one place."""


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

    def inserted_before(self, ops: Operation | Sequence[Operation], next_op: Operation) -> None:
        """Gives ops, just inserted in this order in front of `next_op`, their positions."""
        ops = (ops,) if isinstance(ops, Operation) else ops
        block = next_op.parent
        assert block is not None
        positions = self._positions.get(block)
        if positions is None or not ops:
            return
        after, previous = positions[next_op], ops[0].prev_op
        before = after - (len(ops) + 1) * _GAP if previous is None else positions[previous]
        if after - before <= len(ops):
            self._positions[block] = _numbered(block)
            return
        step = (after - before) // (len(ops) + 1)
        positions.update((op, before + step * (index + 1)) for index, op in enumerate(ops))

    def forget(self, op: Operation) -> None:
        """Drops a detached op that will not come back."""
        for positions in self._positions.values():
            positions.pop(op, None)

    def known(self, block: Block) -> dict[Operation, int]:
        """The positions of a block; ops that were erased may be among them."""
        return self._of(block)

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
