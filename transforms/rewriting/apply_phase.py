"""How do the matches of one round change the graph?

All replacements are built before the first one is attached, so that one that cannot be built leaves the
graph as it was. They are attached one after the other; one whose place another has spoilt waits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any, cast

from xdsl.ir import Operation, SSAValue

from onnxloom.errors import PassError
from onnxloom.transforms.miss import Miss
from onnxloom.transforms.rewriting.budget import may_rewrite
from onnxloom.transforms.rewriting.edits import Edits, discard
from onnxloom.transforms.rewriting.left_alone import left_alone
from onnxloom.transforms.rewriting.loop_alarm import LoopAlarm
from onnxloom.transforms.rewriting.matching import blaming
from onnxloom.transforms.rewriting.pattern import Replacement
from onnxloom.transforms.rewriting.replacement import Built, blockers, checked, place_of, read_by
from onnxloom.transforms.rewriting.run import Found, Run

if TYPE_CHECKING:
    from onnxloom.transforms.rewriting.recording import Batch


class ApplyPhase:
    """Attaches replacements to one block."""

    def __init__(self, edits: Edits, run: Run):
        self.edits = edits
        self.index = edits.index
        self.run = run
        self.alarm = LoopAlarm(sum(1 + len(op.operands) for op in edits.index.block.ops))
        self.count = 0
        """Rewrites of this block."""

    def apply(self, matches: Sequence[Found]) -> tuple[list[Operation], list[Operation]]:
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
        listed: list[Operation] = []
        who = ", ".join(dict.fromkeys(f"pattern {found.pattern.name}" for found in matches))
        try:
            with left_alone(self.index.block, who, "apply", wanted=self.run.options.check_index):
                for found in matches:
                    start = perf_counter_ns()
                    with blaming(found.pattern, "apply", found.anchor):
                        given = found.pattern.apply(self.index, found.match)
                        listed += _listed(given)
                        made = checked(given, found.match, self.index)
                    built.append(replace(found, built=made, apply_ns=perf_counter_ns() - start))
        except PassError:
            discard(listed)
            raise
        wanted = {op for found in built if found.built is not None for op in found.built.ops}
        discard([op for op in self.index.made if op not in wanted])
        self.index.made.clear()
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
        for value in found.private:
            while value in renamed:
                value = renamed[value]
            if self.index.is_used_more_than_once(value):
                return Miss("another match of the same round reads a value that had one reader")
        inside = set(found.ops)
        assert found.built is not None
        operands = (operand for op in found.built.ops for operand in read_by(op))
        if any(value.owner in inside for value in (*operands, *found.built.values.values())):
            return Miss("another match of the same round hands on a value inside")
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


def _listed(given: Any) -> list[Operation]:
    """The ops of what a pattern gives, whatever that is."""
    ops: Any = given.ops if isinstance(given, Replacement) else None
    return [op for op in cast(Any, ops) if isinstance(op, Operation)] if isinstance(ops, Sequence) else []


def _pass_on_names(built: Built) -> None:
    """The op that makes a value in the place of another is called like the op that made that one.

    Of several that take the place of one op, the first: names of nodes are unique.
    """
    new_ops = set(built.ops)
    taken = {op.attributes.get("onnx_node_name") for op in built.ops}
    for old, fresh in built.values.items():
        maker, owner = old.owner, fresh.owner
        if not isinstance(maker, Operation) or not isinstance(owner, Operation) or owner not in new_ops:
            continue
        name = maker.attributes.get("onnx_node_name")
        if name is not None and name not in taken and "onnx_node_name" not in owner.attributes:
            owner.attributes["onnx_node_name"] = name
            taken.add(name)
