"""Are all names of a model text? Protobuf gives bytes for strings that are not UTF-8."""

from __future__ import annotations

from collections.abc import Iterable

from onnx import AttributeProto, FunctionProto, GraphProto, ModelProto, NodeProto, ValueInfoProto

from onnxloom.errors import ModelError


def check_text(model: ModelProto) -> None:
    """Raises ModelError for a name, type name or text that is not UTF-8."""
    _check([model.producer_name, model.producer_version, model.domain, model.doc_string])
    for entry in model.metadata_props:
        _check([entry.key, entry.value])
    for opset in model.opset_import:
        _check([opset.domain])
    _check_graph(model.graph)
    for function in model.functions:
        _check_function(function)


def _check(texts: Iterable[object]) -> None:
    for text in texts:
        if not isinstance(text, str):
            raise ModelError(f"the text {text!r:.60} is not UTF-8")


def _check_function(function: FunctionProto) -> None:
    _check([function.name, function.domain, function.overload])
    _check([*function.input, *function.output, *function.attribute])
    _check(entry.domain for entry in function.opset_import)
    _check_attributes(function.attribute_proto)
    _check_nodes(function.node)


def _check_graph(graph: GraphProto) -> None:
    _check([graph.name, graph.doc_string])
    for infos in (graph.input, graph.output, graph.value_info):
        _check_infos(infos)
    _check(tensor.name for tensor in graph.initializer)
    _check(sparse.values.name for sparse in graph.sparse_initializer)
    for tensor in graph.initializer:
        for entry in tensor.external_data:
            _check([entry.key, entry.value])
    _check_nodes(graph.node)


def _check_infos(infos: Iterable[ValueInfoProto]) -> None:
    for info in infos:
        _check([info.name])
        _check(dim.dim_param for dim in info.type.tensor_type.shape.dim)


def _check_nodes(nodes: Iterable[NodeProto]) -> None:
    for node in nodes:
        _check((node.name, node.op_type, node.domain, node.overload, *node.input, *node.output))
        _check_attributes(node.attribute)


def _check_attributes(attributes: Iterable[AttributeProto]) -> None:
    for attribute in attributes:
        _check((attribute.name, attribute.ref_attr_name))
        if attribute.HasField("g"):
            _check_graph(attribute.g)
        for graph in attribute.graphs:
            _check_graph(graph)
