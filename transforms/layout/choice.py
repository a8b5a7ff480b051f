"""Which ops of a block are to work channels-last?

Each op that can is put on one side of a cheapest cut. Paid are: the time that an op loses by working
channels-first, and one conversion for each value that is made in one order and read in the other, however
many read it. So a convolution goes channels-last when that pays for the conversions around it, and what
stands between two of them goes along where that is cheaper than to convert twice.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from xdsl.ir import Operation, SSAValue

from onnxloom.dialects.onnx.annotations import is_kept
from onnxloom.transforms.layout.axes import layout_rank, makes_first, makes_last
from onnxloom.transforms.layout.costs import FUSION_LOST, conversion_cost
from onnxloom.transforms.layout.editor import known_array
from onnxloom.transforms.layout.min_cut import NEVER, SINK, SOURCE, MinCut
from onnxloom.transforms.layout.rule import Follow, LayoutRule
from onnxloom.transforms.layout.rules import layout_rules
from onnxloom.transforms.layout.triple import PRODUCTS
from onnxloom.transforms.miss import Miss
from onnxloom.transforms.rewriting.graph_index import GraphIndex


@dataclass(frozen=True)
class Candidate:
    """An op that can work channels-last."""

    op: Operation
    rule: LayoutRule
    follow: Follow


@dataclass
class Candidates:
    """What can work channels-last in a block."""

    found: dict[Operation, Candidate]
    """In program order."""

    misses: dict[Operation, Miss]
    """Ops of a rule's classes that cannot, and why."""


def candidates(graph: GraphIndex) -> Candidates:
    """The ops of the block that some rule can rewrite; no op is part of two of them."""
    result = Candidates({}, {})
    rules = layout_rules()
    owned: set[Operation] = set()
    for op in graph.block.ops:
        if type(op) not in rules:
            continue
        if is_kept(op):
            result.misses[op] = Miss("it is marked to be kept, or holds what is")
            continue
        for rule in rules[type(op)]:
            found = _ask(rule, graph, op)
            if isinstance(found, Miss):
                result.misses[op] = found
            elif owned.isdisjoint(found.absorbs):
                result.found[op] = Candidate(op, rule, found)
                owned.update(found.absorbs)
                break
    for op in owned:
        result.found.pop(op, None)
        result.misses.pop(op, None)
    return result


def _ask(rule: LayoutRule, graph: GraphIndex, op: Operation) -> Follow | Miss:
    if graph.opset() < rule.min_opset:
        return Miss(f"its channels-last form needs opset {rule.min_opset}")
    found = rule.follow(graph, op)
    if isinstance(found, Miss):
        return found
    if any(layout_rank(value) is None for value in (*found.reads, *found.gives)):
        return Miss("the rank of what it reads or gives is not known to be 3 to 5")
    return found


def choose(graph: GraphIndex, found: Mapping[Operation, Candidate]) -> list[Candidate]:
    """Those of the candidates that are to work channels-last, in program order."""
    if not any(candidate.follow.saves > 0 for candidate in found.values()):
        return []
    network = _Network(graph, found)
    last = network.cut.sink_side()
    return [candidate for op, candidate in found.items() if network.nodes[op] in last]


@dataclass(frozen=True)
class _Readers:
    """Who reads a value."""

    nodes: tuple[int, ...]
    """Ops that can read it in either order."""

    reads_first: bool
    """Whether anything reads it channels-first whatever is decided."""

    reads_last: bool
    """Whether it is converted to channels-last whatever is decided."""


class _Network:
    def __init__(self, graph: GraphIndex, found: Mapping[Operation, Candidate]):
        self.graph = graph
        self.cut = MinCut()
        self.nodes = {op: self.cut.node() for op in found}
        self._owner = dict(self.nodes)
        for op, candidate in found.items():
            self._owner.update(dict.fromkeys(candidate.follow.absorbs, self.nodes[op]))
        self._reads = {
            (self.nodes[op], value) for op, candidate in found.items() for value in candidate.follow.reads
        }
        self._makers = {value: c for c in found.values() for value in c.follow.gives}
        for op, candidate in found.items():
            self._add_op(self.nodes[op], candidate.follow.saves)
        values = dict.fromkeys(value for value in self._values(found))
        for value in values:
            self._add_value(value, self._makers.get(value))

    @staticmethod
    def _values(found: Mapping[Operation, Candidate]) -> Iterator[SSAValue]:
        for candidate in found.values():
            yield from candidate.follow.reads
            yield from candidate.follow.gives

    def _add_op(self, node: int, saves: float) -> None:
        if saves > 0:
            self.cut.edge(node, SINK, round(saves))
        elif saves < 0:
            self.cut.edge(SOURCE, node, round(-saves))

    def _add_value(self, value: SSAValue, made_by: Candidate | None) -> None:
        if known_array(value) is not None:
            return  # constants are converted before the model runs
        price = round(conversion_cost(self.graph, value))
        readers = self._readers(value)
        if made_by is not None:
            maker = self.nodes[made_by.op]
            if readers.nodes:
                price += round(FUSION_LOST)
        else:
            maker = SINK if self._has_source(value) else SOURCE
        if len(readers.nodes) == 1 and not readers.reads_first and not readers.reads_last:
            self.cut.edge(maker, readers.nodes[0], price, price)
            return
        # "Some read it channels-last" and "some read it channels-first" are nodes of their own.
        some_last = SINK if readers.reads_last else self.cut.node()
        some_first = SOURCE if readers.reads_first else self.cut.node()
        self.cut.edge(maker, some_last, price)
        self.cut.edge(some_first, maker, price)
        for node in readers.nodes:
            if some_last != SINK:
                self.cut.edge(some_last, node, NEVER)
            if some_first != SOURCE:
                self.cut.edge(node, some_first, NEVER)

    def _ends_first(self, op: Operation) -> bool:
        """Whether an op is a conversion to channels-last, from which a twin of what it reads is known.

        With one spatial dim the conversions to and from are the same op: it is taken for this one where it
        reads what an op with a layout gives.
        """
        if not makes_last(op) or is_kept(op):
            return False
        value = op.operands[0]
        return not makes_first(op) or value in self._makers or isinstance(value.owner, PRODUCTS)

    def _has_source(self, value: SSAValue) -> bool:
        """Whether a value is converted from a channels-last one, which is there to be read."""
        owner = value.owner
        if not isinstance(owner, Operation) or owner.parent is not self.graph.block:
            return False
        return makes_first(owner) and not is_kept(owner) and not self._ends_first(owner)

    def _readers(self, value: SSAValue) -> _Readers:
        nodes: dict[int, None] = {}
        reads_first = reads_last = False
        for use in value.uses:
            reader = use.operation
            node = self._owner.get(reader)
            if node is not None and (node, value) in self._reads:
                nodes[node] = None
            elif reader.parent is self.graph.block and self._ends_first(reader):
                reads_last = True
            else:
                reads_first = True
        return _Readers(tuple(nodes), reads_first, reads_last)
