"""How large does a model become once its functions are inlined? Told before any is.

A function that calls the next one twice, thirty times over, is a file of a few kilobytes. Every call
is inlined, so nodes cost time and memory as often as they are called: some 5 KB and 0.1 ms each.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from onnx import AttributeProto, FunctionProto, ModelProto, NodeProto

from onnxloom.conversion.onnx_import.functions import FunctionKey, key_of_call
from onnxloom.errors import ModelError

MAX_NODES = 1_000_000
"""Models without functions may have more."""

MAX_BYTES = 1 << 31
"""Of the nodes with their attributes: what the format itself allows."""


@dataclass(frozen=True)
class _Size:
    nodes: int
    bytes: int

    def __add__(self, other: _Size) -> _Size:
        return _Size(self.nodes + other.nodes, self.bytes + other.bytes)

    @property
    def is_too_large(self) -> bool:
        return self.nodes > MAX_NODES or self.bytes > MAX_BYTES


def check_size(model: ModelProto, functions: Mapping[FunctionKey, FunctionProto]) -> None:
    """Raises ModelError, naming the function that grows most, when the model becomes too large."""
    if not functions:
        return
    sizes = _Sizes(functions)
    total = sizes.of_nodes(model.graph.node)
    if not total.is_too_large or not sizes.known:
        return
    # Those that call a function that is too large are too: the smallest one is the culprit.
    large = [item for item in sizes.known.items() if item[1].is_too_large]
    nodes_then_bytes = [(size.nodes, size.bytes, key) for key, size in large or sizes.known.items()]
    nodes, size, key = min(nodes_then_bytes) if large else max(nodes_then_bytes)
    limit = f"{MAX_NODES} nodes" if total.nodes > MAX_NODES else f"{MAX_BYTES} bytes"
    raise ModelError(
        f"the model has more than {limit} once its functions are inlined: "
        f"{key[0]}.{key[1]} alone stands for {nodes} nodes of {size} bytes"
    )


class _Sizes:
    def __init__(self, functions: Mapping[FunctionKey, FunctionProto]) -> None:
        self.functions = functions
        self.known: dict[FunctionKey, _Size] = {}

    def of_nodes(self, nodes: Iterable[NodeProto]) -> _Size:
        return sum(map(self.of_node, nodes), _Size(0, 0))

    def of_node(self, node: NodeProto) -> _Size:
        key = key_of_call(node)
        if key in self.functions:
            return self.of_function(key)
        return sum(map(self.of_attribute, node.attribute), _Size(1, node.ByteSize()))

    def of_attribute(self, attribute: AttributeProto) -> _Size:
        own = self.of_nodes(attribute.g.node) if attribute.HasField("g") else _Size(0, 0)
        return sum((self.of_nodes(graph.node) for graph in attribute.graphs), own)

    def of_function(self, key: FunctionKey) -> _Size:
        if key not in self.known:
            self.known[key] = _Size(1, 0)  # a function that calls itself is refused where it is inlined
            try:
                self.known[key] = _Size(1, 0) + self.of_nodes(self.functions[key].node)
            except RecursionError:
                raise ModelError(f"the calls of function {key[0]}.{key[1]} are nested too deep") from None
        return self.known[key]
