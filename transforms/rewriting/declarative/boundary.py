"""May the ops of a complete match be replaced? Nothing outside may read what is not declared an output.

Three things are checked: every value that anything outside reads is an output (graph outputs and captures
of nested regions are such readers); no input is made by an op that is replaced; and there is a place for
the replacement, after all inputs and before all readers of the outputs. Where there is none, an op would
come to depend on itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from xdsl.ir import Operation, SSAValue

from onnxloom.transforms.describe import describe
from onnxloom.transforms.miss import Miss
from onnxloom.transforms.rewriting.declarative.expressions import Parameter
from onnxloom.transforms.rewriting.declarative.search import Search
from onnxloom.transforms.rewriting.graph_index import GraphIndex


@dataclass(frozen=True)
class Boundary:
    """The matched ops, by what becomes of them."""

    replaced: tuple[Operation, ...]
    """In block order."""

    kept: tuple[Operation, ...]
    """Makers of shared values that something outside reads too."""

    outputs: tuple[SSAValue, ...]


def boundary_of(search: Search) -> Boundary | Miss:
    """What is replaced and what stays, or why nothing may be replaced."""
    graph = search.graph
    outputs = tuple(search.values[output] for output in search.pattern.outputs)
    matched = sorted(set(search.ops.values()), key=graph.position, reverse=True)
    shared = {search.values[v] for v in search.values if v.is_shared}
    replaced: set[Operation] = set()
    kept: list[Operation] = []
    for op in matched:
        leaking = [v for v in op.results if v not in outputs and not graph.is_used_only_by(v, replaced)]
        if not leaking:
            replaced.add(op)
        elif all(value in shared for value in leaking) and not set(op.results) & set(outputs):
            kept.append(op)
        else:
            return _leak(search, leaking[0], replaced)
    miss = _own_input(search, replaced)
    if miss is None:
        miss = _no_place(search, outputs, replaced)
    if miss is not None:
        return miss
    ordered = tuple(op for op in reversed(matched) if op in replaced)
    return Boundary(ordered, tuple(reversed(kept)), outputs)


def _leak(search: Search, value: SSAValue, replaced: set[Operation]) -> Miss:
    graph = search.graph
    if graph.is_output(value):
        return search.decline(value, "it is an output of the graph; expected inside the pattern only")
    if graph.is_used_by_subgraph(value):
        return search.decline(value, "a nested region reads it; expected inside the pattern only")
    reader = next(op for op in graph.consumers(value) if op not in replaced)
    return search.decline(value, lambda: f"{describe(reader)} reads it too; expected inside the pattern only")


def _own_input(search: Search, replaced: set[Operation]) -> Miss | None:
    for value in inputs_of(search):
        if search.graph.producer(value) in replaced:
            return search.decline(value, "an input of the pattern is made by an op that is replaced")
    return None


def inputs_of(search: Search) -> Iterable[SSAValue]:
    """The values of all boundary inputs."""
    for tensor, value in search.values.items():
        if isinstance(tensor, Parameter):
            yield value
    for values in search.rests.values():
        yield from values


def _no_place(search: Search, outputs: Sequence[SSAValue], replaced: set[Operation]) -> Miss | None:
    """With one output, the place of the last op always does."""
    graph = search.graph
    if len(outputs) == 1:
        return None
    producers = [op for value in inputs_of(search) if (op := graph.producer(value)) is not None]
    if not producers:
        return None
    last_input = max(producers, key=graph.position)
    for value in outputs:
        for reader in graph.consumers(value):
            if reader not in replaced and not _comes_before(graph, last_input, reader):
                return search.decline(
                    value,
                    lambda: f"{describe(reader)} reads it before {describe(last_input)} makes an input",  # noqa: B023
                )
    return None


def _comes_before(graph: GraphIndex, first: Operation, second: Operation) -> bool:
    return graph.position(first) < graph.position(second)
