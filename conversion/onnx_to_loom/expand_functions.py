"""How does an op without a kernel become ops that have one? The standard defines some ops as functions.

The body the schema gives for the op's attributes and operand types is imported as a model of its own
(so that it is upgraded from the opset it was written in) and handed back as ops. Operands in f16 and bf16 are
widened for it, so that its result is rounded once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import onnx.helper as oh
from onnx import FunctionProto, ModelProto, NodeProto, ValueInfoProto
from onnx.defs import onnx_opset_version
from xdsl.context import Context
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    BFloat16Type,
    Float16Type,
    ModuleOp,
    NoneType,
    TensorType,
    UnrankedTensorType,
    f32,
)
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Block, Operation, SSAValue

from onnxloom.conversion.onnx_export.attributes import tensor_proto
from onnxloom.conversion.onnx_export.node import op_to_node
from onnxloom.conversion.onnx_export.types import proto_of_type
from onnxloom.conversion.onnx_import import import_model
from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.access import is_none
from onnxloom.dialects.onnx.captures import captured_values
from onnxloom.dialects.onnx.constant import constant_value
from onnxloom.dialects.onnx.dtypes import proto_of_element
from onnxloom.dialects.onnx.narrow import is_ranked
from onnxloom.dialects.onnx.semantics import element_type
from onnxloom.errors import OnnxloomError
from onnxloom.transforms.schema_function import FUNCTION_DOMAIN, function_schema, schema_function
from onnxloom.transforms.shape_inference import ShapeInferencePass


def function_body(op: Operation) -> tuple[Block, Sequence[SSAValue]] | None:
    """The ops that define `op`: a block, and the operands of `op` its arguments stand for.

    The block ends with `onnx.Return` of the results that `op` has. None where the standard defines no
    body for this form of the op.
    """
    if not isinstance(op, onnx.OnnxOp) or captured_values(op):
        return None
    schema = function_schema(op.onnx_name, op.domain)
    if schema is None:
        return None
    names = ["" if is_none(v) else f"x{i}" for i, v in enumerate(op.operands)]
    results = ["" if isinstance(r.type, NoneType) else f"y{i}" for i, r in enumerate(op.results)]
    try:
        node = op_to_node(op, names, results)
        types = [proto_of_type(_given_type(op, v)) for v in op.operands if not is_none(v)]
        function = schema_function(schema, node, types)
        if function is None:
            return None
        module = import_model(_model(op, node, function))
    except (OnnxloomError, RuntimeError, ValueError):
        # No body for these types, or one that the importer cannot read: the op stays whole.
        return None
    return _inferred(module), [v for v in op.operands if _is_input(v)]


def _is_input(value: SSAValue) -> bool:
    return not is_none(value) and constant_value(value) is None


def _is_half(value: SSAValue) -> bool:
    return isinstance(element_type(value), Float16Type | BFloat16Type)


def _given_type(op: Operation, value: SSAValue) -> Attribute:
    """The type the function is given an operand in; a body of ops of its own is for the types it says."""
    type_: Attribute = value.type
    if op.regions or not _is_half(value):
        return type_
    return TensorType(f32, type_.get_shape()) if is_ranked(type_) else UnrankedTensorType(f32)


def _cast(source: str, result: str, element: Attribute) -> NodeProto:
    return oh.make_node("Cast", [source], [result], to=proto_of_element(element))


def _model(op: Operation, node: NodeProto, function: FunctionProto) -> ModelProto:
    node.domain, node.op_type = FUNCTION_DOMAIN, function.name
    present = [(name, v) for name, v in zip(node.input, op.operands, strict=False) if name]
    inputs = [oh.make_value_info(n, proto_of_type(v.type)) for n, v in present if _is_input(v)]
    constants = [tensor_proto(array, n) for n, v in present if (array := constant_value(v)) is not None]
    outputs = [_output(name, r) for name, r in zip(node.output, op.results, strict=False) if name]
    nodes = [node]
    halves = {name for name, v in present if not op.regions and _is_half(v)}
    if halves:
        results = {name: r for name, r in zip(node.output, op.results, strict=False) if name and _is_half(r)}
        widen = [_cast(name, f"{name}_wide", f32) for name in sorted(halves)]
        narrow = [_cast(f"{name}_wide", name, _element(r)) for name, r in results.items()]
        node.input[:] = [f"{name}_wide" if name in halves else name for name in node.input]
        node.output[:] = [f"{name}_wide" if name in results else name for name in node.output]
        nodes = [*widen, node, *narrow]
    graph = oh.make_graph(nodes, "function", inputs, outputs, constants)
    opsets = [oh.make_opsetid("", onnx_opset_version()), oh.make_opsetid(FUNCTION_DOMAIN, 1)]
    return oh.make_model(graph, opset_imports=opsets, functions=[function])


def _output(name: str, result: SSAValue) -> ValueInfoProto:
    element = element_type(result)
    shape = None
    type_: Attribute = result.type
    if element is None:  # a sequence
        return oh.make_value_info(name, proto_of_type(type_))
    if isinstance(type_, TensorType):
        dims = cast("TensorType[Attribute]", type_).get_shape()
        shape = [None if d == DYNAMIC_INDEX else d for d in dims]
    return oh.make_tensor_value_info(name, proto_of_element(element), shape)


def _element(value: SSAValue) -> Attribute:
    element = element_type(value)
    assert element is not None
    return element


def _inferred(module: ModuleOp) -> Block:
    ShapeInferencePass().apply(Context(), module)
    return next(op for op in module.ops if isinstance(op, FuncOp)).body.block
