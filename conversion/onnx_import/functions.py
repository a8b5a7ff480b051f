"""What nodes does a call of a model-local function stand for?"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from onnx import AttributeProto, FunctionProto, GraphProto, NodeProto

from onnxloom.errors import ModelError

FunctionKey = tuple[str, str, str]
"""(domain, name, overload)."""


def _domain(domain: str) -> str:
    return "" if domain == "ai.onnx" else domain


def key_of_function(function: FunctionProto) -> FunctionKey:
    return (_domain(function.domain), function.name, function.overload)


def key_of_call(node: NodeProto) -> FunctionKey:
    return (_domain(node.domain), node.op_type, node.overload)


@dataclass(frozen=True)
class _Renaming:
    """Names inside the function -> names around the call."""

    formal: Mapping[str, str]
    prefix: str
    arguments: Mapping[str, AttributeProto]
    """Attributes of the call, defaults included."""

    def value(self, name: str) -> str:
        if not name:
            return ""
        found = self.formal.get(name)
        return f"{self.prefix}/{name}" if found is None else found

    def node(self, node: NodeProto) -> NodeProto:
        copy = NodeProto(op_type=node.op_type, domain=node.domain, overload=node.overload)
        copy.name = f"{self.prefix}/{node.name}" if node.name else ""
        copy.input.extend(map(self.value, node.input))
        copy.output.extend(map(self.value, node.output))
        copy.metadata_props.extend(node.metadata_props)
        for attribute in node.attribute:
            self._add_attribute(copy, attribute)
        return copy

    def _add_attribute(self, copy: NodeProto, attribute: AttributeProto) -> None:
        if attribute.ref_attr_name:
            argument = self.arguments.get(attribute.ref_attr_name)
            if argument is not None:
                added = copy.attribute.add()
                added.CopyFrom(argument)
                added.name = attribute.name
            return
        added = copy.attribute.add()
        if attribute.HasField("g"):
            added.name, added.type = attribute.name, AttributeProto.GRAPH
            self._write_graph(added.g, attribute.g)
        elif len(attribute.graphs):
            added.name, added.type = attribute.name, AttributeProto.GRAPHS
            for graph in attribute.graphs:
                self._write_graph(added.graphs.add(), graph)
        else:
            added.CopyFrom(attribute)

    def _write_graph(self, copy: GraphProto, graph: GraphProto) -> None:
        copy.name = graph.name
        for infos, copies in ((graph.input, copy.input), (graph.output, copy.output)):
            for info in infos:
                added = copies.add()
                added.CopyFrom(info)
                added.name = self.value(info.name)
        for tensor in graph.initializer:
            added_tensor = copy.initializer.add()
            added_tensor.CopyFrom(tensor)
            added_tensor.name = self.value(tensor.name)
        for sparse in graph.sparse_initializer:
            added_sparse = copy.sparse_initializer.add()
            added_sparse.CopyFrom(sparse)
            added_sparse.values.name = self.value(sparse.values.name)
        copy.node.extend(map(self.node, graph.node))


def instantiate(
    function: FunctionProto, call: NodeProto, title: str, fresh: Callable[[str], str]
) -> list[NodeProto]:
    """The body with the call's names and attributes. Raises ModelError for a call that does not fit."""
    if len(call.input) > len(function.input) or len(call.output) > len(function.output):
        raise ModelError(
            f"{title} gives {function.name} {len(call.input)} inputs and {len(call.output)} outputs; "
            f"expected at most {len(function.input)} and {len(function.output)}"
        )
    arguments = {attribute.name: attribute for attribute in function.attribute_proto}
    arguments.update((attribute.name, attribute) for attribute in call.attribute)
    for name in function.attribute:
        if name not in arguments:
            raise ModelError(f"{title} lacks the attribute {name!r} that function {function.name} needs")
    prefix = fresh(call.name or function.name)
    actual_inputs = [*call.input, *([""] * (len(function.input) - len(call.input)))]
    formal = dict(zip(function.input, actual_inputs, strict=True))
    copied: list[tuple[str, str]] = []
    for name, actual in zip(function.output, call.output, strict=False):
        if not actual:
            continue
        if name in formal:
            # An output that is an input, or the same value twice.
            copied.append((formal[name], actual))
        else:
            formal[name] = actual
    renaming = _Renaming(formal, prefix, arguments)
    body = [renaming.node(node) for node in function.node]
    body += [NodeProto(op_type="Identity", input=[source], output=[target]) for source, target in copied]
    return body
