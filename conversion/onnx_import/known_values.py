"""What do adapters know about the values of the main graph: types and constants?

Worked out when the first adapter asks: most models never do.
"""

from __future__ import annotations

from functools import cached_property

from onnx import AttributeProto, GraphProto, ModelProto, TensorProto, TypeProto

from onnxloom.conversion.onnx_import.infer import declared_types, inferred_types
from onnxloom.conversion.onnx_import.payloads import Payloads
from onnxloom.conversion.onnx_import.tensors import Array
from onnxloom.errors import ModelError


class KnownValues:
    def __init__(self, model: ModelProto, payloads: Payloads) -> None:
        self.model = model
        self.payloads = payloads

    def type_of(self, name: str) -> TypeProto | None:
        return self._types.get(name)

    def constant_of(self, name: str) -> Array | None:
        tensor = self._tensors.get(name)
        return None if tensor is None else self.payloads.array(tensor, f"constant {name!r}")

    def may_be_read(self, name: str) -> bool:
        """Whether a node or graph reads a name; true for names that inlining made."""
        return name in self._read or name not in self._defined

    @cached_property
    def _read(self) -> set[str]:
        read: set[str] = set()
        _add_read_names(self.model.graph, read)
        return read

    @cached_property
    def _defined(self) -> set[str]:
        defined: set[str] = set()
        _add_names(self.model.graph, defined)
        return defined

    @cached_property
    def _types(self) -> dict[str, TypeProto]:
        graph = self.model.graph
        types = {tensor.name: _type_of_tensor(tensor) for tensor in graph.initializer}
        types.update((info.name, info.type) for info in graph.input if info.name not in types)
        copy = ModelProto()
        copy.CopyFrom(self.model)
        domains = frozenset(("", "ai.onnx", "ai.onnx.ml"))
        types.update(inferred_types(copy, declared_types(graph), domains))
        return types

    @cached_property
    def _tensors(self) -> dict[str, TensorProto]:
        graph = self.model.graph
        tensors = {tensor.name: tensor for tensor in graph.initializer}
        for node in graph.node:
            if node.op_type != "Constant" or len(node.attribute) != 1 or len(node.output) != 1:
                continue
            if node.attribute[0].name == "value" and node.attribute[0].type == AttributeProto.TENSOR:
                tensors[node.output[0]] = node.attribute[0].t
        return tensors


def _type_of_tensor(tensor: TensorProto) -> TypeProto:
    proto = TypeProto()
    proto.tensor_type.elem_type = tensor.data_type
    proto.tensor_type.shape.SetInParent()
    for dim in tensor.dims:
        if dim < 0:
            raise ModelError(f"initializer {tensor.name!r} has shape {list(tensor.dims)}; a dim is negative")
        proto.tensor_type.shape.dim.add(dim_value=dim)
    return proto


def used_names(model: ModelProto) -> set[str]:
    """Every value name of a model, its functions and all graphs inside."""
    names: set[str] = set()
    _add_names(model.graph, names)
    for function in model.functions:
        names.update(function.input)
        for node in function.node:
            names.update(node.output)
    return names


def _add_names(graph: GraphProto, names: set[str]) -> None:
    names.update(info.name for info in graph.input)
    names.update(tensor.name for tensor in graph.initializer)
    names.update(tensor.values.name for tensor in graph.sparse_initializer)
    for node in graph.node:
        names.update(node.output)
        for attribute in node.attribute:
            if attribute.HasField("g"):
                _add_names(attribute.g, names)
            for inner in attribute.graphs:
                _add_names(inner, names)


def _add_read_names(graph: GraphProto, names: set[str]) -> None:
    names.update(info.name for info in graph.output)
    for node in graph.node:
        names.update(node.input)
        for attribute in node.attribute:
            if attribute.HasField("g"):
                _add_read_names(attribute.g, names)
            for inner in attribute.graphs:
                _add_read_names(inner, names)
