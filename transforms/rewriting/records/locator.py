"""Which op, block or value is at a position?"""

from __future__ import annotations

from xdsl.ir import Block, Operation, SSAValue

from onnxloom.errors import PassError
from onnxloom.transforms.rewriting.records.positions import Position, format_position


class Locator:
    """Answers for a module as it is when a block is first asked for. Raises PassError where nothing is."""

    def __init__(self, root: Operation) -> None:
        self._root = root
        self._blocks: dict[Position, Block] = {}
        self._ops: dict[Position, tuple[Operation, ...]] = {}

    def op(self, position: Position) -> Operation:
        if not position:
            return self._root
        path, index = position[:-1], position[-1]
        ops = self._ops.get(path)
        if ops is None:
            ops = self._ops[path] = tuple(self.block(path).ops)
        if index >= len(ops):
            raise PassError(f"there is no op {format_position(position)}: its block has {len(ops)} ops")
        return ops[index]

    def block(self, path: Position) -> Block:
        found = self._blocks.get(path)
        if found is None:
            found = self._blocks[path] = self._find(path)
        return found

    def value(self, place: Position, index: int) -> SSAValue:
        values = self.block(place).args if len(place) % 3 == 2 else self.op(place).results
        if index >= len(values):
            at = format_position(place)
            raise PassError(f"there is no value {index} of {at}: the number of its values is {len(values)}")
        return values[index]

    def _find(self, path: Position) -> Block:
        owner = self.op(path[:-2])
        region, index = path[-2:]
        if region < len(owner.regions):
            for number, block in enumerate(owner.regions[region].blocks):
                if number == index:
                    return block
        raise PassError(f"there is no block {format_position(path)}")


def set_hint(value: SSAValue | Block, hint: str | None) -> None:
    """Names a value or block exactly so. Raises PassError for what is no name."""
    if not type(value).is_valid_name(hint):
        raise PassError(f"{hint!r:.80} is not the name of a value")
    value._name = hint  # pyright: ignore[reportPrivateUsage] (the setter shortens it)
