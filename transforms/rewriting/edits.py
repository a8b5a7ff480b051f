"""How is a block changed so that its index stays valid and everything can be taken back?

All that the engine does to the IR goes through `Edits`: the index hears of it, the analysis of dims is
kept, what has changed around is noted for those who look again, and a journal can undo it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from xdsl.ir import Attribute, Block, Operation, SSAValue

from onnxloom.dialects.onnx import FusedOp
from onnxloom.transforms.dim_analysis.refined_type import set_type
from onnxloom.transforms.rewriting.graph_index import GraphIndex

Undo = Callable[[], None]


class Journal:
    """What was done, to be undone last to first."""

    def __init__(self) -> None:
        self._undo: list[Undo] = []

    def note(self, undo: Undo) -> None:
        self._undo.append(undo)

    def roll_back(self) -> None:
        """Brings all ops, operands and types back to what they were when the journal began."""
        while self._undo:
            self._undo.pop()()


class Edits:
    """Changes one block."""

    def __init__(self, index: GraphIndex, journal: Journal):
        self.index = index
        self.journal = journal
        self.touched: dict[Operation, None] = {}
        """Ops that are new, read something else than before, or lost a reader."""

        self.touched_outside: dict[Operation, None] = {}
        """Ops of outer blocks that lost a reader in this one."""

        self.stale_blocks: dict[Block, None] = {}
        """Nested blocks that read something else than before."""

    def take_touched(self) -> list[Operation]:
        """The touched ops that are still there, in block order; forgets them."""
        block, order = self.index.block, self.index.order
        found = [op for op in self.touched if op.parent is block]
        self.touched = {}
        return sorted(found, key=order.position)

    def insert(self, ops: Sequence[Operation], place: Operation) -> None:
        """Puts detached ops, in this order, in front of `place`."""
        if not ops:
            return
        self.index.block.insert_ops_before(ops, place)
        self.index.inserted(ops, place)
        for op in ops:
            self.touched[op] = None
            self.journal.note(lambda op=op: _detach(op))

    def move_before(self, op: Operation, place: Operation) -> None:
        """Moves an op towards the front."""
        following = op.next_op
        assert following is not None, "a terminator is never moved"
        op.detach()
        self.index.block.insert_op_before(op, place)
        self.index.moved(op, place)
        self.journal.note(lambda: _move(op, following))

    def replace(self, values: Mapping[SSAValue, SSAValue], fresh: Sequence[Operation] = ()) -> None:
        """Lets all readers of the keys read the values instead, which are known by what both are."""
        new_ops = set(fresh)
        for old, new in values.items():
            if old is not new:
                self._replace(old, new, is_new=new.owner in new_ops)

    def _replace(self, old: SSAValue, new: SSAValue, *, is_new: bool) -> None:
        self.index.dims.unite(old, new, is_new=is_new)
        if isinstance(new.owner, Operation):
            refined = self.index.dims.refined_type(new)
            if refined is not None:
                self._set_type(new, refined)
        if is_new and new.name_hint is None:
            new.name_hint = old.name_hint
        block = self.index.block
        uses = tuple(old.uses)
        for use in uses:
            reader, operand = use.operation, use.index
            reader.operands[operand] = new
            holder = block.find_ancestor_op_in_block(reader)
            if holder is not None:  # what is not attached yet is not there to be undone
                self.journal.note(lambda r=reader, i=operand, v=old: _set_operand(r, i, v))
                self._touch_reader(reader, operand, new, holder)
        self.index.replaced(old, new)
        self.index.constants.changed(use.operation for use in uses)
        self._touch_producer(old)
        self._touch_producer(new)

    def _touch_reader(self, reader: Operation, operand: int, value: SSAValue, holder: Operation) -> None:
        if isinstance(reader, FusedOp):
            self._set_type(reader.body.block.args[operand], value.type)
        self.touched[holder] = None
        if holder is not reader:
            self.stale_blocks.update(dict.fromkeys(b for r in holder.regions for b in r.blocks))

    def erase(self, op: Operation) -> None:
        """Removes an op that nothing attached reads."""
        following = op.next_op
        assert following is not None, "a terminator is never removed"
        self.index.removed(op)
        self.touched.pop(op, None)
        op.detach()
        dropped = [(nested, tuple(nested.operands)) for nested in op.walk() if nested.operands]
        for nested, operands in dropped:
            nested.operands = ()
            for operand in operands:
                self._touch_producer(operand)
        self.journal.note(lambda: _restore(op, following, dropped))

    def _touch_producer(self, value: SSAValue) -> None:
        """The value has lost a reader."""
        owner = value.owner
        if isinstance(owner, Operation):
            touched = self.touched if owner.parent is self.index.block else self.touched_outside
            touched[owner] = None

    def _set_type(self, value: SSAValue, type_: Attribute) -> None:
        before = value.type
        if before != type_:
            set_type(value, type_)
            self.journal.note(lambda: set_type(value, before))


def discard(ops: Sequence[Operation]) -> None:
    """Lets go of detached ops that were built and are not needed."""
    for op in ops:
        if op.parent is None:
            op.operands = ()
            for region in op.regions:
                region.drop_all_references()


def _detach(op: Operation) -> None:
    op.detach()
    for nested in op.walk():
        nested.operands = ()


def _move(op: Operation, place: Operation) -> None:
    block = op.parent
    assert block is not None
    op.detach()
    block.insert_op_before(op, place)


def _set_operand(op: Operation, index: int, value: SSAValue) -> None:
    op.operands[index] = value


def _restore(
    op: Operation, following: Operation, dropped: Sequence[tuple[Operation, tuple[SSAValue, ...]]]
) -> None:
    block = following.parent
    assert block is not None
    for nested, operands in dropped:
        nested.operands = operands
    block.insert_op_before(op, following)
