"""May a replacement go where a match is? Checks before anything is attached, and the place for it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from xdsl.ir import Block, Operation, SSAValue
from xdsl.traits import IsTerminator
from xdsl.utils.exceptions import DiagnosticException

from onnxloom.dialects.onnx import ConstantOp, NoValueOp
from onnxloom.dialects.onnx.narrow import compatible
from onnxloom.errors import PassError
from onnxloom.transforms.describe import describe
from onnxloom.transforms.miss import Miss
from onnxloom.transforms.rewriting.graph_index import GraphIndex
from onnxloom.transforms.rewriting.pattern import MatchResult, Replacement


@dataclass(frozen=True)
class Built:
    """A checked replacement."""

    ops: Sequence[Operation]
    """What is inserted, constants that the pattern did not list included."""

    values: dict[SSAValue, SSAValue]
    """Results of the replaced ops -> what their readers get."""


def checked(found: Any, match: MatchResult, index: GraphIndex) -> Built:
    """The replacement of a match, complete. Raises PassError for one that would break the graph."""
    if not isinstance(found, Replacement):
        raise PassError(f"apply gives a {type(found).__name__}; expected a Replacement")
    _check_parts(found)
    replaced = {op for op in match.ops if op is not None}
    ops = list(_with_sources(found.ops, index))
    _check_ops(ops, replaced, index)
    _check_values(found, set(ops), replaced, index)
    return Built(ops, dict(found.values))


def _check_parts(found: Replacement) -> None:
    """Raises PassError for a Replacement of something else than ops and values."""
    ops, values = cast(Any, found.ops), cast(Any, found.values)
    if not isinstance(ops, Sequence):
        raise PassError(f"Replacement.ops is a {type(ops).__name__}; expected a list of ops")
    if not isinstance(values, Mapping):
        raise PassError(
            f"Replacement.values is a {type(values).__name__}; expected {{old result: its new value}}"
        )
    for op in cast("Sequence[object]", ops):
        if not isinstance(op, Operation):
            raise PassError(f"Replacement.ops holds a {type(op).__name__}; expected ops")
    for value in (value for pair in cast("Mapping[object, object]", values).items() for value in pair):
        if not isinstance(value, SSAValue):
            hint = "; take its `results[0]`" if isinstance(value, Operation) else ""
            raise PassError(f"Replacement.values holds a {type(value).__name__}; expected values{hint}")


def _with_sources(ops: Sequence[Operation], index: GraphIndex) -> Iterator[Operation]:
    """The ops, and in front of their first readers the detached constants they read."""
    listed = set(ops)
    for op in ops:
        for operand in op.operands:
            owner = operand.owner
            if isinstance(owner, ConstantOp | NoValueOp) and owner.parent is None and owner not in listed:
                listed.add(owner)
                yield owner
        yield op


def _check_ops(ops: Sequence[Operation], replaced: set[Operation], index: GraphIndex) -> None:
    known = {operand for op in replaced for operand in read_by(op)}
    seen: set[Operation] = set()
    for op in ops:
        if op in seen:
            raise PassError(f"the replacement lists {describe(op)} twice")
        if op.parent is not None:
            raise PassError(f"the replacement lists {describe(op)}, which stands in the graph already")
        if op.has_trait(IsTerminator):
            raise PassError(f"the replacement lists {op.name}, which would end the block")
        for operand in read_by(op):
            owner = operand.owner
            if owner in replaced:
                raise PassError(f"{describe(op)} of the replacement reads a result of an op it replaces")
            if owner not in seen and operand not in known and not _is_visible(operand, index):
                raise PassError(
                    f"{describe(op)} of the replacement reads a value of {_maker(operand)}, which is neither "
                    "in the graph nor listed in Replacement.ops before it"
                )
        _verify(op)
        seen.add(op)


def _verify(op: Operation) -> None:
    """Raises PassError for an op that breaks a rule of its own, such as one without an operand it needs."""
    try:
        op.verify()
    except (DiagnosticException, ValueError) as error:
        message = " ".join(str(error).split())
        raise PassError(message if op.name in message else f"{describe(op)}: {message}") from error


def read_by(op: Operation) -> Iterator[SSAValue]:
    """What an op reads from outside, its regions included."""
    yield from op.operands
    inside = set(op.walk()) if op.regions else set[Operation]()
    for nested in inside:
        for operand in nested.operands:
            owner = operand.owner
            holder = owner.parent_op() if isinstance(owner, Block) else owner
            if holder not in inside:
                yield operand


def _is_visible(value: SSAValue, index: GraphIndex) -> bool:
    """Whether a value is made in the block, or in one around it in front of what holds the block."""
    owner = value.owner
    home = owner if isinstance(owner, Block) else owner.parent
    around: Block | None = index.block
    holder: Operation | None = None
    while around is not None and home is not None:
        if around is home:
            return (
                holder is None or isinstance(owner, Block) or index.position(owner) < index.position(holder)
            )
        holder = around.parent_op()
        around = None if holder is None else holder.parent
    return False


def _check_values(
    found: Replacement, new_ops: set[Operation], replaced: set[Operation], index: GraphIndex
) -> None:
    for old, fresh in found.values.items():
        if old.owner not in replaced:
            raise PassError("the replacement has an entry for what is no result of the ops it replaces")
        if fresh.owner in replaced:
            raise PassError("the replacement gives a result of an op it replaces in place of another")
        if fresh.owner not in new_ops and not _is_visible(fresh, index):
            raise PassError(
                f"the replacement gives a value of {_maker(fresh)}, which is neither in the graph nor listed "
                "in Replacement.ops"
            )
        if not compatible(old.type, fresh.type):
            raise PassError(
                f"the replacement has type {fresh.type}; expected {old.type} like what it replaces"
            )
    for op in replaced:
        for result in op.results:
            if result not in found.values and not index.is_used_only_by(result, replaced):
                raise PassError(f"the replacement has no value for a result of {describe(op)} that is read")


def _maker(value: SSAValue) -> str:
    return describe(value.owner) if isinstance(value.owner, Operation) else "another graph"


def place_of(built: Built, match: MatchResult, index: GraphIndex) -> Operation | Miss:
    """The op to insert in front of: after all that is read, before all that reads.

    The place the match asks for, or the nearest one that will do; ops without operands that stand in
    the way are for the caller to move (`blockers`).
    """
    order, replaced = index.order, {op for op in match.ops if op is not None}
    wanted = match.insert_at
    if wanted is None or wanted.parent is not index.block:  # another match may have replaced that op
        wanted = max(replaced, key=order.position)
    readers = [u for old in built.values for u in index.consumers(old) if u not in replaced]
    first = min(readers, key=order.position, default=None)
    sources = [p for p in _outer_producers(built, index) if not is_movable(p)]
    last = max(sources, key=order.position, default=None)
    place = wanted
    if last is not None and order.position(last) >= order.position(place):
        after = last.next_op
        assert after is not None, "the block ends with a terminator"
        place = after
    if first is not None and order.position(first) < order.position(place):
        place = first
    if last is not None and order.position(last) >= order.position(place):
        assert first is not None
        return Miss(f"{last.name} makes an input only after {first.name} has read a result")
    return place


def blockers(built: Built, place: Operation, index: GraphIndex) -> list[Operation]:
    """Constants that are read and stand behind the place: they can go in front of it."""
    position = index.position(place)
    return [p for p in _outer_producers(built, index) if is_movable(p) and index.position(p) >= position]


def is_movable(op: Operation) -> bool:
    """Whether an op may go anywhere in front of its readers."""
    return isinstance(op, ConstantOp | NoValueOp)


def _outer_producers(built: Built, index: GraphIndex) -> list[Operation]:
    """The ops of the block that make what the replacement reads or hands on."""
    values = [operand for op in built.ops for operand in read_by(op)]
    values += built.values.values()
    producers = (index.producer(value) for value in values)
    return list(dict.fromkeys(producer for producer in producers if producer is not None))
