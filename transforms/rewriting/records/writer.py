"""How do the differences of one batch become records, one per match that was applied?

What a match does not claim (ops that became dead, types that follow) goes into a record of the batch's own
name.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from xdsl.ir import Block, Operation, OpResult

from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.weights import WeightsAttr
from onnxloom.transforms.rewriting.records.difference import Difference, Key
from onnxloom.transforms.rewriting.records.op_text import write_op, write_type
from onnxloom.transforms.rewriting.records.positions import format_position
from onnxloom.transforms.rewriting.records.record import (
    AddedOp,
    BlockForm,
    ChangedOp,
    Layout,
    MovedOp,
    OpAt,
    RearrangedBlock,
    RelaidOp,
    RewriteRecord,
)

if TYPE_CHECKING:
    from onnxloom.transforms.rewriting.recording import AppliedMatch


class RecordWriter:
    """Writes each difference into exactly one record. The later state must be the one that lives."""

    def __init__(self, difference: Difference, batch: int) -> None:
        self._difference = difference
        self._batch = batch
        self._removed = dict.fromkeys(difference.removed)
        self._added = dict.fromkeys(difference.added)
        self._renames = dict(difference.renames)
        self._renamed: dict[Operation | Block, list[Key]] = {}
        """What the renamed values belong to -> their keys."""

        for key in self._renames:
            self._renamed.setdefault(key[0], []).append(key)
        self._weights: dict[WeightsAttr, str] | None = None

    def records(self, name: str, applied: Sequence[AppliedMatch]) -> list[RewriteRecord]:
        """One per match that changed anything, then one for the rest if there is any."""
        records = [record for match in applied if (record := self._of_match(match)) is not None]
        rest = self._rest(name)
        return records if rest is None else [*records, rest]

    def _of_match(self, match: AppliedMatch) -> RewriteRecord | None:
        removed = [op for op in match.matched if op is not None and op in self._removed]
        added = self._with_inner([op for op in match.added if op in self._added])
        owners: dict[Operation | Block, None] = {op: None for op in match.matched if op is not None}
        owners.update({value.owner: None for value in match.renames})
        renames = [key for owner in owners for key in self._renamed.get(owner, ()) if key in self._renames]
        if not (removed or added or renames):
            return None
        return replace(
            self._record(match.pattern, removed, added, renames),
            match_ns=match.match_ns,
            apply_ns=match.apply_ns,
            comment=match.comment,
            adds_ops=match.adds_ops,
        )

    def _rest(self, name: str) -> RewriteRecord | None:
        difference = self._difference
        changed = [op for op in difference.kept if op in difference.changed]
        rest = replace(
            self._record(name, list(self._removed), list(self._added), list(self._renames)),
            changed=tuple([ChangedOp(self._was(op), self._text(op)) for op in changed]),
            moved=tuple([MovedOp(self._was(op), op.name, self._new(op)) for op in difference.moved]),
            relaid=tuple([RelaidOp(self._was(op), op.name, self._layout(op)) for op in difference.relaid]),
            rearranged=tuple([self._arguments(block) for block in difference.rearranged]),
            retyped=tuple([(difference.name(v), write_type(v.type)) for v in difference.retyped]),
            named=tuple([(difference.name(v), v.name_hint) for v in difference.named]),
        )
        empty = RewriteRecord(self._batch, name, rest.path)
        return None if rest == empty else rest

    def _record(
        self, name: str, removed: Sequence[Operation], added: Sequence[Operation], renames: Iterable[Key]
    ) -> RewriteRecord:
        """Ops that went and came, and what others read instead; each is told once."""
        matched = tuple([OpAt(self._was(op), op.name) for op in removed])
        written = tuple([self._added_op(op) for op in added])
        difference = self._difference
        named = [
            (difference.name_of_key(key), difference.name(self._renames.pop(key))) for key in list(renames)
        ]
        for op in removed:
            del self._removed[op]
        for op in added:
            del self._added[op]
        return RewriteRecord(
            self._batch,
            name,
            self._path(removed, added),
            matched,
            written,
            renames=tuple(named),
            weights_added=tuple([at.new for at, op in zip(written, added, strict=True) if _is_constant(op)]),
            weights_removed=tuple(
                [at.was for at, op in zip(matched, removed, strict=True) if _is_constant(op)]
            ),
        )

    def _with_inner(self, ops: Iterable[Operation]) -> list[Operation]:
        """The ops and what is new inside them, each before what it holds."""
        return list(dict.fromkeys(inner for op in ops for inner in op.walk() if inner in self._added))

    # Places

    def _path(self, removed: Sequence[Operation], added: Sequence[Operation]) -> str:
        after = self._difference.after
        for op in (*added, *removed):
            block = after.ops[op].block if op in after.ops else self._difference.before.ops[op].block
            if block is not None and block in after.blocks:
                return format_position(after.path(block))
        places = [after.ops[op].block for op in self._touched()]
        blocks = [block for block in places if block is not None]
        return format_position(after.path(blocks[0])) if blocks else format_position(())

    def _touched(self) -> Iterable[Operation]:
        difference = self._difference
        yield from difference.moved
        yield from difference.changed
        yield from difference.relaid
        for value in (*difference.retyped, *difference.named):
            yield value.op if isinstance(value, OpResult) else _owner(value.owner)
        for block in difference.rearranged:
            yield _owner(block)

    def _was(self, op: Operation) -> str:
        return format_position(self._difference.before.position(op))

    def _new(self, op: Operation) -> str:
        return format_position(self._difference.after.position(op))

    # Contents

    def _text(self, op: Operation) -> str:
        return write_op(op, self._difference.name, self._place_of_weights)

    def _added_op(self, op: Operation) -> AddedOp:
        hints = tuple([result.name_hint for result in op.results])
        known = hints if any(hint is not None for hint in hints) else ()
        return AddedOp(self._new(op), self._text(op), known, self._layout(op))

    def _layout(self, op: Operation) -> Layout:
        regions = self._difference.after.ops[op].layout
        return tuple([tuple([self._form(block) for block in region]) for region in regions])

    def _form(self, block: Block) -> BlockForm:
        before = self._difference.before
        if block in before.blocks:
            return BlockForm(format_position(before.path(block)))
        types = tuple([write_type(argument.type) for argument in block.args])
        return BlockForm(None, types, _hints(block), block.name_hint)

    def _arguments(self, block: Block) -> RearrangedBlock:
        origins = self._difference.argument_origins(block)
        arguments = [
            write_type(argument.type) if origin is None else origin
            for argument, origin in zip(block.args, origins, strict=True)
        ]
        path = format_position(self._difference.before.path(block))
        return RearrangedBlock(path, tuple(arguments), _hints(block))

    def _place_of_weights(self, weights: WeightsAttr) -> str | None:
        if self._weights is None:
            self._weights = self._find_weights()
        return self._weights.get(weights)

    def _find_weights(self) -> dict[WeightsAttr, str]:
        """Where the module held each weight before."""
        places: dict[WeightsAttr, str] = {}
        for op, state in self._difference.before.ops.items():
            for name, attribute in state.properties.items():
                if isinstance(attribute, WeightsAttr):
                    places.setdefault(attribute, f"{self._was(op)} {name}")
        return places


def _is_constant(op: Operation) -> bool:
    return isinstance(op, onnx.ConstantOp)


def _owner(owner: Operation | Block) -> Operation:
    if isinstance(owner, Operation):
        return owner
    parent = owner.parent_op()
    assert parent is not None
    return parent


def _hints(block: Block) -> tuple[str | None, ...]:
    hints = tuple([argument.name_hint for argument in block.args])
    return hints if any(hint is not None for hint in hints) else ()
