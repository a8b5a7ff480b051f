"""In which order do nodes stand? Each behind those whose results it reads, as the standard wants.

Some tools append nodes at the end, onnxruntime's converter to float16 among them, and onnxruntime runs such
models. Nodes that stand right keep their order; those of a cycle stay where they are.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from typing import Any

from onnx import GraphProto, ModelProto, NodeProto


def order_nodes(model: ModelProto) -> None:
    """Orders the nodes of the graph, of graphs in it, and of functions."""
    _order(model.graph.node)
    for function in model.functions:
        _order(function.node)


def _order(nodes: Any) -> None:
    """`nodes` is the field of a message."""
    for node in nodes:
        for graph in _graphs(node):
            _order(graph.node)
    order = _sorted(nodes)
    if order is not None:
        copies = [NodeProto.FromString(nodes[at].SerializeToString()) for at in order]
        del nodes[:]
        nodes.extend(copies)


def _sorted(nodes: Sequence[NodeProto]) -> list[int] | None:
    """Which node stands where; None where all stand right, or none can."""
    producer = {name: at for at, node in enumerate(nodes) for name in node.output if name}
    needs = [{producer[name] for name in _reads(node) if name in producer} for node in nodes]
    if all(need < at for at, of_node in enumerate(needs) for need in of_node):
        return None
    readers: list[list[int]] = [[] for _ in nodes]
    for at, of_node in enumerate(needs):
        for need in of_node:
            readers[need].append(at)
    waiting = [len(of_node) for of_node in needs]
    ready = [at for at, count in enumerate(waiting) if not count]
    order: list[int] = []
    while ready:
        order.append(heapq.heappop(ready))
        for reader in readers[order[-1]]:
            waiting[reader] -= 1
            if not waiting[reader]:
                heapq.heappush(ready, reader)
    return order if len(order) == len(needs) else None


def _reads(node: NodeProto) -> Iterator[str]:
    yield from node.input
    for graph in _graphs(node):
        yield from _free_names(graph)


def _free_names(graph: GraphProto) -> set[str]:
    """Names that a graph takes from around it."""
    own = {value.name for value in (*graph.input, *graph.initializer)}
    own |= {sparse.values.name for sparse in graph.sparse_initializer}
    own |= {name for node in graph.node for name in node.output}
    used = {name for node in graph.node for name in _reads(node)} | {value.name for value in graph.output}
    return used - own


def _graphs(node: NodeProto) -> Iterator[GraphProto]:
    for attribute in node.attribute:
        if attribute.HasField("g"):
            yield attribute.g
        yield from attribute.graphs
