"""What is different between two snapshots of a module?

The smallest set of edits that leads from one to the other, found by identity, so that it does not matter
who made them or how. Ops keep their place unless they must move; operands that changed alike everywhere are
one renaming.
"""

from __future__ import annotations

import struct
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, FloatData
from xdsl.ir import Attribute, Block, BlockArgument, Operation, OpResult, ParametrizedAttribute, SSAValue

from onnxloom.errors import PassError
from onnxloom.transforms.rewriting.records.positions import format_value
from onnxloom.transforms.rewriting.records.snapshot import BlockState, OpState, Snapshot

Key = tuple[Operation | Block, int, bool]
"""A value: what it belongs to, its number there, and whether it came into being in between."""


class Difference:
    """The edits between two snapshots of one module. Raises PassError for what no pass may do."""

    def __init__(self, before: Snapshot, after: Snapshot) -> None:
        if before.root is not after.root:
            raise PassError("a recorder watches one module; this is another")
        self.before = before
        self.after = after
        self._origins = _argument_origins(before, after)
        self.kept = [op for op in after.ops if op in before.ops]
        self.added = [op for op in after.ops if op not in before.ops]
        self.removed = [
            op for op, state in before.ops.items() if op not in after.ops and state.block in after.blocks
        ]
        """Without those inside a removed block."""

        self.moved = self._find_moved()
        self.relaid = [op for op in self.kept if before.ops[op].layout != after.ops[op].layout]
        """Ops that stay and have other blocks."""

        self.rearranged = [block for block in after.blocks if self._is_rearranged(block)]
        """Blocks that stay and have other arguments."""

        self.renames: dict[Key, SSAValue] = {}
        """What was read everywhere by ops that stay, and what all of them read instead."""

        self.changed: set[Operation] = set()
        """Ops that stay and differ in more than what renames, retyped and named say."""

        self._compare_operands()
        self.retyped = list(self._retyped())
        self.named = list(self._named())

    @property
    def is_empty(self) -> bool:
        return not (
            self.added
            or self.removed
            or self.moved
            or self.relaid
            or self.rearranged
            or self.renames
            or self.changed
            or self.retyped
            or self.named
        )

    # Names of values

    def name(self, value: SSAValue) -> str:
        """What a record calls a value of the later snapshot."""
        return self.name_of_key(self._key_after(value))

    def name_of_key(self, key: Key) -> str:
        owner, index, is_new = key
        snapshot = self.after if is_new else self.before
        place = snapshot.path(owner) if isinstance(owner, Block) else snapshot.position(owner)
        return format_value("new" if is_new else "was", place, index)

    def _key_before(self, value: SSAValue) -> Key:
        if isinstance(value, OpResult):
            return value.op, value.index, False
        block, index = _place_of(value, self.before)
        return block, index, False

    def _key_after(self, value: SSAValue) -> Key:
        if isinstance(value, OpResult):
            return value.op, value.index, value.op not in self.before.ops
        block, index = _place_of(value, self.after)
        origin = self._origins.get(block, ())
        known = origin[index] if index < len(origin) else None
        return (block, index, True) if known is None else (block, known, False)

    def argument_origins(self, block: Block) -> Sequence[int | None]:
        """For each argument of a block that stays: its number before, or None."""
        return self._origins[block]

    # Places

    def _find_moved(self) -> list[Operation]:
        moved: set[Operation] = set()
        for block, state in self.after.blocks.items():
            known = self.before.blocks.get(block)
            if known is not None and known.ops == state.ops:
                continue
            stayed: list[Operation] = []
            for op in state.ops:
                earlier = self.before.ops.get(op)
                if earlier is not None and earlier.block is block:
                    stayed.append(op)
                elif earlier is not None:
                    moved.add(op)
            indices = [self.before.ops[op].index for op in stayed]
            moved.update(op for op, stays in zip(stayed, _increasing(indices), strict=True) if not stays)
        return [op for op in self.kept if op in moved]

    def _is_rearranged(self, block: Block) -> bool:
        if block not in self.before.blocks:
            return False
        origins = self._origins[block]
        return list(origins) != list(range(len(self.before.blocks[block].arguments)))

    # Contents

    def _compare_operands(self) -> None:
        different: dict[Operation, list[tuple[Key, SSAValue]]] = {}
        for op in self.kept:
            before, after = self.before.ops[op], self.after.ops[op]
            if len(before.types) != len(after.types):
                raise PassError(f"{op.name}: a pass changed the number of its results")
            if len(before.operands) != len(after.operands) or _attributes_differ(before, after):
                self.changed.add(op)
            elif before.operands != after.operands:
                different[op] = self._replaced_operands(before, after)
        if any(different.values()):
            self._find_renames(different)

    def _replaced_operands(self, before: OpState, after: OpState) -> list[tuple[Key, SSAValue]]:
        return [
            (self._key_before(old), new)
            for old, new in zip(before.operands, after.operands, strict=True)
            if self._key_before(old) != self._key_after(new)
        ]

    def _find_renames(self, different: Mapping[Operation, list[tuple[Key, SSAValue]]]) -> None:
        replaced = Counter(key for pairs in different.values() for key, _ in pairs)
        read: Counter[Key] = Counter()
        for op in self.kept:
            if op not in self.changed:
                keys = (self._key_before(value) for value in self.before.ops[op].operands)
                read.update(key for key in keys if key in replaced)
        instead: dict[Key, set[Key]] = {}
        for pairs in different.values():
            for key, new in pairs:
                instead.setdefault(key, set()).add(self._key_after(new))
        alike = {key for key in replaced if len(instead[key]) == 1 and replaced[key] == read[key]}
        for op, pairs in different.items():
            if any(key not in alike for key, _ in pairs):
                self.changed.add(op)
        for op, pairs in different.items():
            if op not in self.changed:
                self.renames.update(pairs)

    def _retyped(self) -> Iterable[SSAValue]:
        for op in self.kept:
            types, after = self.before.ops[op].types, self.after.ops[op].types
            if op not in self.changed and types != after:
                yield from (r for r, a, b in zip(op.results, types, after, strict=True) if a != b)
        yield from (
            argument for argument, same in self._known_arguments(lambda state: state.types) if not same
        )

    def _named(self) -> Iterable[SSAValue]:
        for op in self.kept:
            hints, after = self.before.ops[op].hints, self.after.ops[op].hints
            if hints != after:
                yield from (r for r, a, b in zip(op.results, hints, after, strict=True) if a != b)
        yield from (
            argument for argument, same in self._known_arguments(lambda state: state.hints) if not same
        )

    def _known_arguments(
        self, part: Callable[[BlockState], Sequence[object]]
    ) -> Iterable[tuple[BlockArgument, bool]]:
        """Arguments that were there before, and whether that part of them is the same."""
        for block, state in self.after.blocks.items():
            known = self.before.blocks.get(block)
            if known is None:
                continue
            for number, origin in enumerate(self._origins[block]):
                if origin is not None:
                    yield state.arguments[number], part(known)[origin] == part(state)[number]


