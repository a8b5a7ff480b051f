"""Do two patterns undo each other for ever?

Every op that a rewrite made knows its pattern and how many rewrites led to it. Where that number grows
large, places are compared: the same ops of the same values, rewritten again and again, are a loop. A
value keeps its identity when a rewrite gives it another op.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Final

from xdsl.ir import Operation, SSAValue

from onnxloom.errors import PassError
from onnxloom.transforms.describe import describe
from onnxloom.transforms.rewriting.attribute_key import attributes_key
from onnxloom.transforms.rewriting.pattern import PatternOptimization
from onnxloom.transforms.rewriting.replacement import Built

_SUSPICIOUS: Final = 6
"""So many rewrites one after the other in one place are looked at."""

_REPEATS: Final = 3
"""The same rewrite of the same place so often is a loop."""

_ROOM: Final = 1000
_ROOM_PER_SIZE: Final = 10
"""Ops that such rewrites may add to a graph: two for one, over and over, soon fill any memory."""


class LoopAlarm:
    """Watches the rewrites of one graph."""

    def __init__(self, size: int) -> None:
        """`size` is that of the graph: of its ops and what they read."""
        self._made: dict[Operation, tuple[PatternOptimization, int]] = {}
        self._same: dict[SSAValue, SSAValue] = {}
        """Value -> the first of the values it is another name of."""

        self._latest: list[str] = []

        self._seen: dict[Hashable, int] = {}
        self._room = _ROOM + _ROOM_PER_SIZE * size

    def watch(self, pattern: PatternOptimization, replaced: Sequence[Operation], built: Built) -> None:
        """Hears of a rewrite about to be done. Raises PassError, naming the patterns, for one too many."""
        self._latest = [*self._latest[-7:], pattern.name]
        makers = [made for op in replaced if (made := self._made.get(op)) is not None]
        depth = 1 + max((depth for _, depth in makers), default=0)
        if depth > _SUSPICIOUS:
            self._look(pattern, replaced, [maker.name for maker, _ in makers], built)
            self._room -= len(built.ops) - len(replaced)
            if self._room < 0:
                raise PassError(f"patterns make ever more ops: {self.latest()}")
        new_ops = set(built.ops)
        for op in replaced:
            self._made.pop(op, None)
        self._made.update((op, (pattern, depth)) for op in built.ops)
        for old, fresh in built.values.items():
            if fresh.owner in new_ops:
                self._same[fresh] = self._same.get(old, old)

    def latest(self) -> str:
        """The patterns that were applied last."""
        return ", ".join(dict.fromkeys(self._latest)) or "none"

    def _look(
        self, pattern: PatternOptimization, replaced: Sequence[Operation], makers: Sequence[str], built: Built
    ) -> None:
        inside = set(replaced)
        place = tuple((self._expression(old, inside), self._name(old)) for old in built.values)
        key = (pattern.name, place)
        self._seen[key] = self._seen.get(key, 0) + 1
        if self._seen[key] < _REPEATS:
            return
        others = sorted(set(makers) - {pattern.name})
        if others:
            names = " and ".join([pattern.name, *others])
            raise PassError(f"patterns {names} undo each other at {describe(replaced[-1])}")
        raise PassError(f"pattern {pattern.name} undoes its own result at {describe(replaced[-1])}")

    def _expression(self, value: SSAValue, inside: set[Operation]) -> Hashable:
        """A value in terms of what the replaced ops read."""
        owner = value.owner
        if not isinstance(owner, Operation) or owner not in inside:
            return self._name(value)
        operands = tuple(self._expression(operand, inside) for operand in owner.operands)
        index = owner.results.index(value)
        return (type(owner), index, attributes_key(owner), operands)

    def _name(self, value: SSAValue) -> SSAValue:
        return self._same.get(value, value)
