"""What data does a model file hold under a tensor's name? Resolves the weights that IR text names.

Looked for among the initializers of the main graph, then those of subgraphs, then the tensors of
Constant nodes (by the name of their output).
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

from onnx import AttributeProto, GraphProto, TensorProto

from onnxloom.conversion.onnx_import.source import LoadedModel, load
from onnxloom.conversion.onnx_import.tensors import Array
from onnxloom.errors import ModelError


def read_weight(path: Path, name: str) -> Array:
    """The array of one tensor of a model file. Raises ModelError when the file has none of that name."""
    status = path.stat()
    model, tensors = _tensors(str(path), status.st_mtime_ns, status.st_size)
    tensor = tensors.get(name)
    if tensor is None:
        raise ModelError(f"{path} has no weights named {name!r}")
    return model.payloads.array(tensor, f"weights {name!r} of {path}")


@lru_cache(maxsize=4)
def _tensors(path: str, modified: int, size: int) -> tuple[LoadedModel, dict[str, TensorProto]]:
    model = load(path)
    tensors: dict[str, TensorProto] = {}
    for name, tensor in _named(model.proto.graph):
        tensors.setdefault(name, tensor)
    return model, tensors


def _named(graph: GraphProto) -> Iterator[tuple[str, TensorProto]]:
    for tensor in graph.initializer:
        yield tensor.name, tensor
    for subgraph in _subgraphs(graph):
        yield from _named(subgraph)
    for node in graph.node:
        if node.op_type == "Constant" and node.output:
            for attribute in node.attribute:
                if attribute.type == AttributeProto.TENSOR:
                    yield node.output[0], attribute.t


def _subgraphs(graph: GraphProto) -> Iterator[GraphProto]:
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.type == AttributeProto.GRAPH:
                yield attribute.g
