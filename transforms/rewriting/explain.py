"""Where does a pattern match in a module, and what is missing where it does not?

For a declarative pattern the attempt that got furthest is shown: the ops it found, and the first thing
that differed, with the line of the expression that says so.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from onnxloom.transforms.describe import describe
from onnxloom.transforms.dim_analysis import DimAnalysis
from onnxloom.transforms.folding.evaluator import current_evaluator
from onnxloom.transforms.miss import Miss, reasons_wanted
from onnxloom.transforms.rewriting.blocks import blocks_inside_out
from onnxloom.transforms.rewriting.constants import ConstantValues
from onnxloom.transforms.rewriting.declarative.pattern import DeclarativePattern
from onnxloom.transforms.rewriting.declarative.search import Partial
from onnxloom.transforms.rewriting.graph_index import GraphIndex
from onnxloom.transforms.rewriting.matching import ask, blaming, starts_from
from onnxloom.transforms.rewriting.pattern import MatchResult, PatternOptimization


@dataclass(frozen=True)
class NearMiss:
    """The attempt that got furthest."""

    op: str
    """Where the pattern was to end."""

    matched: tuple[tuple[str, str, str], ...]
    """(op of the pattern, its line, op of the model)."""

    total: int
    """Ops of the pattern."""

    difference: str
    """The first thing that differed, with file and line."""

    def __str__(self) -> str:
        lines = [f"nearest miss: {self.op}, {len(self.matched)} of {self.total} ops matched"]
        lines += [f"  {pattern} ({line}) is {found}" for pattern, line, found in self.matched]
        return "\n".join([*lines, f"  first difference: {self.difference}"])


@dataclass(frozen=True)
class PatternExplanation:
    """What a pattern finds in a module."""

    name: str
    candidates: int
    """Ops the pattern starts from."""

    matches: tuple[str, ...]
    nearest: NearMiss | None
    reasons: tuple[tuple[str, int], ...]
    """Why it declined, most frequent first, each with how often."""

    def __str__(self) -> str:
        starts = f"{self.candidates} op{'' if self.candidates == 1 else 's'}"
        lines = [f"pattern {self.name}: starts from {starts}, matches {len(self.matches)}"]
        lines += [f"  match at {op}" for op in self.matches]
        if self.nearest is not None:
            lines.append(str(self.nearest))
        lines += [f"{count} x {reason}" for reason, count in self.reasons]
        return "\n".join(lines)


def explain_pattern(
    module: ModuleOp, pattern: PatternOptimization, opset: int | None = None
) -> PatternExplanation:
    """Asks a pattern at every op of a module; changes nothing.

    Raises:
        PassError: the pattern fails.
    """
    dims = DimAnalysis.of(module)
    constants = ConstantValues(current_evaluator())
    matches: list[str] = []
    reasons: Counter[str] = Counter()
    nearest: NearMiss | None = None
    candidates = 0
    with reasons_wanted():
        for block in blocks_inside_out(module):
            graph = GraphIndex(block, dims, opset=opset, constants=constants)
            for op in block.ops:
                if not starts_from(pattern, type(op)):
                    continue
                candidates += 1
                answer = ask(pattern, graph, op)
                if isinstance(answer, MatchResult):
                    matches.append(describe(op))
                    continue
                reasons[str(answer)] += 1
                found = _near_miss(pattern, graph, op, answer)
                if found is not None and (nearest is None or len(found.matched) > len(nearest.matched)):
                    nearest = found
    return PatternExplanation(pattern.name, candidates, tuple(matches), nearest, tuple(reasons.most_common()))


def _near_miss(
    pattern: PatternOptimization, graph: GraphIndex, op: Operation, answer: Miss
) -> NearMiss | None:
    """The furthest attempt at an op; None where not even the last op of the pattern is right."""
    if not isinstance(pattern, DeclarativePattern):
        return None
    with blaming(pattern, "match", op):
        partial = pattern.attempt(graph, op, is_explaining=True)
    if not isinstance(partial, Partial) or not partial.matched:
        return None
    matched = tuple((str(call), str(call.location), describe(found)) for call, found in partial.matched)
    place = f"{answer.file}:{answer.line}"
    return NearMiss(describe(op), matched, partial.total, f"{partial.difference} ({place})")
