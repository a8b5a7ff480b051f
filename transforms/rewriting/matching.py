"""How is a pattern asked, and is its answer one?"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import Any, Final, cast

from xdsl.ir import Operation

from onnxloom.dialects import onnx
from onnxloom.errors import ModelError, PassError
from onnxloom.transforms.describe import describe
from onnxloom.transforms.miss import Miss
from onnxloom.transforms.plugins import place_in_source
from onnxloom.transforms.rewriting.graph_index import GraphIndex
from onnxloom.transforms.rewriting.pattern import MatchResult, PatternOptimization

_NEVER_STARTS: Final = (onnx.ReturnOp, onnx.YieldOp, onnx.NoValueOp, onnx.ConstantOp)
"""Not offered to patterns that start anywhere."""


class PatternTable:
    """Patterns by the op class they start from, those of lower priority number first."""

    def __init__(self, patterns: Sequence[PatternOptimization]):
        self.patterns = sorted(patterns, key=lambda pattern: pattern.priority)
        self._by_class: dict[type[Operation], tuple[PatternOptimization, ...]] = {}

    def of(self, op_class: type[Operation]) -> tuple[PatternOptimization, ...]:
        found = self._by_class.get(op_class)
        if found is None:
            found = tuple(pattern for pattern in self.patterns if starts_from(pattern, op_class))
            self._by_class[op_class] = found
        return found


def starts_from(pattern: PatternOptimization, op_class: type[Operation]) -> bool:
    """Whether a pattern is asked at ops of a class."""
    if pattern.start_ops:
        return issubclass(op_class, pattern.start_ops)
    return not issubclass(op_class, _NEVER_STARTS)


@contextmanager
def blaming(pattern: PatternOptimization, what: str, op: Operation) -> Generator[None]:
    """What goes wrong inside is a PassError that names the pattern."""
    try:
        yield
    except PassError as error:
        raise PassError(f"pattern {pattern.name} at {describe(op)}: {error}") from error
    except (Exception, SystemExit) as error:
        kind = "" if isinstance(error, ModelError) else f"{type(error).__name__}: "
        place = place_in_source(error, type(pattern))
        raise PassError(
            f"pattern {pattern.name} failed in {what} at {describe(op)}: {kind}{error}{place}"
        ) from error


def ask(pattern: PatternOptimization, index: GraphIndex, op: Operation) -> MatchResult | Miss:
    """The pattern's answer at an op. Raises PassError, naming the pattern, for what is no answer."""
    try:
        found: Any = pattern.match(index, op)
    except (Exception, SystemExit):
        with blaming(pattern, "match", op):
            raise
    if isinstance(found, Miss):
        return found
    problem = _problem(found, index)
    if problem is not None:
        raise PassError(f"pattern {pattern.name} at {describe(op)}: {problem}")
    return cast(MatchResult, found)


def _problem(found: Any, index: GraphIndex) -> str | None:
    if not isinstance(found, MatchResult):
        return f"match gives a {type(found).__name__}; expected a MatchResult or no_match(op, reason)"
    problem = _malformed(found)
    if problem is not None:
        return problem
    ops = [op for op in found.ops if op is not None]
    if not ops:
        return "the match replaces no op"
    if len({*ops, *found.reads}) != len(ops) + len(found.reads):
        return "the match lists an op twice"
    if found.insert_at is not None and found.insert_at.parent is not index.block:
        return "insert_at is an op of another block"
    for op in ops:
        if op.parent is not index.block:
            return f"the match replaces {describe(op)}, which is an op of another block"
        if op is index.block.last_op:
            return f"the match replaces {op.name}, which ends the block"
    return None


def _malformed(found: Any) -> str | None:
    """What is no op where one is expected."""
    for field in ("ops", "reads"):
        if not isinstance(getattr(found, field), Sequence):
            return f"{field} is a {type(getattr(found, field)).__name__}; expected a tuple of ops"
    for op in (*found.ops, found.insert_at):
        if op is not None and not isinstance(op, Operation):
            return f"the match lists a {type(op).__name__}; expected ops"
    for op in found.reads:
        if not isinstance(op, Operation):
            return f"reads lists a {type(op).__name__}; expected ops"
    return None
