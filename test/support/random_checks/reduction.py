"""How small can a graph be made that still fails? Outputs, nodes and what they need are taken away."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from host_graph import Host
from onnx import GraphProto, ModelProto, NodeProto, helper
from random_graphs import RandomGraph
from random_graphs.values import proto_type

Fails = Callable[[RandomGraph], bool]


def reduced(graph: RandomGraph, fails: Fails, seconds: float = 60) -> RandomGraph:
    """The smallest graph found that `fails` holds for, `graph` itself at worst."""
    end = time.monotonic() + seconds
    progress = True
    while progress:
        progress = False
        for smaller in _smaller(graph):
            if time.monotonic() > end:
                return graph
            if fails(smaller):
                graph, progress = smaller, True
                break
    return graph


def _smaller(graph: RandomGraph) -> Iterator[RandomGraph]:
    model, feeds = graph.model, graph.feeds
    values = Host().values(model.graph, feeds)
    outputs = [output.name for output in model.graph.output]
    nodes = list(model.graph.node)
    dead = _dead(graph)
    if dead:
        alive = [node for node in nodes if node not in dead]
        yield _with(graph, alive, outputs, values)
        yield from (_with(graph, [n for n in nodes if n is not node], outputs, values) for node in dead)
    for index, node in enumerate(nodes):
        for smaller in _smaller_bodies(node):
            yield _with(graph, [*nodes[:index], smaller, *nodes[index + 1 :]], outputs, values)
    if len(outputs) > 1:
        yield from (_with(graph, nodes, [name], values) for name in outputs)
    for node in nodes:  # an earlier value as the only output
        for name in node.output:
            if name and name not in outputs and isinstance(values[name], np.ndarray):
                yield _with(graph, nodes, [name], values)
    for index, node in enumerate(nodes):  # a node's results as inputs
        if all(not name or isinstance(values[name], np.ndarray) for name in node.output):
            rest = nodes[:index] + nodes[index + 1 :]
            if any(name in outputs for name in node.output):
                continue
            yield _with(graph, rest, outputs, values)
    if len(nodes) > 1:  # a node dropped: what reads it reads its first input
        yield from _bypassed(graph, nodes, outputs, values)


def _smaller_bodies(node: NodeProto) -> Iterator[NodeProto]:
    """The node with one op less in a subgraph: one that nothing there reads."""
    for place, attribute in enumerate(node.attribute):
        inner = attribute.g.node
        read = {output.name for output in attribute.g.output}.union(*map(read_names, inner))
        for index, candidate in enumerate(inner):
            if not read.intersection(candidate.output):
                copy = NodeProto.FromString(node.SerializeToString())
                del copy.attribute[place].g.node[index]
                yield copy


def _dead(graph: RandomGraph) -> list[NodeProto]:
    """Nodes that nothing reads. They stay until they are taken away: a failure may need one."""
    nodes = graph.model.graph.node
    read = {output.name for output in graph.model.graph.output}.union(*map(read_names, nodes))
    return [node for node in nodes if not read.intersection(node.output)]


def _bypassed(
    graph: RandomGraph, nodes: Sequence[NodeProto], outputs: Sequence[str], values: dict[str, Any]
) -> Iterator[RandomGraph]:
    for index, node in enumerate(nodes):
        if len(node.output) != 1 or not node.input or not node.input[0] or node.output[0] in outputs:
            continue
        before, after = values[node.input[0]], values[node.output[0]]
        if not (isinstance(before, np.ndarray) and isinstance(after, np.ndarray)):
            continue
        if before.shape == after.shape and before.dtype == after.dtype:
            renamed = [_reading(other, node.output[0], node.input[0]) for other in nodes[index + 1 :]]
            candidate = _try(graph, [*nodes[:index], *renamed], outputs)
            if candidate is not None:
                yield candidate


def _reading(node: NodeProto, old: str, new: str) -> NodeProto:
    copy = NodeProto.FromString(node.SerializeToString())
    _rename(copy, old, new)
    return copy


def _rename(node: NodeProto, old: str, new: str) -> None:
    node.input[:] = [new if name == old else name for name in node.input]
    for attribute in node.attribute:
        if attribute.HasField("g"):
            for inner in attribute.g.node:
                _rename(inner, old, new)


def _try(graph: RandomGraph, nodes: Sequence[NodeProto], outputs: Sequence[str]) -> RandomGraph | None:
    """The graph with other nodes, evaluated anew."""
    probe = GraphProto(node=nodes, initializer=graph.model.graph.initializer)
    try:
        values = Host().values(probe, graph.feeds)
    except (ValueError, IndexError, TypeError, KeyError):
        return None
    return _with(graph, nodes, outputs, values)


def _with(
    graph: RandomGraph, nodes: Sequence[NodeProto], outputs: Sequence[str], values: dict[str, Any]
) -> RandomGraph:
    """The nodes that the outputs need, and those nobody read before; values no node gives become inputs."""
    needed, kept = set(outputs), list[NodeProto]()
    dead = {tuple(node.output) for node in _dead(graph)}
    for node in reversed(nodes):
        if needed.intersection(node.output) or tuple(node.output) in dead:
            kept.insert(0, node)
            needed.update(read_names(node))
    given = {name for node in kept for name in node.output}
    old = graph.model.graph
    initializers = [tensor for tensor in old.initializer if tensor.name in needed]
    free = [n for n in values if n in needed and n not in given and n not in {t.name for t in initializers}]
    declared = {info.name: info for info in old.input}
    inputs = [declared.get(name) or _info(name, values[name]) for name in free]
    infos = [info for info in old.output if info.name in outputs]
    known = {info.name for info in infos}
    infos += [_info(name, values[name]) for name in outputs if name not in known]
    small = helper.make_graph(kept, "reduced", inputs, infos, initializers)
    model = ModelProto()
    model.CopyFrom(graph.model)
    model.graph.CopyFrom(small)
    ordered = [info.name for info in infos]
    return RandomGraph(model, {n: values[n] for n in free}, {n: values[n] for n in ordered})


def read_names(node: NodeProto) -> set[str]:
    """What a node reads, in subgraphs too (names of subgraphs are nowhere else)."""
    names = {name for name in node.input if name}
    for attribute in node.attribute:
        if attribute.HasField("g"):
            names.update(*(read_names(inner) for inner in attribute.g.node))
            names.update(output.name for output in attribute.g.output)
    return names


def _info(name: str, array: Any) -> Any:
    return helper.make_tensor_value_info(name, proto_type(array.dtype), list(array.shape))
