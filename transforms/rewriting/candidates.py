"""Where may a pattern match that did not before? Near what has changed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from xdsl.ir import Operation, SSAValue

from onnxloom.transforms.rewriting.graph_index import GraphIndex

_RADIUS: Final = 4
"""Ops this far from a change, along operands or results, are looked at again at once."""

_FAN_OUT: Final = 8
"""Values with more readers are not followed."""


def near(changed: Iterable[Operation], index: GraphIndex) -> list[Operation]:
    """The ops around those that have changed, in block order.

    What lies further away is found when all ops are looked at, which is done before rewriting ends.
    """
    block = index.block
    found = {op: None for op in changed if op.parent is block}
    frontier = list(found)
    for _ in range(_RADIUS):
        neighbours: dict[Operation, None] = {}
        for op in frontier:
            neighbours.update(dict.fromkeys(index.predecessors(op)))
            for result in op.results:
                neighbours.update(dict.fromkeys(_few_readers(index, result)))
        frontier = [op for op in neighbours if op not in found]
        found.update(dict.fromkeys(frontier))
    return sorted(found, key=index.position)


def _few_readers(index: GraphIndex, value: SSAValue) -> list[Operation]:
    readers: dict[Operation, None] = {}
    for reader in index.readers(value):
        readers[reader] = None
        if len(readers) > _FAN_OUT:
            return []
    return list(readers)
