"""Which IR type stands for a `TypeProto`, and which dims are only symbols?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from onnx import TensorShapeProto, TypeProto
from xdsl.dialects.builtin import DYNAMIC_INDEX, NoneType, TensorType, UnrankedTensorType
from xdsl.ir import Attribute

from onnxloom.dialects.onnx.dtypes import element_of_proto
from onnxloom.dialects.onnx.types import MapType, OptType, SeqType
from onnxloom.errors import ModelError

MAX_NESTING = 16
"""Sequences of optionals of sequences... deeper than this are taken for damage."""


def type_of_proto(proto: TypeProto, depth: int = 0) -> Attribute | None:
    """The IR type, or None where the proto leaves the element type open."""
    if depth > MAX_NESTING:
        raise ModelError(f"a type is nested more than {MAX_NESTING} deep")
    match proto.WhichOneof("value"):
        case "tensor_type":
            return _tensor_type(proto.tensor_type)
        case "sequence_type":
            inner = type_of_proto(proto.sequence_type.elem_type, depth + 1)
            return None if inner is None else SeqType(inner)
        case "optional_type":
            inner = type_of_proto(proto.optional_type.elem_type, depth + 1)
            return None if inner is None else OptType(inner)
        case "map_type":
            return _map_type(proto.map_type, depth)
        case "sparse_tensor_type":
            raise ModelError("sparse tensor values are not supported; expected a dense tensor type")
        case _:
            return None


def _tensor_type(proto: TypeProto.Tensor) -> Attribute | None:
    if proto.elem_type == 0:
        return None
    element = element_of_proto(proto.elem_type)
    if not proto.HasField("shape"):
        return UnrankedTensorType(element)
    return TensorType(element, dims_of_proto(proto.shape))


def _map_type(proto: TypeProto.Map, depth: int) -> Attribute | None:
    value = type_of_proto(proto.value_type, depth + 1)
    if value is None or proto.key_type == 0:
        return None
    # The values of a map are scalars: `tensor(float)` without dims.
    is_scalar = proto.value_type.WhichOneof("value") == "tensor_type"
    value = (element_of(value) or value) if is_scalar else value
    return MapType(element_of_proto(proto.key_type), value)


def dims_of_proto(shape: TensorShapeProto) -> list[int]:
    """Static dims as they are; symbols, empty dims and negative values are dynamic."""
    return [
        dim.dim_value if dim.WhichOneof("value") == "dim_value" and dim.dim_value >= 0 else DYNAMIC_INDEX
        for dim in shape.dim
    ]


def dim_params(proto: TypeProto) -> str | None:
    """`"0:batch,2:time"`: axis and name of each symbolic dim; None when there is none."""
    if proto.WhichOneof("value") != "tensor_type":
        return None
    named = [
        f"{axis}:{dim.dim_param}" for axis, dim in enumerate(proto.tensor_type.shape.dim) if dim.dim_param
    ]
    return ",".join(named) if named else None


def without_shape(ir_type: Attribute) -> Attribute:
    """`tensor<2x3xf32>` -> `tensor<*xf32>`; other types as they are."""
    element = element_of(ir_type)
    return ir_type if element is None else UnrankedTensorType(element)


def element_of(ir_type: Attribute) -> Attribute | None:
    """Element type of a tensor type; None for any other type."""
    if isinstance(ir_type, TensorType | UnrankedTensorType):
        return cast(TensorType[Attribute], ir_type).element_type
    return None


def is_unranked(ir_type: Attribute) -> bool:
    return isinstance(ir_type, UnrankedTensorType)


def first_tensor_type(types: Sequence[Attribute]) -> Attribute | None:
    """The first type that is a tensor's."""
    return next((t for t in types if not isinstance(t, NoneType) and element_of(t) is not None), None)
