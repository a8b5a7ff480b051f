"""Which graphs, names and domains does a graph hold?"""

from __future__ import annotations

from collections.abc import Iterator

from onnx import GraphProto


def inner_graphs(graph: GraphProto) -> Iterator[GraphProto]:
    """The graphs directly inside the nodes of a graph."""
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.HasField("g"):
                yield attribute.g
            yield from attribute.graphs


def used_domains(graph: GraphProto) -> set[str]:
    used = {node.domain for node in graph.node}
    for inner in inner_graphs(graph):
        used |= used_domains(inner)
    return used


def keep_initializers(graph: GraphProto, read: set[str]) -> None:
    kept = [tensor.name for tensor in graph.initializer if tensor.name in read]
    del graph.initializer[:]
    for name in kept:
        graph.initializer.add(name=name)
    for inner in inner_graphs(graph):
        keep_initializers(inner, read)


def read_names(graph: GraphProto) -> set[str]:
    """Every name that a node or an output of a graph reads, graphs inside included."""
    read = {output.name for output in graph.output}
    for node in graph.node:
        read.update(node.input)
    for inner in inner_graphs(graph):
        read |= read_names(inner)
    return read
