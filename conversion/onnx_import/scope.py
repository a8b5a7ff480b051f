"""Which value does a name stand for, in a graph and in the graphs around it?"""

from __future__ import annotations

from onnx import GraphProto, NodeProto
from xdsl.ir import Operation, SSAValue

from onnxloom.dialects import onnx
from onnxloom.errors import ModelError

MAX_DEPTH = 64
"""Graphs nested deeper than this are taken for damage."""


def node_title(node: NodeProto, index: int) -> str:
    """How messages name a node: its name, else its place."""
    return f"node {node.name!r} ({node.op_type})" if node.name else f"node {index} ({node.op_type})"


class Scope:
    """Names defined in one graph; those of the graphs around it are visible too."""

    def __init__(self, outer: Scope | None = None, depth: int = 0) -> None:
        self.outer = outer
        self.depth = depth
        self.values: dict[str, SSAValue] = {}
        self._no_value: SSAValue | None = None

    def inner(self, title: str) -> Scope:
        if self.depth >= MAX_DEPTH:
            raise ModelError(f"{title}: graphs are nested more than {MAX_DEPTH} deep")
        return Scope(self, self.depth + 1)

    def define(self, name: str, value: SSAValue, title: str) -> None:
        if name in self.values:
            raise ModelError(f"{title} defines {name!r}, which is defined already")
        self.values[name] = value

    def find(self, name: str) -> SSAValue | None:
        scope: Scope | None = self
        while scope is not None:
            found = scope.values.get(name)
            if found is not None:
                return found
            scope = scope.outer
        return None

    def lookup(self, name: str, title: str) -> SSAValue:
        found = self.find(name)
        if found is None:
            raise ModelError(f"{title} reads {name!r}, which nothing before it defines")
        return found

    def output(self, name: str, graph: GraphProto) -> SSAValue:
        found = self.find(name) if name else None
        if found is None:
            raise ModelError(f"graph {graph.name!r} has output {name!r}, which nothing in it defines")
        return found

    def no_value(self, ops: list[Operation]) -> SSAValue:
        """The graph's one stand-in for inputs that are left out."""
        if self._no_value is None:
            op = onnx.NoValueOp.make()
            ops.append(op)
            self._no_value = op.results[0]
        return self._no_value
