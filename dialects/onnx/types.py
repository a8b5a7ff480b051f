"""Which types does ONNX have that MLIR's builtin dialect lacks: strings, sequences, optionals, maps."""

from __future__ import annotations

from xdsl.ir import Attribute, ParametrizedAttribute, TypeAttribute
from xdsl.irdl import irdl_attr_definition


@irdl_attr_definition
class StringType(ParametrizedAttribute, TypeAttribute):
    """Element type of a string tensor: `tensor<2x!onnx.String>`."""

    name = "onnx.String"


@irdl_attr_definition
class SeqType(ParametrizedAttribute, TypeAttribute):
    """A sequence of values of one type: `!onnx.Seq<tensor<*xf32>>`."""

    name = "onnx.Seq"
    element_type: Attribute


@irdl_attr_definition
class OptType(ParametrizedAttribute, TypeAttribute):
    """A value that may be absent at run time: `!onnx.Opt<tensor<2xf32>>`."""

    name = "onnx.Opt"
    element_type: Attribute


@irdl_attr_definition
class MapType(ParametrizedAttribute, TypeAttribute):
    """A dictionary with scalar keys (ai.onnx.ml): `!onnx.Map<!onnx.String, f32>`."""

    name = "onnx.Map"
    key_type: Attribute
    value_type: Attribute


STRING_TYPE = StringType()
