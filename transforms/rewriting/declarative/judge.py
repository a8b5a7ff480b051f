"""Is a complete match good? What the author requires holds, and what is to take its place can be built."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, cast

from xdsl.ir import Operation

from onnxloom.transforms.miss import Miss, no_match
from onnxloom.transforms.rewriting.declarative.build import Builder, check_replacement, type_problem
from onnxloom.transforms.rewriting.declarative.expressions import Tensor
from onnxloom.transforms.rewriting.declarative.match import Inputs, Match
from onnxloom.transforms.rewriting.graph_index import GraphIndex
from onnxloom.transforms.rewriting.pattern import MatchResult, Replacement


class Author(Protocol):
    """What somebody who writes a declarative pattern gives."""

    def requirements(self, match: Match) -> Miss | None: ...

    def replacement(self, inputs: Inputs, match: Match) -> Tensor | tuple[Tensor, ...] | Miss: ...


@dataclass(frozen=True)
class Found:
    """What a match leaves for `apply`."""

    match: Match
    outputs: tuple[Tensor, ...]


def judge(
    author: Author, match: Match, ops: tuple[Operation, ...], reads: tuple[Operation, ...] = ()
) -> MatchResult | Miss:
    """The match as the engine takes it, or why there is none.

    Raises:
        TypeError, ValueError: a method of the author gives something else than it should.
    """
    where = type(author).__name__
    declined = cast(object, author.requirements(match))
    if isinstance(declined, Miss):
        return declined
    if declined is not None:
        raise TypeError(f"{where}: requirements returns {declined!r}; expected None or no_match(...)")
    given = author.replacement(match.inputs, match)
    if isinstance(given, Miss):
        return given
    outputs = check_replacement(where, given, len(match.outputs))
    problem = type_problem(outputs)
    if problem is not None:
        return no_match(match.anchor, problem)
    return MatchResult(ops=ops, reads=reads, data=Found(match, outputs), comment=match.pattern)


def apply_match(graph: GraphIndex, match: MatchResult) -> Replacement:
    """Builds what the author's expression says."""
    found: Found = match.data
    return Builder(graph, found.match.anchor).build(found.outputs, found.match.outputs)
