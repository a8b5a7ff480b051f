"""What is a rewrite, as data?

Records tell what a pass or a pattern did to a module, in positions and text: no code is needed to do it
again. The records of one batch describe one step together: positions called `was` are those before the
batch, `new` those after it, and the order among them means nothing.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from typing import Any, Final, cast

from onnxloom.errors import PassError
from onnxloom.transforms.rewriting.records.json_codec import decode, encode

FORMAT: Final = 1


@dataclass(frozen=True)
class OpAt:
    """An op before the batch."""

    was: str
    name: str


@dataclass(frozen=True)
class BlockForm:
    """One block of an op: one that was there before, or another."""

    was: str | None = None
    """Its path before the batch; None for another."""

    arguments: tuple[str, ...] = ()
    """Types of the arguments of another block."""

    hints: tuple[str | None, ...] = ()
    """Names of the arguments, where they have one."""

    hint: str | None = None
    """Name of the block."""


Layout = tuple[tuple[BlockForm, ...], ...]
"""The blocks of each region of an op."""


@dataclass(frozen=True)
class AddedOp:
    """An op that was not there before."""

    new: str
    text: str
    hints: tuple[str | None, ...] = ()
    """Names of the results, where they have one."""

    regions: Layout = ()


@dataclass(frozen=True)
class ChangedOp:
    """An op that stays and reads, holds or gives something else."""

    was: str
    text: str


@dataclass(frozen=True)
class MovedOp:
    """An op that stays, elsewhere."""

    was: str
    name: str
    new: str


@dataclass(frozen=True)
class RelaidOp:
    """An op that stays and has other blocks."""

    was: str
    name: str
    regions: Layout


@dataclass(frozen=True)
class RearrangedBlock:
    """A block that stays and has other arguments."""

    was: str
    arguments: tuple[int | str, ...]
    """Each is the number of one before, or the type of another."""

    hints: tuple[str | None, ...] = ()


@dataclass(frozen=True)
class RewriteRecord:
    """One rewrite: a match of a pattern that was applied, or all that a pass did at once."""

    batch: int
    """Records of one number are one step."""

    pattern: str
    """Name of the pattern or pass."""

    path: str
    """The block it happened in, after the batch; of several, the first."""

    matched: tuple[OpAt, ...] = ()
    """Ops it removed, without what is inside them."""

    added: tuple[AddedOp, ...] = ()
    """Each before the ops inside it."""

    changed: tuple[ChangedOp, ...] = ()
    moved: tuple[MovedOp, ...] = ()
    relaid: tuple[RelaidOp, ...] = ()
    rearranged: tuple[RearrangedBlock, ...] = ()
    retyped: tuple[tuple[str, str], ...] = ()
    """A value that stays, and its type."""

    renames: tuple[tuple[str, str], ...] = ()
    """A value, and the one that all ops that stay read instead."""

    named: tuple[tuple[str, str | None], ...] = ()
    """A value that stays, and what text calls it."""

    weights_added: tuple[str, ...] = ()
    """Which of the added ops are constants."""

    weights_removed: tuple[str, ...] = ()
    """Which of the matched ops are constants."""

    match_ns: int = 0
    apply_ns: int = 0
    comment: str = ""
    adds_ops: str = ""
    """Why there may be more ops than before, where the pattern says so."""


@dataclass(frozen=True)
class RewriteLog:
    """All rewrites of one module, in order."""

    model: str
    """Digest of the module before the first."""

    result: str
    """Digest of the module after the last."""

    records: tuple[RewriteRecord, ...]

    @cached_property
    def batches(self) -> Sequence[tuple[RewriteRecord, ...]]:
        """The steps. Raises PassError unless their numbers rise."""
        steps = [(number, tuple(group)) for number, group in groupby(self.records, lambda r: r.batch)]
        numbers = [number for number, _ in steps]
        if numbers != sorted(set(numbers)):
            raise PassError("rewrites: the numbers of the batches do not rise")
        return [step for _, step in steps]

    def to_json(self) -> str:
        """One record per line."""
        lines = ",\n".join(json.dumps(encode(record), ensure_ascii=False) for record in self.records)
        head = {"format": FORMAT, "model": self.model, "result": self.result}
        return f'{json.dumps(head)[:-1]}, "records": [\n{lines}\n]}}\n'

    @staticmethod
    def from_json(text: str) -> RewriteLog:
        """Raises PassError when the text is not what `to_json` writes."""
        try:
            data: Any = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise PassError(f"rewrites: not JSON: {' '.join(str(error).split())[:200]}") from None
        if not isinstance(data, dict):
            raise PassError("rewrites: expected an object")
        fields = cast(dict[str, object], data)
        version = fields.pop("format", None)
        if type(version) is not int or version != FORMAT:
            raise PassError(f"rewrites: format is {str(version)[:40]!r}; expected {FORMAT}")
        return decode(RewriteLog, fields, "rewrites")

    def __iter__(self) -> Iterator[RewriteRecord]:
        return iter(self.records)


def op_growth(records: Iterable[RewriteRecord]) -> int:
    """How many ops more there are after the records than before, ops inside removed ones not counted."""
    return sum(len(record.added) - len(record.matched) for record in records)
