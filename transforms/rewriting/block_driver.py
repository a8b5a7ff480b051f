"""How are the patterns applied to one block until none matches any more?

Each round matches everywhere first, so that all matches see the same graph; matches that share an op
exclude each other. Then all replacements are built, and only then attached, one after the other. One
that another of the same round has spoilt waits for the next round. Patterns of a higher priority number
join when the others find nothing, and none ever leaves.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from time import perf_counter_ns
from typing import TYPE_CHECKING

from xdsl.ir import Operation, SSAValue

from onnxloom.errors import PassError
from onnxloom.transforms.miss import Miss
from onnxloom.transforms.rewriting.budget import may_rewrite
from onnxloom.transforms.rewriting.candidates import near
from onnxloom.transforms.rewriting.cleanup.clean import Cleanup
from onnxloom.transforms.rewriting.edits import Edits, discard
from onnxloom.transforms.rewriting.fold_added import fold_added
from onnxloom.transforms.rewriting.graph_index import GraphIndex
from onnxloom.transforms.rewriting.loop_alarm import LoopAlarm
from onnxloom.transforms.rewriting.matching import PatternTable, ask, blaming
from onnxloom.transforms.rewriting.options import RewriteOptions
from onnxloom.transforms.rewriting.pattern import MatchResult, PatternOptimization
from onnxloom.transforms.rewriting.replacement import Built, blockers, checked, place_of
from onnxloom.transforms.rewriting.report import RewriteReport

if TYPE_CHECKING:
    from onnxloom.transforms.rewriting.recording import Batch


@dataclass
class Run:
    """What the blocks of one run share."""

    patterns: Sequence[PatternOptimization]
    options: RewriteOptions
    report: RewriteReport | None
    recorded: Callable[[str], AbstractContextManager[Batch]] | None
    """Opens a batch of the recorder; None when nothing is recorded."""

    rewrites: int = 0
    is_stopped: bool = False
    """Whether no more rewrites are allowed."""

    def batch(self, name: str) -> AbstractContextManager[Batch | None]:
        return nullcontext() if self.recorded is None else self.recorded(name)

    def timed(self, phase: str) -> AbstractContextManager[None]:
        return nullcontext() if self.report is None else self.report.timed(phase)

    def decline(self, pattern: PatternOptimization, miss: Miss) -> None:
        if self.report is not None:
            self.report.of(pattern.name).decline(miss)


@dataclass(frozen=True)
class Found:
    """A match that got all its ops."""

    pattern: PatternOptimization
    anchor: Operation
    match: MatchResult
    ops: Sequence[Operation]
    private: Sequence[SSAValue]
    """Values around the match that had one reader."""

    match_ns: int = 0
    built: Built | None = None
    apply_ns: int = 0


class BlockDriver:
    """Rewrites one block."""

    def __init__(self, index: GraphIndex, edits: Edits, run: Run):
        self.index = index
        self.edits = edits
        self.run = run
        self.alarm = LoopAlarm()
        self.cleanup = Cleanup(edits, run.batch)
        self.levels = sorted({pattern.priority for pattern in run.patterns})
        self._tables: dict[tuple[int, ...], PatternTable] = {}
        self.count = 0
        """Rewrites of this block."""

    def drive(self) -> int:
        """Rewrites until nothing matches; gives the number of rewrites."""
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
            raise PassError(f"patterns keep rewriting each other's results: {self.alarm.latest()}")
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
            found = self._match(table, candidates)
        if not found:
            return []
        before = self.count
        with self.run.timed("applying"):
            added, waiting = self._apply(found)
        if self.count == before:
            return []
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

    # Matching.

    def _match(self, table: PatternTable, candidates: Sequence[Operation]) -> list[Found]:
        by_pattern: dict[PatternOptimization, list[Operation]] = {pattern: [] for pattern in table.patterns}
        for op in candidates:
            for pattern in table.of(type(op)):
                by_pattern[pattern].append(op)
        replaced: set[Operation] = set()
        read: set[Operation] = set()
        found: list[Found] = []
        for pattern, ops in by_pattern.items():
            for op in ops:
                if op in replaced or not self._is_wanted(op):
                    continue
                match = self._ask(pattern, op, replaced, read)
                if match is not None:
                    found.append(match)
        return found

    def _is_wanted(self, op: Operation) -> bool:
        """Whether anything reads a result; dead ops are for the cleanup."""
        return not op.results or any(result.first_use is not None for result in op.results)

    def _ask(
        self,
        pattern: PatternOptimization,
        op: Operation,
        replaced: set[Operation],
        read: set[Operation],
    ) -> Found | None:
        report = self.run.report
        start = 0 if report is None and self.run.recorded is None else perf_counter_ns()
        match = ask(pattern, self.index, op)
        spent = perf_counter_ns() - start if start else 0
        if report is not None:
            statistics = report.of(pattern.name)
            statistics.candidates += 1
            statistics.match_ns += spent
        if isinstance(match, Miss):
            self.run.decline(pattern, match)
            return None
        if report is not None:
            report.of(pattern.name).matches += 1
        ops = [claimed for claimed in match.ops if claimed is not None]
        if any(self.index.is_kept(claimed) for claimed in ops):
            self.run.decline(pattern, Miss("an op of the match is to be kept"))
            return None
        if not (replaced.isdisjoint(ops) and read.isdisjoint(ops) and replaced.isdisjoint(match.reads)):
            self.run.decline(pattern, Miss("an op of the match is claimed by another match"))
            return None
        replaced.update(ops)
        read.update(match.reads)
        return Found(pattern, op, match, ops, self._private_values((*ops, *match.reads)), spent)

    def _private_values(self, ops: Sequence[Operation]) -> list[SSAValue]:
        values = dict.fromkeys(v for op in ops for v in (*op.results, *op.operands))
        return [value for value in values if self.index.is_private(value)]

    # Applying.

    def _apply(self, matches: Sequence[Found]) -> tuple[list[Operation], list[Operation]]:
        """Attaches what can be; gives the added ops, and the anchors of matches that wait."""
        built = self._build(matches)
        added: list[Operation] = []
        waiting: list[Operation] = []
        renamed: dict[SSAValue, SSAValue] = {}
        with self.run.batch("rewrite-patterns") as batch:
            for found in built:
                place = None if self.run.is_stopped else self._place(found, renamed, waiting)
                if place is None:
                    assert found.built is not None
                    discard(found.built.ops)
                    continue
                added.extend(self._attach(found, place, renamed, batch))
        return added, waiting

    def _build(self, matches: Sequence[Found]) -> list[Found]:
        """All replacements of a round, before the graph changes."""
        built: list[Found] = []
        self.index.made.clear()
        try:
            for found in matches:
                start = perf_counter_ns()
                with blaming(found.pattern, "apply", found.anchor):
                    made = checked(found.pattern.apply(self.index, found.match), found.match, self.index)
                built.append(replace(found, built=made, apply_ns=perf_counter_ns() - start))
        except PassError:
            for found in built:
                assert found.built is not None
                discard(found.built.ops)
            discard(self.index.made)
            raise
        wanted = {op for found in built if found.built is not None for op in found.built.ops}
        discard([op for op in self.index.made if op not in wanted])
        return built

    def _place(
        self, found: Found, renamed: dict[SSAValue, SSAValue], waiting: list[Operation]
    ) -> Operation | None:
        """Where to attach a replacement; None when it is not to be attached in this round."""
        assert found.built is not None
        for old, fresh in found.built.values.items():
            while fresh in renamed:
                fresh = renamed[fresh]
            found.built.values[old] = fresh
        stale = self._why_stale(found, renamed)
        if stale is not None:
            self.run.decline(found.pattern, stale)
            waiting.append(found.anchor)
            return None
        place = place_of(found.built, found.match, self.index)
        if isinstance(place, Miss):
            self.run.decline(found.pattern, place)
            return None
        if not self._may_rewrite(found):
            self.run.is_stopped = True
            return None
        return place

    def _why_stale(self, found: Found, renamed: dict[SSAValue, SSAValue]) -> Miss | None:
        """What another match of this round has changed about the place of a match."""
        if any(op.parent is not self.index.block for op in (*found.ops, found.anchor)):
            return Miss("another match of the same round has removed an op")
        for value in found.private:
            while value in renamed:
                value = renamed[value]
            if self.index.is_used_more_than_once(value):
                return Miss("another match of the same round reads a value that had one reader")
        inside = set(found.ops)
        assert found.built is not None
        for op in found.ops:
            for result in op.results:
                if result not in found.built.values and not self.index.is_used_only_by(result, inside):
                    return Miss("another match of the same round reads a value inside")
        return None

    def _may_rewrite(self, found: Found) -> bool:
        limit = self.run.options.stop_after
        if limit is not None and self.run.rewrites >= limit:
            return False
        return may_rewrite("rewrite-patterns", found.pattern.name, found.anchor)

    def _attach(
        self, found: Found, place: Operation, renamed: dict[SSAValue, SSAValue], batch: Batch | None
    ) -> Sequence[Operation]:
        built = found.built
        assert built is not None
        start = perf_counter_ns()
        self.alarm.watch(found.pattern, found.ops, built)
        for op in blockers(built, place, self.index):
            self.edits.move_before(op, place)
        _pass_on_names(built)
        self.edits.insert(built.ops, place)
        self.edits.replace(built.values, built.ops)
        renamed.update(built.values)
        for op in sorted(found.ops, key=self.index.position, reverse=True):
            self.edits.erase(op)
        self.count += 1
        self.run.rewrites += 1
        self._tell(found, built, found.apply_ns + perf_counter_ns() - start, batch)
        return built.ops

    def _tell(self, found: Found, built: Built, apply_ns: int, batch: Batch | None) -> None:
        report = self.run.report
        if report is not None:
            statistics = report.of(found.pattern.name)
            statistics.applied += 1
            statistics.apply_ns += apply_ns
        if batch is None:
            return
        from onnxloom.transforms.rewriting.recording import AppliedMatch

        applied = AppliedMatch(
            pattern=found.pattern.name,
            matched=found.match.ops,
            added=built.ops,
            renames=built.values,
            match_ns=found.match_ns,
            apply_ns=apply_ns,
            comment=found.match.comment,
            adds_ops=found.pattern.adds_ops,
        )
        batch.attribute(applied)


def _pass_on_names(built: Built) -> None:
    """The op that makes a value in the place of another is called like the op that made that one."""
    new_ops = set(built.ops)
    for old, fresh in built.values.items():
        maker, owner = old.owner, fresh.owner
        if not isinstance(maker, Operation) or not isinstance(owner, Operation) or owner not in new_ops:
            continue
        name = maker.attributes.get("onnx_node_name")
        if name is not None and "onnx_node_name" not in owner.attributes:
            owner.attributes["onnx_node_name"] = name
