"""How is an IR type written down without IR?"""

from __future__ import annotations

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    IndexType,
    NoneType,
    TensorType,
    UnrankedTensorType,
)
from xdsl.ir import Attribute

from onnxloom.dialects.onnx.dtypes import dtype_of_element
from onnxloom.dialects.onnx.types import MapType, OptType, SeqType
from onnxloom.lowering.plan.program import DYNAMIC, Spec

_SPELLING = {
    "float32": "float", "float64": "double", "object": "string",
    "float8_e4m3fn": "float8e4m3fn", "float8_e4m3fnuz": "float8e4m3fnuz", "float8_e5m2": "float8e5m2",
    "float8_e5m2fnuz": "float8e5m2fnuz", "float8_e8m0fnu": "float8e8m0", "float4_e2m1fn": "float4e2m1",
}  # fmt: skip
"""numpy dtype name -> the name ONNX uses in type strings, where the two differ."""


def spell(type_: Attribute) -> str:
    """The type as ONNX spells it: `tensor(float)`, `seq(tensor(int64))`."""
    if isinstance(type_, TensorType | UnrankedTensorType):
        name = dtype_of_element(type_.element_type).name
        return f"tensor({_SPELLING.get(name, name)})"
    if isinstance(type_, SeqType):
        return f"seq({spell(type_.element_type)})"
    if isinstance(type_, OptType):
        return f"optional({spell(type_.element_type)})"
    if isinstance(type_, MapType):
        return f"map({_scalar(type_.key_type)},{_scalar(type_.value_type)})"
    return str(type_)


def _scalar(type_: Attribute) -> str:
    if isinstance(type_, TensorType | UnrankedTensorType | SeqType | OptType | MapType):
        return spell(type_)
    name = dtype_of_element(type_).name
    return _SPELLING.get(name, name)


def spec_of(type_: Attribute) -> Spec:
    """The declared type of a slot."""
    if isinstance(type_, IndexType):
        return Spec("index")
    if isinstance(type_, NoneType):
        return Spec("none")
    if isinstance(type_, TensorType):
        shape = tuple(DYNAMIC if d == DYNAMIC_INDEX else d for d in type_.get_shape())
        return Spec("tensor", dtype_of_element(type_.element_type).name, shape, spell(type_))
    if isinstance(type_, UnrankedTensorType):
        return Spec("tensor", dtype_of_element(type_.element_type).name, None, spell(type_))
    return Spec("object", text=spell(type_))
