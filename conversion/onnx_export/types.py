"""Which `TypeProto` stands for an IR type?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from onnx import TensorProto, TypeProto
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute

from onnxloom.conversion.onnx_import.types import element_of
from onnxloom.dialects.onnx.dtypes import proto_of_element
from onnxloom.dialects.onnx.types import MapType, OptType, SeqType
from onnxloom.errors import PassError


def proto_of_type(ir_type: Attribute, dim_params: Mapping[int, str] | None = None) -> TypeProto:
    """`dim_params` names dynamic dims by axis. Raises PassError for a type ONNX lacks."""
    proto = TypeProto()
    _write(proto, ir_type, dim_params or {})
    return proto


def _write(proto: TypeProto, ir_type: Attribute, dim_params: Mapping[int, str]) -> None:
    element = element_of(ir_type)
    if element is not None:
        proto.tensor_type.elem_type = proto_of_element(element)
        if isinstance(ir_type, TensorType):
            _write_dims(proto.tensor_type, ir_type.get_shape(), dim_params)
    elif isinstance(ir_type, SeqType):
        _write(proto.sequence_type.elem_type, ir_type.element_type, {})
    elif isinstance(ir_type, OptType):
        _write(proto.optional_type.elem_type, ir_type.element_type, {})
    elif isinstance(ir_type, MapType):
        proto.map_type.key_type = cast(TensorProto.DataType, proto_of_element(ir_type.key_type))
        value = ir_type.value_type
        is_whole = element_of(value) is not None or isinstance(value, SeqType | MapType)
        _write(proto.map_type.value_type, value if is_whole else TensorType(value, []), {})
    else:
        raise PassError(f"onnx export: type {ir_type} has no ONNX type")


def _write_dims(tensor: TypeProto.Tensor, dims: tuple[int, ...], dim_params: Mapping[int, str]) -> None:
    tensor.shape.SetInParent()
    for axis, size in enumerate(dims):
        dim = tensor.shape.dim.add()
        if size >= 0:
            dim.dim_value = size
        elif axis in dim_params:
            dim.dim_param = dim_params[axis]
