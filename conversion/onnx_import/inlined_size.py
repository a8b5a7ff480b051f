"""How many nodes does a model have once its functions are inlined? Told before any is.

A function that calls the next one twice, thirty times over, is a file of a few kilobytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from onnx import AttributeProto, FunctionProto, ModelProto, NodeProto

from onnxloom.conversion.onnx_import.functions import FunctionKey, key_of_call
from onnxloom.errors import ModelError

MAX_NODES = 500_000


def check_size(model: ModelProto, functions: Mapping[FunctionKey, FunctionProto]) -> None:
    """Raises ModelError when the model grows beyond MAX_NODES."""
    if functions and _Sizes(functions).of_nodes(model.graph.node) > MAX_NODES:
        raise ModelError(f"the model has more than {MAX_NODES} nodes once its functions are inlined")


class _Sizes:
    def __init__(self, functions: Mapping[FunctionKey, FunctionProto]) -> None:
        self.functions = functions
        self.known: dict[FunctionKey, int] = {}

    def of_nodes(self, nodes: Iterable[NodeProto]) -> int:
        return sum(map(self.of_node, nodes))

    def of_node(self, node: NodeProto) -> int:
        key = key_of_call(node)
        if key in self.functions:
            return self.of_function(key)
        return 1 + sum(map(self.of_attribute, node.attribute))

    def of_attribute(self, attribute: AttributeProto) -> int:
        own = self.of_nodes(attribute.g.node) if attribute.HasField("g") else 0
        return own + sum(self.of_nodes(graph.node) for graph in attribute.graphs)

    def of_function(self, key: FunctionKey) -> int:
        if key not in self.known:
            self.known[key] = 1  # a function that calls itself is refused where it is inlined
            try:
                self.known[key] = 1 + self.of_nodes(self.functions[key].node)
            except RecursionError:
                raise ModelError(f"the calls of function {key[0]}.{key[1]} are nested too deep") from None
        return self.known[key]
