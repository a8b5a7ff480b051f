"""Is every value defined before each of its uses?

xDSL's verifier does not ask. One walk in program order, linear in the number of operands: a block's
values are visible while its operations are walked, and in the regions of those operations unless they
are isolated. Blocks of a region with several blocks are walked in dominance-tree order.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Block, BlockArgument, Operation, OpResult, Region, SSAValue
from xdsl.traits import IsolatedFromAbove
from xdsl.utils.exceptions import VerifyException

from onnxloom.dialects.onnx.op_errors import name_of
from onnxloom.errors import ModelError


class DominanceError(ModelError, VerifyException):
    """A value is used where it is not defined; one sentence, and the op that uses it."""

    def __init__(self, message: str, op: Operation) -> None:
        super().__init__(message)
        self.op = op


def verify_dominance(root: Operation) -> None:
    """Raises DominanceError naming the first op, in program order, that uses a value it may not."""
    visible: set[SSAValue] = set()
    for region in root.regions:
        _check_region(region, visible)


def _check_region(region: Region, visible: set[SSAValue]) -> None:
    """Checks a region; leaves `visible` as it was."""
    block = region.first_block
    if block is None:
        return
    if block.next_block is None:
        added: list[SSAValue] = []
        _check_block(block, visible, added)
        visible.difference_update(added)
        return
    _check_blocks(region, visible)


def _check_block(block: Block, visible: set[SSAValue], added: list[SSAValue]) -> None:
    """Checks a block; what it defines stays visible and is noted in `added`."""
    visible.update(block.args)
    added.extend(block.args)
    for op in block.ops:
        for index, operand in enumerate(op.operands):
            if operand not in visible:
                raise DominanceError(_describe(op, index, operand), op)
        if op.regions:
            is_isolated = op.has_trait(IsolatedFromAbove, value_if_unregistered=False)
            for region in op.regions:
                _check_region(region, set() if is_isolated else visible)
        visible.update(op.results)
        added.extend(op.results)


def _check_blocks(region: Region, visible: set[SSAValue]) -> None:
    children = _dominator_tree(region)
    entry = region.first_block
    assert entry is not None
    # Leaving a block of the tree takes back what it made visible.
    stack: list[tuple[Block, list[SSAValue] | None]] = [(entry, None)]
    while stack:
        block, added = stack.pop()
        if added is not None:
            visible.difference_update(added)
            continue
        added = list[SSAValue]()
        stack.append((block, added))
        _check_block(block, visible, added)
        stack.extend((child, None) for child in children.get(block, ()))


def _dominator_tree(region: Region) -> dict[Block, list[Block]]:
    """Immediate dominator -> the blocks it dominates; unreachable blocks are left out.

    Cooper, Harvey and Kennedy, "A Simple, Fast Dominance Algorithm".
    """
    order = _reverse_postorder(region)
    position = {block: index for index, block in enumerate(order)}
    before: dict[Block, list[Block]] = {block: [] for block in order}
    for block in order:
        for successor in _successors(block):
            before[successor].append(block)
    parent = {order[0]: order[0]}
    changed = True
    while changed:
        changed = False
        for block in order[1:]:
            known = [other for other in before[block] if other in parent]
            found = known[0]
            for other in known[1:]:
                found = _meet(found, other, parent, position)
            if parent.get(block) is not found:
                parent[block] = found
                changed = True
    children: dict[Block, list[Block]] = {}
    for block in order[1:]:
        children.setdefault(parent[block], []).append(block)
    return children


def _meet(a: Block, b: Block, parent: dict[Block, Block], position: dict[Block, int]) -> Block:
    while a is not b:
        if position[a] > position[b]:
            a = parent[a]
        else:
            b = parent[b]
    return a


def _successors(block: Block) -> Sequence[Block]:
    return () if block.last_op is None else block.last_op.successors


def _reverse_postorder(region: Region) -> list[Block]:
    entry = region.first_block
    assert entry is not None
    seen = {entry}
    order: list[Block] = []
    stack = [(entry, iter(_successors(entry)))]
    while stack:
        block, successors = stack[-1]
        following = next(successors, None)
        if following is None:
            order.append(block)
            stack.pop()
        elif following not in seen:
            seen.add(following)
            stack.append((following, iter(_successors(following))))
    return order[::-1]


def _describe(op: Operation, index: int, operand: SSAValue) -> str:
    return f"{name_of(op)}: operand {index} is {_origin(op, operand)}"


def _origin(op: Operation, operand: SSAValue) -> str:
    name = f"%{operand.name_hint}, " if operand.name_hint else ""
    if isinstance(operand, BlockArgument):
        return f"{name}argument {operand.index} of a block that is not visible there"
    if not isinstance(operand, OpResult):
        return f"{name}a value that is not defined there"  # what xDSL's parser leaves of a name in a region
    producer = operand.op
    if producer is op:
        return f"{name}its own result"
    if producer.parent is None:
        return f"{name}a result of {producer.name}, which is not part of the program"
    later = producer.parent is op.parent
    return f"{name}a result of {producer.name}, which " + (
        "comes after it" if later else "is not visible there"
    )
