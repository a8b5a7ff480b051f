"""What is a declarative pattern? Expressions for what is looked for and for what goes to its place.

class SwishPattern(DeclarativePattern):
    min_opset = 24
    numerics = Numerics.TOLERANCE

    @pattern
    def product(x: Tensor) -> Tensor:
        return x * op.Sigmoid(x)

    def replacement(self, inputs: Inputs, match: Match) -> Tensor:
        return op.Swish(inputs.x)
"""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any, ClassVar, cast

from xdsl.ir import Operation

from onnxloom.transforms.miss import Miss, no_match, no_match_at, reasons_are_wanted
from onnxloom.transforms.rewriting.declarative.boundary import boundary_of
from onnxloom.transforms.rewriting.declarative.class_checks import (
    check_config,
    check_hook,
    check_start_ops,
    compiled,
)
from onnxloom.transforms.rewriting.declarative.config import MatcherConfig
from onnxloom.transforms.rewriting.declarative.expressions import PatternFunction, Tensor
from onnxloom.transforms.rewriting.declarative.judge import apply_match, judge
from onnxloom.transforms.rewriting.declarative.match import Inputs, Match
from onnxloom.transforms.rewriting.declarative.pattern_graph import PatternGraph
from onnxloom.transforms.rewriting.declarative.search import Partial, Search
from onnxloom.transforms.rewriting.graph_index import GraphIndex
from onnxloom.transforms.rewriting.pattern import MatchResult, PatternOptimization, Replacement

if TYPE_CHECKING:
    pattern = staticmethod
else:

    class pattern(staticmethod):
        """Marks a function in the body of a `DeclarativePattern` as something to look for."""

        def __init__(self, function: PatternFunction | None = None, **settings: object) -> None:
            if settings or not inspect.isfunction(function):
                raise TypeError(
                    "@pattern takes nothing: write @pattern above a function, settings into the class"
                )
            super().__init__(function)


class DeclarativePattern(PatternOptimization, abstract=True):
    """Base of declarative patterns. Misuse raises TypeError or ValueError when the class is made."""

    config: ClassVar[MatcherConfig] = MatcherConfig()
    patterns: ClassVar[tuple[PatternGraph, ...]] = ()
    """What the functions marked `@pattern` describe, in order; any one of them has to match."""

    def __init_subclass__(cls, *, abstract: bool = False, **options: Any):
        if not abstract:
            _compile(cls)
        super().__init_subclass__(abstract=abstract, **options)

    def requirements(self, match: Match) -> Miss | None:
        """What must hold beyond the expressions: None, or `no_match(match.anchor, "why not")`."""
        return None

    def replacement(self, inputs: Inputs, match: Match) -> Tensor | tuple[Tensor, ...] | Miss:
        """What goes to the place of the match, one expression per output; or why not after all."""
        raise NotImplementedError

    def match(self, graph: GraphIndex, op: Operation) -> MatchResult | Miss:
        found = self.attempt(graph, op, is_explaining=reasons_are_wanted())
        if isinstance(found, MatchResult):
            return found
        if found is None:
            return no_match(op, "no pattern ends with such an op")
        if found.miss is not None:
            return found.miss
        return no_match_at(found.location.file, found.location.line, found.reason)

    def attempt(
        self, graph: GraphIndex, op: Operation, *, is_explaining: bool
    ) -> MatchResult | Partial | None:
        """The match that ends with `op`, or the attempt that got furthest; None when there was none."""
        best: Partial | None = None
        for described in self.patterns:
            if not is_explaining and not described.may_end_with(op, self.config.commute):
                continue
            found: list[MatchResult] = []

            def accept(search: Search) -> Miss | None:
                judged = self._judge(search, op)
                if isinstance(judged, Miss):
                    return judged
                found.append(judged)  # noqa: B023
                return None

            search = Search(graph, described, self.config, accept, is_explaining)
            if search.start(op):
                return found[0]
            partial = search.partial
            if partial is not None and (best is None or len(partial.matched) > len(best.matched)):
                best = partial
        return best

    def _judge(self, search: Search, anchor: Operation) -> MatchResult | Miss:
        boundary = boundary_of(search)
        if isinstance(boundary, Miss):
            return boundary
        return judge(self, search.match(anchor, boundary.outputs), boundary.replaced, boundary.kept)

    def apply(self, graph: GraphIndex, match: MatchResult) -> Replacement:
        return apply_match(graph, match)


def _compile(cls: type[DeclarativePattern]) -> None:
    """Reads the pattern functions of a class, inherited ones first, and derives what follows from them."""
    functions: dict[str, PatternFunction] = {}
    for base in reversed(cls.__mro__):
        for key, value in vars(base).items():
            functions.pop(key, None)  # what a subclass puts in its place counts
            if isinstance(value, pattern):
                found = cast("staticmethod[..., Any]", value)
                functions[key] = found.__func__
    check_config(cls)
    check_start_ops(cls, "the pattern's last op")
    check_hook(cls, DeclarativePattern, "requirements", ("self", "match"), is_required=False)
    check_hook(cls, DeclarativePattern, "replacement", ("self", "inputs", "match"), is_required=True)
    cls.patterns = compiled(cls, functions)
    cls.start_ops = tuple(dict.fromkeys(op for graph in cls.patterns for op in graph.start_ops))
