"""Where does a pattern match? A search from its last op up to its inputs.

Goals (this expression is that value) are worked off one by one; commuted operands and alternatives are
tried in order, with what they bound undone when they fail. The work per candidate is bounded by
`MatcherConfig.max_steps`, whatever the size of the model.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias, cast

from xdsl.ir import BlockArgument, Operation, OpResult, SSAValue

from onnxloom.dialects.onnx.access import attr, is_none
from onnxloom.transforms.describe import describe
from onnxloom.transforms.miss import Miss, no_match_at
from onnxloom.transforms.rewriting.declarative.agreement import (
    attribute_problem,
    is_same_value,
    leaf_problem,
)
from onnxloom.transforms.rewriting.declarative.closeness import attribute_value, is_same_attribute
from onnxloom.transforms.rewriting.declarative.config import MatcherConfig
from onnxloom.transforms.rewriting.declarative.expressions import (
    Choice,
    Literal,
    OpCall,
    Parameter,
    Result,
    Tensor,
)
from onnxloom.transforms.rewriting.declarative.location import Location
from onnxloom.transforms.rewriting.declarative.match import Match
from onnxloom.transforms.rewriting.declarative.pattern_graph import COMMUTATIVE, PatternGraph
from onnxloom.transforms.rewriting.graph_index import GraphIndex

Goals: TypeAlias = "tuple[Tensor, SSAValue, Operation, Goals] | None"
"""A list of (expression, value, the op that has or reads it)."""

_MOST_READERS: Final = 16
"""How many readers of a value are looked at for an output that the last op does not depend on."""


@dataclass(frozen=True)
class Partial:
    """The attempt that got furthest, and the first thing that differed in it."""

    matched: tuple[tuple[OpCall, Operation], ...]
    total: int
    """Ops the pattern has at least."""

    template: str
    parts: tuple[object, ...]
    """What differed: a template, and the ops, values and expressions that go into it."""

    location: Location
    """The line of the expression that the model differs from."""

    miss: Miss | None = None
    """The check that declined a complete match."""

    @property
    def reason(self) -> str:
        """What differed, by kinds of ops: the same at every place of a kind."""
        return self.template.format(*(_shown(part, _op_name) for part in self.parts))

    @property
    def difference(self) -> str:
        """What differed, with the names of nodes."""
        return self.template.format(*(_shown(part, describe) for part in self.parts))


class Search:
    """One attempt to match a pattern at one op."""

    def __init__(
        self,
        graph: GraphIndex,
        pattern: PatternGraph,
        config: MatcherConfig,
        accept: Callable[[Search], Miss | None],
        is_explaining: bool,
    ) -> None:
        self.graph = graph
        self.pattern = pattern
        self.config = config
        self.accept = accept
        """Judges a complete match; where it declines, the search goes on."""

        self.is_explaining = is_explaining
        self.values: dict[Tensor, SSAValue] = {}
        self.rests: dict[Tensor, tuple[SSAValue, ...]] = {}
        self.ops: dict[OpCall, Operation] = {}
        self.attributes: dict[str, Any] = {}
        self.partial: Partial | None = None
        self._trail: list[tuple[dict[Any, Any], object]] = []
        self._steps = 0
        self._furthest = (False, -1, -1)

    def start(self, op: Operation) -> bool:
        """Whether the pattern matches with `op` as its last op; the bindings are then complete."""
        for output, root in self.pattern.roots:
            if root.op.op_class is not type(op) or root.index >= len(op.results):
                continue
            value = op.results[root.index]
            if output is not root:
                self._bind(self.values, output, value)
            if self._solve((root, value, op, None)):
                return True
            self._undo(0)
        return False

    def inputs(self) -> dict[str, SSAValue | tuple[SSAValue, ...] | None]:
        """What each parameter stands for, in order; None where it is left out."""
        found: dict[str, SSAValue | tuple[SSAValue, ...] | None] = {}
        for parameter in self.pattern.parameters:
            value = self.values.get(parameter)
            is_there = value is not None and not is_none(value)
            found[parameter.name] = (
                self.rests.get(parameter, ()) if parameter.is_rest else value if is_there else None
            )
        return found

    def match(self, anchor: Operation, outputs: Sequence[SSAValue]) -> Match:
        """A complete search as requirements and replacement see it."""
        captures = {str(c.capture_name): self.values.get(c) for c in self.pattern.captures}
        return Match(
            self.graph, anchor, self.pattern.name, self.inputs(), captures, dict(self.attributes), outputs
        )

    def decline(self, value: SSAValue, reason: str | Callable[[], str]) -> Miss:
        """A decline about a matched value, at the line of the expression that stands for it."""
        found = next((t for t, v in self.values.items() if v is value), None)
        location = self.pattern.location if found is None else found.location
        return no_match_at(location.file, location.line, reason)

    def _solve(self, goals: Goals) -> bool:
        while goals is not None:
            tensor, value, op, goals = goals
            self._steps += 1
            if self._steps > self.config.max_steps:
                return self._fail(
                    self.pattern.location, "given up after {} comparisons", self.config.max_steps
                )
            bound = self.values.get(tensor)
            if bound is not None:
                if not is_same_value(bound, value):
                    return self._fail(tensor.location, "{}: found both {} and {}", tensor, bound, value)
                continue
            if isinstance(tensor, Choice):
                self._bind(self.values, tensor, value)
                options = [
                    option
                    for option in tensor.options
                    if self.is_explaining or self._is_plausible(option, value, op)
                ]
                return self._first([(option, value, op, goals) for option in options])
            if isinstance(tensor, Result):
                branches = self._enter(tensor, value, goals)
                if len(branches) != 1:
                    return self._first(branches)
                goals = branches[0]
                continue
            problem = leaf_problem(self.graph, tensor, value, op, self.config.rtol)
            if problem is not None:
                return self._fail(tensor.location, problem, tensor, value, op)
            self._bind(self.values, tensor, value)
        return self._finish()

    def _first(self, branches: Sequence[Goals]) -> bool:
        mark = len(self._trail)
        for goals in branches:
            if self._solve(goals):
                return True
            self._undo(mark)
        return False

    def _enter(self, tensor: Result, value: SSAValue, goals: Goals) -> list[Goals]:
        """The goals of the op that makes a value, in each order of operands; none when it is another op."""
        op = self.graph.producer(value)
        if op is None or type(op) is not tensor.op.op_class:
            self._fail(tensor.location, "expected {}, found {}", tensor, value)
            return []
        if tensor.index >= len(op.results) or op.results[tensor.index] is not value:
            self._fail(tensor.location, "expected result {} of {}, found another one", tensor.index, op)
            return []
        return self._enter_op(tensor.op, op, goals)

    def _enter_op(self, expected: OpCall, op: Operation, goals: Goals) -> list[Goals]:
        problem = attribute_problem(expected, self.pattern.attributes[expected], op, self.config.rtol)
        if problem is not None:
            self._fail(expected.location, "{}: {}", op, problem)
            return []
        if not self._bind_free_attributes(expected, op):
            return []
        self._bind(self.ops, expected, op)
        for result in self.pattern.results[expected]:
            if result.index < len(op.results):
                self._bind(self.values, result, op.results[result.index])
        return self._operand_goals(expected, op, goals)

    def _bind_free_attributes(self, expected: OpCall, op: Operation) -> bool:
        """An attribute name that stands at two ops must have one value."""
        for name, free in self.pattern.free_attributes.get(expected, ()):
            value = attribute_value(attr(op, name))
            if free not in self.attributes:
                self._bind(self.attributes, free, value)
            elif not is_same_attribute(value, self.attributes[free], 0):
                return self._fail(
                    expected.location, "{}: {} is {}; expected {}", op, name, value, self.attributes[free]
                )
        return True

    def _operand_goals(self, expected: OpCall, op: Operation, goals: Goals) -> list[Goals]:
        wanted = expected.operands
        found = tuple(op.operands)
        rest = wanted[-1] if wanted and isinstance(wanted[-1], Parameter) and wanted[-1].is_rest else None
        if rest is not None:
            wanted = wanted[:-1]
            if not self._bind_rest(rest, found[len(wanted) :]):
                return []
            found = found[: len(wanted)]
        elif len(found) > len(wanted):
            extra = next((v for v in found[len(wanted) :] if not is_none(v)), None)
            if extra is not None:
                self._fail(expected.location, "{} has an operand more, {}", op, extra)
                return []
        if len(found) < len(wanted):
            self._fail(expected.location, "{} has {} operands; expected {}", op, len(found), len(wanted))
            return []
        pairs = list(zip(wanted, found, strict=False))
        orders = [pairs]
        if self.config.commute and type(op) in COMMUTATIVE and len(pairs) == 2 and len(op.operands) == 2:
            (a, x), (b, y) = pairs
            if a is not b and x is not y:
                orders.append([(a, y), (b, x)])
        return [made for order in orders for made in self._goals(expected, op, order, goals)]

    def _goals(
        self,
        expected: OpCall,
        op: Operation,
        pairs: Sequence[tuple[Tensor | None, SSAValue]],
        goals: Goals,
    ) -> Iterator[Goals]:
        for tensor, value in pairs:
            if tensor is None and not is_none(value):
                self._fail(expected.location, "{} is given {}, which the pattern leaves out", op, value)
                return
            if isinstance(tensor, Result) and not self.pattern.may_be(tensor, value):
                self._fail(tensor.location, "expected {}, found {}", tensor.op, value)
                return
            if tensor is not None and not self.is_explaining and not self._is_plausible(tensor, value, op):
                return
        for tensor, value in reversed(pairs):
            if tensor is not None:
                goals = (tensor, value, op, goals)
        yield goals

    def _is_plausible(self, tensor: Tensor, value: SSAValue, op: Operation) -> bool:
        """Looks ahead at what needs no walk, which saves walking elsewhere first.

        It decides nothing: the search would find out later, further on, which is what explaining is about.
        """
        if isinstance(tensor, Literal):
            return leaf_problem(self.graph, tensor, value, op, self.config.rtol) is None
        bound = self.values.get(tensor)
        if bound is not None:
            return is_same_value(bound, value)
        return self.pattern.may_be(tensor, value)

    def _bind_rest(self, rest: Tensor, values: tuple[SSAValue, ...]) -> bool:
        bound = self.rests.get(rest)
        if bound is None:
            self._bind(self.rests, rest, values)
            return True
        if len(bound) == len(values) and all(map(is_same_value, bound, values)):
            return True
        return self._fail(rest.location, "{}: found {} and {} operands", rest, len(bound), len(values))

    def _finish(self) -> bool:
        """All goals are reached: goes on to what the last op does not depend on, then asks for approval."""
        for expected, index in self.pattern.side_steps:
            if expected not in self.ops:
                return self._follow(expected, index)
        miss = self.accept(self)
        if miss is None:
            return True
        self._note(self.pattern.location, "{}", (miss.reason,), miss)
        return False

    def _follow(self, expected: OpCall, index: int) -> bool:
        """Goes from a value that is known to an op that reads it."""
        operand = expected.operands[index]
        assert operand is not None
        mark = len(self._trail)
        for op in self.graph.consumers(self.values[operand])[:_MOST_READERS]:
            if type(op) is not expected.op_class:
                continue
            if self._first(self._enter_op(expected, op, None)):
                return True
            self._undo(mark)
        return self._fail(
            expected.location, "expected {}, which no reader of {} is", expected, self.values[operand]
        )

    def _bind(self, where: dict[Any, Any], key: object, value: object) -> None:
        where[key] = value
        self._trail.append((where, key))

    def _undo(self, mark: int) -> None:
        while len(self._trail) > mark:
            where, key = self._trail.pop()
            del where[key]

    def _fail(self, location: Location, template: str, *parts: object) -> bool:
        if self.is_explaining:
            self._note(location, template, parts)
        return False

    def _note(
        self, location: Location, template: str, parts: tuple[object, ...], miss: Miss | None = None
    ) -> None:
        """Keeps the failure that got furthest: a declined match, else most ops found, then most leaves."""
        leaves = sum(isinstance(tensor, Literal | Parameter) for tensor in self.values)
        progress = (miss is not None, len(self.ops), leaves)
        if progress > self._furthest:
            self._furthest = progress
            matched = tuple(self.ops.items())
            self.partial = Partial(matched, self.pattern.op_count, template, parts, location, miss)


def _op_name(op: Operation) -> str:
    return op.name


def _shown(part: object, show: Callable[[Operation], str]) -> str:
    if isinstance(part, Operation):
        return show(part)
    if isinstance(part, BlockArgument):
        return f"the input {part.name_hint or part.index}"
    if isinstance(part, OpResult):
        value = cast(OpResult, part)
        return "nothing" if is_none(value) else show(value.op)
    return str(part)
