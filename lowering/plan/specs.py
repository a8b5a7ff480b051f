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
from xdsl.utils.hints import isa

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
    if isa(type_, TensorType[Attribute]) or isa(type_, UnrankedTensorType[Attribute]):
        name = dtype_of_element(type_.element_type).name
        return f"tensor({_SPELLING.get(name, name)})"
    if isinstance(type_, SeqType):
        return f"seq({spell(type_.element_type)})"
    if isinstance(type_, OptType):
        return f"optional({spell(type_.element_type)})"
    if isinstance(type_, MapType):
        return f"map({_scalar(type_.key_type)},{_scalar(type_.value_type)})"
    return str(type_)


_SPELLED = (TensorType, UnrankedTensorType, SeqType, OptType, MapType)


def _scalar(type_: Attribute) -> str:
    if isinstance(type_, _SPELLED):
        return spell(type_)  # pyright: ignore[reportUnknownArgumentType]
    name = dtype_of_element(type_).name
    return _SPELLING.get(name, name)


def spec_of(type_: Attribute) -> Spec:
    """The declared type of a slot."""
    if isinstance(type_, IndexType):
        return Spec("index")
    if isinstance(type_, NoneType):
        return Spec("none")
    if isa(type_, TensorType[Attribute]):
        shape = tuple(DYNAMIC if d == DYNAMIC_INDEX else d for d in type_.get_shape())
        return Spec("tensor", dtype_of_element(type_.element_type).name, shape, spell(type_))
    if isa(type_, UnrankedTensorType[Attribute]):
        return Spec("tensor", dtype_of_element(type_.element_type).name, None, spell(type_))
    return Spec("object", text=spell(type_))
