"""How does the standard's own shape inference of one op take part?

It serves the ops that have no rule here. It sees element types and dims (symbolic ones under names,
so that those it passes on are recognised) and the values of small integer inputs, never weights.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import numpy as np
import onnx as onnx_package
from onnx import AttributeProto, NodeProto, TensorProto, TypeProto, helper, numpy_helper
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    ArrayAttr,
    FloatAttr,
    IntegerAttr,
    NoneType,
    StringAttr,
    TensorType,
    UnrankedTensorType,
)
from xdsl.ir import Attribute, SSAValue

from onnxloom.dialects.onnx.access import attr
from onnxloom.dialects.onnx.attributes import encode
from onnxloom.dialects.onnx.constant import constant_value
from onnxloom.dialects.onnx.dtypes import dtype_of_element, element_of_proto, proto_of_element
from onnxloom.dialects.onnx.op import OnnxOp
from onnxloom.dialects.onnx.types import MapType, OptType, SeqType
from onnxloom.transforms.dim_analysis.dim_expr import DimExpr
from onnxloom.transforms.dim_analysis.facts import Impossible, Inferred, Result, element_type
from onnxloom.transforms.dim_analysis.query import OpQuery

Names = dict[str, DimExpr]


def standard_results(query: OpQuery) -> Sequence[Result]:
    """What `onnx.shape_inference.infer_node_outputs` says; nothing where it fails for lack of facts."""
    op = query.op
    assert isinstance(op, OnnxOp)
    if not onnx_package.defs.has(op.onnx_name, op.domain):
        return ()
    schema = onnx_package.defs.get_schema(op.onnx_name, op.domain)
    names: Names = {}
    node = NodeProto(op_type=op.onnx_name, domain=op.domain)
    types: dict[str, TypeProto] = {}
    data: dict[str, TensorProto] = {}
    for index, operand in enumerate(op.operands):
        if isinstance(operand.type, NoneType):
            node.input.append("")
            continue
        name = f"i{index}"
        node.input.append(name)
        types[name] = _type_proto(query, operand, names)
        tensor = _small_tensor(query, index)
        if tensor is not None:
            data[name] = tensor
    node.output.extend("" if isinstance(r.type, NoneType) else f"o{i}" for i, r in enumerate(op.results))
    node.attribute.extend(_attributes(query, schema))
    is_static = not names and all(proto.tensor_type.HasField("shape") for proto in types.values())
    is_complete = len(node.attribute) == sum(attr(op, name) is not None for name in schema.attributes)
    try:
        found = onnx_package.shape_inference.infer_node_outputs(
            schema, node, types, data, opset_imports=_imports(op)
        )
    except onnx_package.shape_inference.InferenceError as error:
        if not is_static or not is_complete:
            return ()  # it takes a dim it does not know for 0, an attribute left out for a missing one
        message = str(error).splitlines()[0].split("] ", 1)[-1]
        raise Impossible(message) from None
    except onnx_package.checker.ValidationError:
        # Some attributes (graphs, tensors) are left out, which the standard's own check dislikes.
        return ()
    return [_result(found.get(f"o{i}"), names) for i in range(len(op.results))]


def _imports(op: OnnxOp) -> list[onnx_package.OperatorSetIdProto]:
    version = onnx_package.defs.onnx_opset_version()
    imports = [helper.make_opsetid("", version)]
    if op.domain:
        imports.append(helper.make_opsetid(op.domain, op.since_version))
    return imports


def _type_proto(query: OpQuery, value: SSAValue, names: Names) -> TypeProto:
    facts = query.source.facts(value)
    if facts is None:
        return _proto_of_type(query.source.type_of(value))
    proto = TypeProto()
    proto.tensor_type.elem_type = proto_of_element(facts.element)
    if facts.shape is None:
        return proto
    shape = proto.tensor_type.shape
    shape.SetInParent()
    for dim in facts.shape:
        entry = shape.dim.add()
        if dim.constant is not None:
            entry.dim_value = dim.constant
        else:
            entry.dim_param = str(dim)
            names[str(dim)] = dim
    return proto


def _proto_of_type(value_type: Attribute) -> TypeProto:
    """The proto of a type; an empty one for what has no proto."""
    proto = TypeProto()
    match value_type:
        case SeqType():
            proto.sequence_type.elem_type.CopyFrom(_proto_of_type(value_type.element_type))
        case OptType():
            proto.optional_type.elem_type.CopyFrom(_proto_of_type(value_type.element_type))
        case MapType():
            proto.map_type.key_type = proto_of_element(value_type.key_type)
            proto.map_type.value_type.tensor_type.elem_type = proto_of_element(value_type.value_type)
        case _:
            element = element_type(value_type)
            if element is not None:
                proto.tensor_type.elem_type = proto_of_element(element)
            if isinstance(value_type, TensorType):
                proto.tensor_type.shape.SetInParent()
                for dim in value_type.get_shape():
                    entry = proto.tensor_type.shape.dim.add()
                    if dim != DYNAMIC_INDEX:
                        entry.dim_value = dim
    return proto


def _small_tensor(query: OpQuery, index: int) -> TensorProto | None:
    """The values of an integer operand when all are numbers, or of a constant of a few elements."""
    elements, numbers = query.elements(index), query.ints(index)
    if elements is not None and numbers is not None:
        element = query.element(index)
        assert element is not None
        array = np.array(numbers, dtype=dtype_of_element(element)).reshape(elements.shape)
        return numpy_helper.from_array(array)
    if elements is None:
        return None
    constant = constant_value(query.value(index))
    return None if constant is None else numpy_helper.from_array(np.ascontiguousarray(constant))


def _attributes(query: OpQuery, schema: onnx_package.defs.OpSchema) -> list[AttributeProto]:
    protos: list[AttributeProto] = []
    for name in schema.attributes:
        value = attr(query.op, name)
        proto = None if value is None else _attribute(name, value)
        if proto is not None:
            protos.append(proto)
    return protos


def _attribute(name: str, value: Attribute) -> AttributeProto | None:
    if isinstance(value, ArrayAttr):
        items = [_plain(item) for item in cast(ArrayAttr[Attribute], value).data]
        return helper.make_attribute(name, items) if items and None not in items else None
    plain = _plain(value)
    return None if plain is None else helper.make_attribute(name, plain)


def _plain(value: Attribute) -> int | float | bytes | None:
    match value:
        case IntegerAttr():
            return value.value.data
        case FloatAttr():
            return value.value.data
        case StringAttr():
            return encode(value.data)
        case _:
            return None


def _result(proto: TypeProto | None, names: Names) -> Result:
    if proto is None:
        return None
    match proto.WhichOneof("value"):
        case "tensor_type":
            tensor = proto.tensor_type
            if not tensor.elem_type:
                return None
            element = element_of_proto(tensor.elem_type)
            if not tensor.HasField("shape"):
                return Inferred(None, element)
            return Inferred([_dim(dim, names) for dim in tensor.shape.dim], element)
        case "sequence_type":
            inner = _nested(_result(proto.sequence_type.elem_type, names))
            return None if inner is None else SeqType(inner)
        case "optional_type":
            inner = _nested(_result(proto.optional_type.elem_type, names))
            return None if inner is None else OptType(inner)
        case _:
            return None


def _nested(result: Result) -> Attribute | None:
    """The type of the tensors of a sequence: dims that are not numbers are dynamic."""
    if not isinstance(result, Inferred):
        return result
    if result.element is None:
        return None
    if result.dims is None:
        return UnrankedTensorType(result.element)
    dims = [DYNAMIC_INDEX if d is None or d.constant is None else d.constant for d in result.dims]
    return TensorType(result.element, dims)


def _dim(dim: onnx_package.TensorShapeProto.Dimension, names: Names) -> DimExpr | None:
    if dim.WhichOneof("value") == "dim_value":
        # Some ops compute with symbolic dims as if they were 0.
        is_doubtful = dim.dim_value == 0 and names
        return None if dim.dim_value < 0 or is_doubtful else DimExpr.of(dim.dim_value)
    return names.get(dim.dim_param)
