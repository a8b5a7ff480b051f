"""How is an op replaced by what the standard defines it as? Its function body, as an expression."""

from __future__ import annotations

from functools import cache
from typing import Any, ClassVar

from onnx import NodeProto, TypeProto, helper
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, SSAValue

from onnxloom.dialects.onnx import OPS_BY_NAME
from onnxloom.dialects.onnx.access import is_none
from onnxloom.dialects.onnx.dtypes import ELEMENT_TO_PROTO
from onnxloom.dialects.onnx.op import OnnxOp
from onnxloom.transforms.dim_analysis.facts import element_type
from onnxloom.transforms.miss import Miss, no_match
from onnxloom.transforms.rewriting.declarative.decompose import DecomposePattern
from onnxloom.transforms.rewriting.declarative.expressions import Bound, Tensor
from onnxloom.transforms.rewriting.declarative.function_expression import (
    NoExpression,
    Values,
    function_expression,
)
from onnxloom.transforms.rewriting.declarative.match import Inputs, Match
from onnxloom.transforms.rewriting.declarative.signature import signature_of
from onnxloom.transforms.rewriting.pattern import Numerics
from onnxloom.transforms.schema_function import function_schema, schema_function


class FunctionBodyPattern(DecomposePattern, abstract=True):
    """Base of patterns that replace each op of `start_ops` by its function body in the standard.

    class MishBodyPattern(FunctionBodyPattern):
        start_ops = (onnx.MishOp,)
    """

    adds_ops: ClassVar[str] = "the op is replaced by its definition in the standard"
    numerics: ClassVar[Numerics] = Numerics.TOLERANCE

    def __init_subclass__(cls, *, abstract: bool = False, **options: Any):
        super().__init_subclass__(abstract=abstract, **options)
        for start in cls.start_ops:
            if start not in function_ops():
                raise ValueError(f"{cls.__name__}: the standard has no function body for {start.__name__}")

    def replacement(self, inputs: Inputs, match: Match) -> Tensor | tuple[Tensor, ...] | Miss:
        op = match.anchor
        assert isinstance(op, OnnxOp)
        names = ["" if is_none(value) else f"x{index}" for index, value in enumerate(op.operands)]
        schema = function_schema(op.onnx_name)
        node = _node(op, schema, names, match)
        types = [_type_proto(value) for value in op.operands if not is_none(value)]
        function = schema_function(schema, node, types)
        if function is None:
            return no_match(op, "the standard has no function body for these types and attributes")
        given: Values = dict.fromkeys(function.input)
        actual = (None if is_none(value) else Bound(value) for value in op.operands)
        given.update(zip(function.input, actual, strict=False))
        try:
            found = function_expression(function, given, {a.name: a for a in node.attribute})
        except NoExpression as error:
            why = str(error)
            return no_match(op, lambda: f"its function body {why}")
        return found[: len(match.outputs)]


@cache
def function_ops() -> tuple[type[OnnxOp], ...]:
    """The ops of the default domain that have a function body and hold no graphs, by name."""
    return tuple(
        op
        for (domain, name), op in sorted(OPS_BY_NAME.items())
        if domain == "" and function_schema(name) is not None and not signature_of(op).has_graphs
    )


def _node(op: OnnxOp, schema: Any, names: list[str], match: Match) -> NodeProto:
    node = helper.make_node(op.onnx_name, names, [f"y{index}" for index in range(len(op.results))])
    for name, attribute in schema.attributes.items():
        value = match.attribute(name)
        if value is None:
            continue
        kind: Any = attribute.type.value
        node.attribute.append(helper.make_attribute(name, value, attr_type=kind))
    return node


def _type_proto(value: SSAValue) -> TypeProto:
    """What a body may depend on: the element type, and dims as far as they are numbers."""
    proto = TypeProto()
    element = element_type(value.type)
    proto.tensor_type.elem_type = 0 if element is None else ELEMENT_TO_PROTO[element]
    value_type: Attribute = value.type
    if isinstance(value_type, TensorType):
        proto.tensor_type.shape.SetInParent()
        for dim in value_type.get_shape():
            entry = proto.tensor_type.shape.dim.add()
            if dim >= 0:
                entry.dim_value = dim
    return proto
