"""What did a pass do? A recorder compares the module before and after, and so records any pass.

    recorder = Recorder()
    with recorder.batch(module, "my-pass"):
        ...                                   # change the module in any way
    log = recorder.log()

A rewriting engine tells with `attribute` which ops belong to which of its matches; the pass then becomes
one record per match. Batches may be nested: what happens inside an inner one belongs to that one.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

from xdsl.ir import Operation, SSAValue

from onnxloom.errors import PassError
from onnxloom.transforms.rewriting.records.difference import Difference
from onnxloom.transforms.rewriting.records.digest import module_digest
from onnxloom.transforms.rewriting.records.record import RewriteLog, RewriteRecord
from onnxloom.transforms.rewriting.records.snapshot import Snapshot, top_of
from onnxloom.transforms.rewriting.records.writer import RecordWriter

BETWEEN = "(between passes)"
"""Name of what changed while no batch was open."""


@dataclass(frozen=True)
class AppliedMatch:
    """One match that a batch applied."""

    pattern: str
    matched: Sequence[Operation | None]
    """Ops it replaced."""

    added: Sequence[Operation]
    """Ops it inserted, without those inside them."""

    renames: Mapping[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])
    match_ns: int = 0
    apply_ns: int = 0
    comment: str = ""
    adds_ops: str = ""


class Batch:
    """One step that is being recorded."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._applied: list[AppliedMatch] = []

    def attribute(self, match: AppliedMatch) -> None:
        """Says which of the changes of this batch belong to one match."""
        self._applied.append(match)

    def take(self) -> list[AppliedMatch]:
        """The matches so far, which are forgotten."""
        applied, self._applied = self._applied, []
        return applied


class Recorder:
    """Records what happens to one module. Linear in the size of the module per batch."""

    def __init__(self) -> None:
        self._records: list[RewriteRecord] = []
        self._open: list[Batch] = []
        self._seen: Snapshot | None = None
        self._model = ""
        self._number = 0

    @contextmanager
    def batch(self, root: Operation, name: str) -> Generator[Batch]:
        """Records what happens inside to the module that `root` is or belongs to.

        Raises:
            PassError: it is another module than in earlier batches, or has what cannot be recorded.
        """
        top = top_of(root)
        if self._seen is None:
            self._model = module_digest(top)
            self._seen = Snapshot(top)
        else:
            self._look(top, self._open[-1] if self._open else Batch(BETWEEN))
        batch = Batch(name)
        self._open.append(batch)
        try:
            yield batch
        finally:
            self._open.pop()
            self._look(top, batch)

    @property
    def records(self) -> tuple[RewriteRecord, ...]:
        """All so far."""
        return tuple(self._records)

    def log(self) -> RewriteLog:
        """The records with what they start from and lead to. Raises PassError before the first batch."""
        if self._seen is None:
            raise PassError("nothing was recorded")
        self._look(self._seen.root, Batch(BETWEEN))
        return RewriteLog(self._model, module_digest(self._seen.root), self.records)

    def _look(self, top: Operation, batch: Batch) -> None:
        """Records what is different from when the module was last seen."""
        assert self._seen is not None
        after = Snapshot(top)
        difference = Difference(self._seen, after)
        self._seen = after
        applied = batch.take()
        if not difference.is_empty:
            self._records += RecordWriter(difference, self._number).records(batch.name, applied)
            self._number += 1


_current: ContextVar[Recorder | None] = ContextVar("onnxloom_recorder", default=None)


def current_recorder() -> Recorder | None:
    """The recorder in use, if anybody wants records."""
    return _current.get()


@contextmanager
def use_recorder(recorder: Recorder) -> Generator[Recorder]:
    """Makes `recorder` the one in use, in this thread and this block of code."""
    token = _current.set(recorder)
    try:
        yield recorder
    finally:
        _current.reset(token)


@contextmanager
def recording(root: Operation, name: str) -> Generator[Batch]:
    """A batch of the recorder in use; one that nobody reads without."""
    recorder = current_recorder()
    if recorder is None:
        yield Batch(name)
        return
    with recorder.batch(root, name) as batch:
        yield batch
