"""Which nodes does a host step run? Those it lists, and those of the graphs in them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from onnxloom.lowering.plan.program import HostNode


def with_nested(node: HostNode) -> Iterator[HostNode]:
    """The node, then those of its graphs; their data are not filled in."""
    import onnx

    yield node
    yield from _inner(onnx.NodeProto.FromString(node.proto))


def _inner(node: Any) -> Iterator[HostNode]:
    for attribute in node.attribute:
        graphs = [attribute.g] if attribute.HasField("g") else attribute.graphs
        for inner in (found for graph in graphs for found in graph.node):
            domain = "" if inner.domain == "ai.onnx" else inner.domain
            yield HostNode(b"", inner.op_type, domain, inner.name)
            yield from _inner(inner)
