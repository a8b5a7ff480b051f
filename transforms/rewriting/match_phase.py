"""Which matches of one round go together?

All see the same graph. An op is replaced by one match only, and not by one while another relies on it.
"""

from __future__ import annotations

from collections.abc import Sequence
from time import perf_counter_ns

from xdsl.ir import Operation, SSAValue

from onnxloom.transforms.miss import Miss
from onnxloom.transforms.rewriting.graph_index import GraphIndex
from onnxloom.transforms.rewriting.left_alone import left_alone
from onnxloom.transforms.rewriting.matching import PatternTable, ask
from onnxloom.transforms.rewriting.pattern import PatternOptimization
from onnxloom.transforms.rewriting.run import Found, Run


class MatchPhase:
    """Asks the patterns about one block."""

    def __init__(self, index: GraphIndex, run: Run):
        self.index = index
        self.run = run

    def find(self, table: PatternTable, candidates: Sequence[Operation]) -> list[Found]:
        """The matches at the candidates that get all their ops, those of earlier patterns first."""
        by_pattern: dict[PatternOptimization, list[Operation]] = {pattern: [] for pattern in table.patterns}
        for op in candidates:
            for pattern in table.of(type(op)):
                by_pattern[pattern].append(op)
        replaced: set[Operation] = set()
        read: set[Operation] = set()
        found: list[Found] = []
        check = self.run.options.check_index
        for pattern, ops in by_pattern.items():
            with left_alone(self.index.block, f"pattern {pattern.name}", "match", wanted=check and bool(ops)):
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
        """Without those of outer blocks, which may be read in as many places as the model has."""
        values = dict.fromkeys(v for op in ops for v in (*op.results, *op.operands))
        return [v for v in values if self.index.is_of_block(v) and self.index.is_private(v)]
