"""Which initializers are default values of inputs, that a caller may override?

Those that are listed among the inputs too. Before IR version 4 every initializer had to be: there it
means nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final

from onnx import GraphProto, ModelProto
from xdsl.ir import Attribute

from onnxloom.conversion.onnx_import.scope import Scope
from onnxloom.conversion.onnx_import.types import type_of_proto
from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.annotations import OVERRIDABLE
from onnxloom.errors import ModelError

FIRST_IR_VERSION: Final = 4


def overridable_inputs(model: ModelProto) -> Mapping[str, Attribute]:
    """Name -> type of the inputs with a default value."""
    if model.ir_version < FIRST_IR_VERSION:
        return {}
    defaults = _initializers(model.graph)
    types = {info.name: type_of_proto(info.type) for info in model.graph.input if info.name in defaults}
    return {name: found for name, found in types.items() if found is not None}


def mark_overridable(inputs: Mapping[str, Attribute], scope: Scope) -> None:
    """Puts the attribute on the constants of those inputs."""
    for name, ir_type in inputs.items():
        value = scope.find(name)
        if value is not None and isinstance(value.owner, onnx.ConstantOp):
            value.owner.attributes[OVERRIDABLE] = ir_type


def drop_defaults(model: ModelProto, names: Collection[str]) -> None:
    """Takes the default values of those inputs away. Raises ModelError for what is no such input."""
    if not names:
        return
    known = overridable_inputs(model)
    for name in names:
        if name not in known:
            raise ModelError(f"the model has no input {name!r} with a default value")
    graph = model.graph
    for index in reversed(range(len(graph.initializer))):
        if graph.initializer[index].name in names:
            del graph.initializer[index]
    for index in reversed(range(len(graph.sparse_initializer))):
        if graph.sparse_initializer[index].values.name in names:
            del graph.sparse_initializer[index]


def _initializers(graph: GraphProto) -> set[str]:
    names = {tensor.name for tensor in graph.initializer}
    names.update(sparse.values.name for sparse in graph.sparse_initializer)
    return names
