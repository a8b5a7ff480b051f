"""How does a loaded model become a module with one function, `@main_graph`?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from onnx import GraphProto, ModelProto, TypeProto, ValueInfoProto
from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    FunctionType,
    ModuleOp,
    StringAttr,
    SymbolRefAttr,
)
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Block, Region, TypeAttribute

from onnxloom.conversion.onnx_import.build import GraphBuilder
from onnxloom.conversion.onnx_import.flatten import flatten
from onnxloom.conversion.onnx_import.infer import declared_types, inferred_types
from onnxloom.conversion.onnx_import.overridable import mark_overridable, overridable_inputs
from onnxloom.conversion.onnx_import.result_types import ResultTypes
from onnxloom.conversion.onnx_import.scope import Scope
from onnxloom.conversion.onnx_import.source import LoadedModel
from onnxloom.conversion.onnx_import.types import dim_params, type_of_proto
from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.attributes import int_value
from onnxloom.errors import ModelError

ENTRY = "main_graph"


def standard_domains() -> frozenset[str]:
    """Domains whose ops the dialect has classes for."""
    return frozenset(domain for domain, _ in onnx.OPS_BY_NAME)


def build_module(loaded: LoadedModel) -> ModuleOp:
    """Raises ModelError or UnsupportedOpError naming the node."""
    model = loaded.proto
    unique = frozenset(name for name, count in Counter(tensor_names(model.graph)).items() if count == 1)
    declared = declared_types(model.graph)
    outputs = [ValueInfoProto.FromString(info.SerializeToString()) for info in model.graph.output]
    flat = flatten(model, loaded.payloads)
    domains = standard_domains()
    types = ResultTypes(inferred_types(flat, declared, domains), declared)
    builder = GraphBuilder(loaded.payloads, types, loaded.file, unique, domains)
    function = _main_function(flat.graph, outputs, builder, overridable_inputs(model))
    module = ModuleOp([function], model_attributes(model))
    module.body.block.add_op(onnx.EntryPointOp.create(properties={"func": SymbolRefAttr(ENTRY)}))
    return module


def tensor_names(graph: GraphProto) -> Iterator[str]:
    """Names of the constants of a graph and of all graphs in it."""
    yield from (tensor.name for tensor in graph.initializer)
    yield from (sparse.values.name for sparse in graph.sparse_initializer)
    for node in graph.node:
        if node.op_type == "Constant":
            yield from node.output
        for attribute in node.attribute:
            if attribute.HasField("g"):
                yield from tensor_names(attribute.g)
            for inner in attribute.graphs:
                yield from tensor_names(inner)


def _main_function(
    graph: GraphProto,
    outputs: Sequence[ValueInfoProto],
    builder: GraphBuilder,
    overridable: Mapping[str, Attribute],
) -> FuncOp:
    constants = {tensor.name for tensor in graph.initializer}
    constants.update(sparse.values.name for sparse in graph.sparse_initializer)
    inputs = [info for info in graph.input if info.name not in constants]
    block = Block(arg_types=[_declared(info) for info in inputs])
    scope = Scope()
    for info, arg in zip(inputs, block.args, strict=True):
        scope.define(info.name, arg, "graph input")
    values = builder.fill(block, graph, scope)
    mark_overridable(overridable, scope)
    block.add_op(onnx.ReturnOp.create(operands=values))
    return FuncOp(
        ENTRY,
        FunctionType.from_lists([arg.type for arg in block.args], [value.type for value in values]),
        Region(block),
        arg_attrs=ArrayAttr([DictionaryAttr(_value_attributes(i.name, i.type)) for i in inputs]),
        res_attrs=ArrayAttr([DictionaryAttr(_output_attributes(info)) for info in outputs]),
    )


def _declared(info: ValueInfoProto) -> Attribute:
    found = type_of_proto(info.type)
    if found is None:
        raise ModelError(f"graph input {info.name!r} has no element type")
    return found


def _value_attributes(name: str, proto: TypeProto) -> dict[str, Attribute]:
    attributes: dict[str, Attribute] = {"onnx.name": StringAttr(name)}
    params = dim_params(proto)
    if params is not None:
        attributes["onnx.dim_params"] = StringAttr(params)
    return attributes


def _output_attributes(info: ValueInfoProto) -> dict[str, Attribute]:
    """The declared type is kept for users to see; nothing relies on it."""
    attributes = _value_attributes(info.name, info.type)
    try:
        found = type_of_proto(info.type)
    except ModelError:
        return attributes
    if isinstance(found, TypeAttribute):
        attributes["onnx.declared_type"] = found
    return attributes


def model_attributes(model: ModelProto) -> dict[str, Attribute]:
    """What the model says about itself, as attributes of the module."""
    attributes: dict[str, Attribute] = {
        "onnx.ir_version": int_value(model.ir_version),
        "onnx.opset_imports": ArrayAttr(
            [StringAttr(f"{entry.domain}:{entry.version}") for entry in model.opset_import]
        ),
    }
    texts: Mapping[str, str] = {
        "onnx.graph_name": model.graph.name,
        "onnx.graph_doc_string": model.graph.doc_string,
        "onnx.doc_string": model.doc_string,
        "onnx.domain": model.domain,
        "onnx.producer_name": model.producer_name,
        "onnx.producer_version": model.producer_version,
    }
    attributes.update((key, StringAttr(text)) for key, text in texts.items() if text)
    if model.model_version:
        attributes["onnx.model_version"] = int_value(model.model_version)
    if model.metadata_props:
        attributes["onnx.metadata"] = ArrayAttr(
            [ArrayAttr([StringAttr(entry.key), StringAttr(entry.value)]) for entry in model.metadata_props]
        )
    return attributes
