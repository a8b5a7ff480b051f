"""How are the patterns applied to one block until none matches any more?

Each round matches everywhere first, so that all matches see the same graph; matches that share an op
exclude each other. Then all replacements are built, and only then attached, one after the other. One
that another of the same round has spoilt waits for the next round. Patterns of a higher priority number
join when the others find nothing, and none ever leaves.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Operation

from onnxloom.errors import PassError
from onnxloom.transforms.rewriting.apply_phase import ApplyPhase
from onnxloom.transforms.rewriting.candidates import near
from onnxloom.transforms.rewriting.cleanup.clean import Cleanup
from onnxloom.transforms.rewriting.edits import Edits, discard
from onnxloom.transforms.rewriting.fold_added import fold_added
from onnxloom.transforms.rewriting.graph_index import GraphIndex
from onnxloom.transforms.rewriting.match_phase import MatchPhase
from onnxloom.transforms.rewriting.matching import PatternTable
from onnxloom.transforms.rewriting.run import Run


class BlockDriver:
    """Rewrites one block."""

    def __init__(self, index: GraphIndex, edits: Edits, run: Run):
        self.index = index
        self.edits = edits
        self.run = run
        self.matches = MatchPhase(index, run)
        self.changes = ApplyPhase(edits, run)
        self.cleanup = Cleanup(edits, run.batch)
        self.levels = sorted({pattern.priority for pattern in run.patterns})
        self._tables: dict[tuple[int, ...], PatternTable] = {}

    @property
    def count(self) -> int:
        """Rewrites of this block."""
        return self.changes.count

    def drive(self) -> int:
        """Rewrites until nothing matches; gives the number of rewrites."""
        try:
            return self._rounds()
        finally:
            discard(self.index.made)  # what was made and is not used must not read anything

    def _rounds(self) -> int:
        level, everywhere = 0, True
        table = self._table(self.levels[:1])
        candidates: Sequence[Operation] = list(self.index.block.ops)
        for _ in range(self._bound()):
            changed = self._round(table, candidates)
            if self.run.is_stopped:
                return self.count
            if changed:
                candidates, everywhere = near(changed, self.index), False
                table = self._table(self.levels[: level + 1])
                continue
            if everywhere:
                level += 1
                if level >= len(self.levels):
                    return self.count
                # The others were asked everywhere already, and nothing has changed since.
                table = self._table(self.levels[level : level + 1])
            candidates, everywhere = list(self.index.block.ops), True
        if self.run.options.max_iterations is None:
            raise PassError(f"patterns keep rewriting each other's results: {self.changes.alarm.latest()}")
        if self.run.report is not None:
            self.run.report.notes.append(f"stopped after {self.run.options.max_iterations} iterations")
        return self.count

    def tidy(self, ops: Sequence[Operation]) -> None:
        """Tidies around ops that something else has touched."""
        with self.run.timed("cleanup"):
            self.cleanup.run(sorted(ops, key=self.index.position))

    def _bound(self) -> int:
        wished = self.run.options.max_iterations
        return 100 + 4 * len(self.index.order.known(self.index.block)) if wished is None else wished

    def _table(self, levels: Sequence[int]) -> PatternTable:
        """The patterns of these priorities."""
        key = tuple(levels)
        if key not in self._tables:
            self._tables[key] = PatternTable([p for p in self.run.patterns if p.priority in levels])
        return self._tables[key]

    def _round(self, table: PatternTable, candidates: Sequence[Operation]) -> list[Operation]:
        """One round; gives the ops that were changed, none when nothing was."""
        report = self.run.report
        if report is not None:
            report.iterations += 1
        with self.run.timed("matching"):
            found = self.matches.find(table, candidates)
        if not found:
            return []
        with self.run.timed("applying"):
            added, waiting = self.changes.apply(found)
        if self.run.options.check_index:
            self.index.validate()
        with self.run.timed("folding"):
            fold_added(added, self.edits, self.run)
        with self.run.timed("cleanup"):
            work = self.edits.take_touched()
            changed = dict.fromkeys([*work, *self.cleanup.run(work), *waiting])
        self.run.is_stopped |= self.cleanup.is_stopped
        if self.run.options.check_index:
            self.index.validate()
        return [op for op in changed if op.parent is self.index.block]
