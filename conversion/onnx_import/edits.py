"""What may be changed about a model before it is imported? Free dims become numbers, initializers others."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
from onnx import GraphProto, ModelProto, TensorProto, TypeProto

from onnxloom.conversion.onnx_export.attributes import tensor_proto
from onnxloom.errors import ModelError

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class ModelEdits:
    """Changes by name; names that the model does not have change nothing."""

    dims: Mapping[str, int] = field(default_factory=dict[str, int])
    """Number of every dim that has this name, in inputs, outputs and declared values."""
    denoted_dims: Mapping[str, int] = field(default_factory=dict[str, int])
    """Number of every dim of an input that has this denotation."""
    initializers: Mapping[str, Array] = field(default_factory=dict[str, Array])
    """Data of initializers."""
    external_initializers: Mapping[str, Array] = field(default_factory=dict[str, Array])
    """Data of initializers that must be there, with their data in other files."""
    external_files: Mapping[str, bytes] = field(default_factory=dict[str, bytes])
    """Contents of files of external data, by the location the model states."""


def apply_edits(model: ModelProto, edits: ModelEdits) -> None:
    """Raises ModelError for data of another type or shape, or an external initializer that is not there."""
    _set_dims(model.graph, edits)
    _set_initializers(model.graph, edits)


def _set_dims(graph: GraphProto, edits: ModelEdits) -> None:
    by_name = dict(edits.dims)
    for info in graph.input:
        for dim in _dims(info.type):
            value = edits.denoted_dims.get(dim.denotation) if dim.denotation else None
            if value is None or dim.HasField("dim_value"):
                continue
            # Other dims of that name are the same number.
            if dim.dim_param:
                by_name.setdefault(dim.dim_param, value)
            dim.dim_value = value
    for info in (*graph.input, *graph.output, *graph.value_info):
        for dim in _dims(info.type):
            if dim.dim_param in by_name:
                dim.dim_value = by_name[dim.dim_param]


def _dims(type_: TypeProto) -> Iterator[Any]:
    """The dims of a tensor, or of the tensors of a sequence or optional."""
    kind = type_.WhichOneof("value")
    if kind in ("tensor_type", "sparse_tensor_type"):
        yield from getattr(type_, kind).shape.dim
    elif kind in ("sequence_type", "optional_type"):
        yield from _dims(getattr(type_, kind).elem_type)


def _set_initializers(graph: GraphProto, edits: ModelEdits) -> None:
    by_name = {tensor.name: tensor for tensor in graph.initializer}
    for name, array in edits.external_initializers.items():
        tensor = by_name.get(name)
        if tensor is None or tensor.data_location != TensorProto.EXTERNAL:
            raise ModelError(f"the model has no initializer {name!r} with its data in another file")
        _set_data(tensor, array)
    for name, array in edits.initializers.items():
        if name in by_name:
            _set_data(by_name[name], array)
    for tensor in graph.initializer:
        if edits.external_files and tensor.data_location == TensorProto.EXTERNAL:
            _take_from_memory(tensor, edits.external_files)


def _set_data(tensor: TensorProto, array: Array) -> None:
    shape = tuple(tensor.dims)
    made = tensor_proto(np.ascontiguousarray(array).reshape(array.shape), tensor.name)
    if made.data_type != tensor.data_type or array.shape != shape:
        raise ModelError(
            f"initializer {tensor.name!r} is {_type_name(tensor)}{list(shape)}; it cannot be replaced by "
            f"{array.dtype}{list(array.shape)}"
        )
    tensor.CopyFrom(made)


def _take_from_memory(tensor: TensorProto, files: Mapping[str, bytes]) -> None:
    entries = {entry.key: entry.value for entry in tensor.external_data}
    data = files.get(os.fspath(entries.get("location", "")))
    if data is None:
        return
    start = int(entries.get("offset", 0))
    length = int(entries["length"]) if "length" in entries else len(data) - start
    if start < 0 or length < 0 or start + length > len(data):
        raise ModelError(
            f"initializer {tensor.name!r} is {length} bytes from {start} on of a file of {len(data)} bytes"
        )
    tensor.ClearField("external_data")
    tensor.data_location = TensorProto.DEFAULT
    tensor.raw_data = data[start : start + length]


def _type_name(tensor: TensorProto) -> str:
    kinds = TensorProto.DataType
    return kinds.Name(tensor.data_type).lower() if tensor.data_type in kinds.values() else "?"