def _place_of(value: SSAValue, snapshot: Snapshot) -> tuple[Block, int]:
    assert isinstance(value, BlockArgument)
    place = snapshot.arguments.get(value)
    if place is None:
        raise PassError("an op reads a value that is not in its module")
    return place


def _argument_origins(before: Snapshot, after: Snapshot) -> dict[Block, Sequence[int | None]]:
    """A replaced argument (xDSL makes another object to change a type) is the one at the same place."""
    origins: dict[Block, Sequence[int | None]] = {}
    for block, state in after.blocks.items():
        known = before.blocks.get(block)
        if known is None:
            continue
        if known.arguments == state.arguments:
            origins[block] = range(len(state.arguments))
            continue
        numbers = {argument: number for number, argument in enumerate(known.arguments)}
        is_aligned = len(known.arguments) == len(state.arguments)
        gone = numbers.keys() - set(state.arguments)
        origins[block] = [
            numbers.get(argument, number if is_aligned and known.arguments[number] in gone else None)
            for number, argument in enumerate(state.arguments)
        ]
    return origins


def _increasing(numbers: Sequence[int]) -> list[bool]:
    """Which of the numbers are in one longest increasing subsequence."""
    tails: list[int] = []
    """The smallest number a subsequence of each length ends with."""
    ends: list[int] = []
    """Where that number stands."""
    previous: list[int] = []
    for index, number in enumerate(numbers):
        length = bisect_left(tails, number)
        tails[length : length + 1] = [number]
        ends[length : length + 1] = [index]
        previous.append(ends[length - 1] if length else -1)
    chosen = [False] * len(numbers)
    at = ends[-1] if ends else -1
    while at >= 0:
        chosen[at] = True
        at = previous[at]
    return chosen


def _attributes_differ(before: OpState, after: OpState) -> bool:
    return _dicts_differ(before.properties, after.properties) or _dicts_differ(
        before.attributes, after.attributes
    )


def _dicts_differ(before: Mapping[str, Attribute], after: Mapping[str, Attribute]) -> bool:
    """Order counts too: text shows it."""
    if list(before) != list(after):
        return True
    return any(not _same(before[name], after[name]) for name in before)


def _same(a: Attribute, b: Attribute) -> bool:
    """Equal bit for bit: as attributes 0.0 and -0.0 are equal, and a NaN is equal to no other."""
    if a is b:
        return True
    match a, b:
        case FloatData(), FloatData():
            return struct.pack("<d", a.data) == struct.pack("<d", b.data)
        case ArrayAttr(), ArrayAttr():
            return len(a.data) == len(b.data) and all(map(_same, a.data, b.data))
        case DictionaryAttr(), DictionaryAttr():
            return not _dicts_differ(a.data, b.data)
        case ParametrizedAttribute(), ParametrizedAttribute():
            same_class = type(a) is type(b) and len(a.parameters) == len(b.parameters)
            return same_class and all(map(_same, a.parameters, b.parameters))
        case _:
            return a == b
