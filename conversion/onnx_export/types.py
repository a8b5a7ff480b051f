"""Which `TypeProto` stands for an IR type?"""

from __future__ import annotations

from collections.abc import Mapping

from onnx import TypeProto
from xdsl.dialects.builtin import TensorType, UnrankedTensorType
from xdsl.ir import Attribute

from onnxloom.dialects.onnx.dtypes import proto_of_element
from onnxloom.dialects.onnx.types import MapType, OptType, SeqType
from onnxloom.errors import PassError


def proto_of_type(ir_type: Attribute, dim_params: Mapping[int, str] | None = None) -> TypeProto:
    """`dim_params` names dynamic dims by axis. Raises PassError for a type ONNX lacks."""
    proto = TypeProto()
    _write(proto, ir_type, dim_params or {})
    return proto


def _write(proto: TypeProto, ir_type: Attribute, dim_params: Mapping[int, str]) -> None:
    if isinstance(ir_type, TensorType | UnrankedTensorType):
        element: Attribute = ir_type.element_type  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
        proto.tensor_type.elem_type = proto_of_element(element)
        if isinstance(ir_type, TensorType):
            _write_dims(proto.tensor_type, ir_type.get_shape(), dim_params)
    elif isinstance(ir_type, SeqType):
        _write(proto.sequence_type.elem_type, ir_type.element_type, {})
    elif isinstance(ir_type, OptType):
        _write(proto.optional_type.elem_type, ir_type.element_type, {})
    elif isinstance(ir_type, MapType):
        proto.map_type.key_type = proto_of_element(ir_type.key_type)  # pyright: ignore[reportAttributeAccessIssue]
        value = ir_type.value_type
        is_whole = isinstance(value, TensorType | UnrankedTensorType | SeqType | MapType)
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
