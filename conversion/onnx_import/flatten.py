"""How is a model brought to one graph in which every op is at its latest version?

Nodes of a function are instantiated where they are called and upgraded from the function's own
opset, all others from the model's; graphs inside nodes are entered.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from onnx import AttributeProto, FunctionProto, GraphProto, ModelProto, NodeProto, defs

from onnxloom.conversion.onnx_import.attributes import kind_of
from onnxloom.conversion.onnx_import.functions import FunctionKey, instantiate, key_of_call, key_of_function
from onnxloom.conversion.onnx_import.inlined_size import check_size
from onnxloom.conversion.onnx_import.known_values import KnownValues, used_names
from onnxloom.conversion.onnx_import.onnxruntime_ops import standard_op
from onnxloom.conversion.onnx_import.opsets import check_opset, opsets_of
from onnxloom.conversion.onnx_import.payloads import Payloads
from onnxloom.conversion.onnx_import.scope import MAX_DEPTH, node_title
from onnxloom.conversion.onnx_import.upgrade.registry import Upgrade, since_version, upgrade_node
from onnxloom.dialects.onnx import OPS_BY_NAME
from onnxloom.errors import ModelError, UnsupportedOpError

LAST_WITH_OLD_TREES = 4
"""ai.onnx.ml deprecates TreeEnsembleClassifier and TreeEnsembleRegressor later; they stay as they are."""

Opsets = Mapping[str, int]


def flatten(model: ModelProto, payloads: Payloads) -> ModelProto:
    """A model without functions whose ops of the standard are at their latest version.

    Raises ModelError or UnsupportedOpError naming the node.
    """
    opsets = opsets_of(model)
    flattener = _Flattener(model, payloads)
    flat = ModelProto()
    flat.ir_version = max(model.ir_version, 11)
    flat.graph.CopyFrom(model.graph)
    flattener.graph(flat.graph, opsets, _Place())
    domains = {domain for domain, _ in OPS_BY_NAME}
    for domain in sorted(domains | opsets.keys() | flattener.foreign_domains):
        version = opsets.get(domain, 1) if domain not in domains else latest_opset(domain)
        if domain == "ai.onnx.ml" and flattener.has_deprecated_trees:
            version = LAST_WITH_OLD_TREES
        flat.opset_import.add(domain=domain, version=version)
    return flat


def latest_opset(domain: str) -> int:
    """The newest opset of a domain of the standard, in the installed onnx."""
    if domain == "":
        return defs.onnx_opset_version()
    return max(cls.since_version for (op_domain, _), cls in OPS_BY_NAME.items() if op_domain == domain)


@dataclass(frozen=True)
class _Place:
    """Where a node is: inside which calls and graphs."""

    calls: tuple[FunctionKey, ...] = ()
    depth: int = 0
    hidden: frozenset[str] = field(default_factory=lambda: frozenset[str]())
    """Names that graphs around the node define anew: what the main graph says of them is not meant."""


class _Flattener:
    def __init__(self, model: ModelProto, payloads: Payloads) -> None:
        self.functions: dict[FunctionKey, FunctionProto] = {}
        for function in model.functions:
            key = key_of_function(function)
            if key in self.functions:
                raise ModelError(f"function {function.domain}.{function.name} is defined twice")
            self.functions[key] = function
        check_size(model, self.functions)
        self.model = model
        self.known = KnownValues(model, payloads)
        self.foreign_domains: set[str] = set()
        self.has_deprecated_trees = False
        self._names: set[str] | None = None
        self._next = 0

    def fresh(self, base: str) -> str:
        """A value name nothing in the model has."""
        if self._names is None:
            self._names = used_names(self.model)
        while True:
            name = f"{base}__{self._next}"
            self._next += 1
            if name not in self._names:
                return name

    def graph(self, graph: GraphProto, opsets: Opsets, place: _Place) -> None:
        """Replaces the nodes of a graph."""
        if place.depth > MAX_DEPTH:
            raise ModelError(f"graphs are nested more than {MAX_DEPTH} deep")
        nodes = list(graph.node)
        flat = self.nodes(nodes, opsets, place)
        if len(flat) == len(nodes) and all(a is b for a, b in zip(flat, nodes, strict=True)):
            return
        kept = NodeHolder(flat)
        del graph.node[:]
        graph.node.extend(kept.nodes)

    def nodes(self, nodes: Iterable[NodeProto], opsets: Opsets, place: _Place) -> list[NodeProto]:
        flat: list[NodeProto] = []
        for index, node in enumerate(nodes):
            flat += self.node(node, node_title(node, index), opsets, place)
        return flat

    def node(self, node: NodeProto, title: str, opsets: Opsets, place: _Place) -> Sequence[NodeProto]:
        function = self.functions.get(key_of_call(node)) if self.functions else None
        if function is not None:
            return self.call(node, function, title, opsets, place)
        for attribute in node.attribute:
            if not attribute.type and not attribute.ref_attr_name:
                attribute.type = kind_of(attribute)  # pyright: ignore[reportAttributeAccessIssue]
            for graph in _graphs(attribute):
                hidden = place.hidden | _defined(graph)
                self.graph(graph, opsets, _Place(place.calls, place.depth + 1, hidden))
        domain = "" if node.domain == "ai.onnx" else node.domain
        if not any(domain == standard for standard, _ in OPS_BY_NAME):
            self.foreign_domains.add(domain)
            return (node,)
        return self.upgraded(node, domain, title, opsets, place)

    def call(
        self, node: NodeProto, function: FunctionProto, title: str, opsets: Opsets, place: _Place
    ) -> list[NodeProto]:
        key = key_of_function(function)
        if key in place.calls:
            raise ModelError(f"{title}: function {function.domain}.{function.name} calls itself")
        own = opsets_of(function, opsets)
        body = instantiate(function, node, title, self.fresh)
        hidden = place.hidden
        return self.nodes(body, own, _Place((*place.calls, key), place.depth + 1, hidden))

    def upgraded(
        self, node: NodeProto, domain: str, title: str, opsets: Opsets, place: _Place
    ) -> Sequence[NodeProto]:
        opset = opsets.get(domain)
        name = f"{domain or 'ai.onnx'}.{node.op_type}"
        if opset is None:
            raise ModelError(f"{title} uses {name}, but the model imports no opset of {domain or 'ai.onnx'}")
        check_opset(domain, opset)
        version = since_version(domain, node.op_type, opset)
        if version is None:
            own = None if domain else standard_op(node, self._context(title, opset, place))
            if own is None:
                raise UnsupportedOpError(f"{title}: {name} does not exist in opset {opset}")
            return (own,)
        if domain == "ai.onnx.ml" and node.op_type in ("TreeEnsembleClassifier", "TreeEnsembleRegressor"):
            self.has_deprecated_trees = True
        latest = OPS_BY_NAME.get((domain, node.op_type))
        if latest is not None and latest.since_version <= version:
            return (node,)
        return upgrade_node(node, domain, self._context(title, version, place))

    def _context(self, title: str, version: int, place: _Place) -> Upgrade:
        return Upgrade(
            title,
            version,
            self.fresh,
            lambda value: None if value in place.hidden else self.known.type_of(value),
            lambda value: None if value in place.hidden else self.known.constant_of(value),
            self.known.may_be_read,
        )


class NodeHolder:
    """Copies of nodes: assigning to a repeated field frees what it held."""

    def __init__(self, nodes: Iterable[NodeProto]) -> None:
        self.nodes: list[NodeProto] = []
        for node in nodes:
            copy = NodeProto()
            copy.CopyFrom(node)
            self.nodes.append(copy)


def _graphs(attribute: AttributeProto) -> Iterable[GraphProto]:
    if attribute.HasField("g"):
        yield attribute.g
    yield from attribute.graphs


def _defined(graph: GraphProto) -> frozenset[str]:
    """Names a graph defines itself."""
    names = {info.name for info in graph.input}
    names.update(tensor.name for tensor in graph.initializer)
    names.update(tensor.values.name for tensor in graph.sparse_initializer)
    for node in graph.node:
        names.update(node.output)
    return frozenset(names)
