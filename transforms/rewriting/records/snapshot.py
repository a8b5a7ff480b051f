"""What of a module must be remembered to say later what became different?

Who is where, and what each op reads and is: everything that text shows. Ops and blocks are known by
identity; they stay alive as long as the snapshot does.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.ir import Attribute, Block, BlockArgument, Operation, SSAValue

from onnxloom.errors import PassError
from onnxloom.transforms.rewriting.records.positions import Position


@dataclass(frozen=True, slots=True)
class OpState:
    """One op at one time."""

    block: Block | None
    """None for the module itself."""

    index: int
    """In its block."""

    operands: tuple[SSAValue, ...]
    properties: dict[str, Attribute]
    attributes: dict[str, Attribute]
    types: tuple[Attribute, ...]
    hints: tuple[str | None, ...]
    """Names of the results, as far as they have names."""

    layout: tuple[tuple[Block, ...], ...]
    """The blocks of each region."""


@dataclass(frozen=True, slots=True)
class BlockState:
    """One block at one time."""

    owner: Operation
    region: int
    index: int
    """In its region."""

    arguments: tuple[BlockArgument, ...]
    types: tuple[Attribute, ...]
    hints: tuple[str | None, ...]
    ops: tuple[Operation, ...]


class Snapshot:
    """All ops and blocks of a module at one time, each op before what it holds."""

    def __init__(self, root: Operation) -> None:
        self.root = root
        self.ops: dict[Operation, OpState] = {root: _op_state(root, None, 0)}
        self.blocks: dict[Block, BlockState] = {}
        waiting = _blocks_of(root)
        while waiting:
            owner, region, index, block = waiting.pop()
            self.blocks[block] = _block_state(block, owner, region, index)
            for number, op in enumerate(self.blocks[block].ops):
                self.ops[op] = _op_state(op, block, number)
                if op.regions:
                    waiting += _blocks_of(op)
        self.arguments = {
            argument: (block, number)
            for block, state in self.blocks.items()
            for number, argument in enumerate(state.arguments)
        }
        """Block and number of each block argument."""

    def position(self, op: Operation) -> Position:
        state = self.ops[op]
        return () if state.block is None else (*self.path(state.block), state.index)

    def path(self, block: Block) -> Position:
        state = self.blocks[block]
        return (*self.position(state.owner), state.region, state.index)


def top_of(op: Operation) -> Operation:
    """The module an op belongs to."""
    while (parent := op.parent_op()) is not None:
        op = parent
    return op


def _blocks_of(op: Operation) -> list[tuple[Operation, int, int, Block]]:
    """Last first."""
    found = [
        (op, region_index, index, block)
        for region_index, region in enumerate(op.regions)
        for index, block in enumerate(region.blocks)
    ]
    return found[::-1]


def _op_state(op: Operation, block: Block | None, index: int) -> OpState:
    if op.successors:
        raise PassError(f"{op.name}: ops with successors cannot be recorded")
    return OpState(
        block,
        index,
        tuple(op.operands),
        dict(op.properties),
        dict(op.attributes),
        tuple([result.type for result in op.results]),
        tuple([result.name_hint for result in op.results]),
        tuple([tuple(region.blocks) for region in op.regions]) if op.regions else (),
    )


def _block_state(block: Block, owner: Operation, region: int, index: int) -> BlockState:
    return BlockState(
        owner,
        region,
        index,
        tuple(block.args),
        tuple([argument.type for argument in block.args]),
        tuple([argument.name_hint for argument in block.args]),
        tuple(block.ops),
    )
