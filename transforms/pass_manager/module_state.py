"""Did a pass change a module, and how does the module become again what it was?

A state remembers every op, value and attribute of a module by identity, so that comparing two is cheap
and putting one back gives the same objects: whoever holds an op of the module still holds it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Block, BlockArgument, Operation, OpResult, Region, SSAValue, SSAValues

# Removed ops cannot be put back by xDSL's public methods: those expect that what is linked is attached.
# pyright: reportPrivateUsage=false


class _OpState(NamedTuple):
    op: Operation
    operands: tuple[SSAValue, ...]
    properties: dict[str, Attribute]
    attributes: dict[str, Attribute]
    results: SSAValues[OpResult]
    types: tuple[tuple[Attribute, str | None], ...]
    """Type and name hint of each result."""
    regions: tuple[_RegionState, ...]


class _BlockState(NamedTuple):
    block: Block
    args: tuple[BlockArgument, ...]
    types: tuple[tuple[Attribute, str | None], ...]
    ops: tuple[_OpState, ...]


class _RegionState(NamedTuple):
    region: Region
    blocks: tuple[_BlockState, ...]


class ModuleState:
    """A module as it is now. Two are equal when nothing was done to the module between them."""

    def __init__(self, module: ModuleOp) -> None:
        self._root = _op_state(module)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ModuleState) and self._root == other._root

    __hash__ = None  # pyright: ignore[reportAssignmentType]

    def restore(self) -> None:
        """Makes the module what it was: the same ops, in the same blocks, with the same operands."""
        ops = [state.op for state in _op_states(self._root)]
        blocks = [state for op in _op_states(self._root) for region in op.regions for state in region.blocks]
        _forget_uses([*self._root.op.walk(), *ops])
        for block in blocks:
            _forget_users(block.block.args)
        for op in ops:
            _forget_users(op.results)
        for state in _op_states(self._root):
            _restore_op(state)
        for state in _op_states(self._root):
            state.op.operands = state.operands


def _op_state(op: Operation) -> _OpState:
    return _OpState(
        op,
        tuple(op.operands),
        dict(op.properties),
        dict(op.attributes),
        op.results,
        _types(op.results),
        tuple([_region_state(region) for region in op.regions]),
    )


def _region_state(region: Region) -> _RegionState:
    return _RegionState(region, tuple([_block_state(block) for block in region.blocks]))


def _block_state(block: Block) -> _BlockState:
    return _BlockState(block, block.args, _types(block.args), tuple([_op_state(op) for op in block.ops]))


def _types(values: Sequence[SSAValue]) -> tuple[tuple[Attribute, str | None], ...]:
    return tuple([(value._type, value._name) for value in values])


def _op_states(root: _OpState) -> Iterator[_OpState]:
    """All ops of a state, each before those inside it."""
    waiting = [root]
    while waiting:
        state = waiting.pop()
        yield state
        waiting.extend(op for region in state.regions for block in region.blocks for op in block.ops)


def _forget_uses(ops: Iterable[Operation]) -> None:
    for op in ops:
        op.operands = ()


def _forget_users(values: Sequence[SSAValue]) -> None:
    """Ops that a pass made and left lying about may still read the values."""
    for value in values:
        for user in {use.operation: None for use in value.uses}:
            user.operands = ()


def _restore_op(state: _OpState) -> None:
    op = state.op
    for now, then in ((op.properties, state.properties), (op.attributes, state.attributes)):
        now.clear()
        now.update(then)
    op.results = state.results
    _restore_types(op.results, state.types)
    op.regions = tuple(region.region for region in state.regions)
    for region in state.regions:
        region.region.parent = op
        _restore_region(region)


def _restore_region(state: _RegionState) -> None:
    region = state.region
    blocks = [block.block for block in state.blocks]
    region._first_block = blocks[0] if blocks else None
    region._last_block = blocks[-1] if blocks else None
    for index, block in enumerate(blocks):
        block.parent = region
        block._prev_block = blocks[index - 1] if index else None
        block._next_block = blocks[index + 1] if index + 1 < len(blocks) else None
    for block in state.blocks:
        _restore_block(block)


def _restore_block(state: _BlockState) -> None:
    block = state.block
    block._args = state.args
    for index, arg in enumerate(state.args):
        arg.block, arg.index = block, index
    _restore_types(state.args, state.types)
    ops = [op.op for op in state.ops]
    block._first_op = ops[0] if ops else None
    block._last_op = ops[-1] if ops else None
    for index, op in enumerate(ops):
        op.parent = block
        op._prev_op = ops[index - 1] if index else None
        op._next_op = ops[index + 1] if index + 1 < len(ops) else None


def _restore_types(values: Sequence[SSAValue], types: Sequence[tuple[Attribute, str | None]]) -> None:
    for value, (type_, name) in zip(values, types, strict=True):
        value._type, value._name = type_, name
