"""How does a function of the standard become an expression?

A body is written for the opset of its day. Its ops become those of the newest opset where these take the
same inputs and attributes, and mean the same by them; else there is no expression.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, TypeAlias, cast

import numpy as np
from onnx import AttributeProto, FunctionProto, NodeProto, TensorProto, helper, numpy_helper

from onnxloom.dialects.onnx import OPS_BY_NAME, constant_attr, constant_value
from onnxloom.transforms.rewriting.declarative.expressions import Literal, OpCall, Result, Tensor
from onnxloom.transforms.rewriting.declarative.signature import signature_of

Values: TypeAlias = "dict[str, Tensor | None]"

_CHANGED_MEANING: Final = {"Softmax": 13, "LogSoftmax": 13, "Hardmax": 13, "BatchNormalization": 15}
"""Ops of which a version before this one computes something else from the same inputs and attributes."""

_SHORT_FORMS: Final[Mapping[str, Any]] = {
    "value_float": np.float32,
    "value_floats": np.float32,
    "value_int": np.int64,
    "value_ints": np.int64,
}
"""How a number of `Constant` becomes an array."""


class NoExpression(Exception):
    """The function cannot be said as an expression; the message continues `its function body ...`."""


def function_expression(
    function: FunctionProto, inputs: Values, attributes: Mapping[str, AttributeProto]
) -> tuple[Tensor, ...]:
    """The outputs of a function, given its inputs (None: left out) and attributes.

    Raises:
        NoExpression: it holds graphs, or an op that the newest opset has in another form.
    """
    values = dict(inputs)
    versions = {entry.domain: entry.version for entry in function.opset_import}
    for node in function.node:
        given = {a.name: _attribute(a, attributes) for a in node.attribute}
        given = {name: value for name, value in given.items() if value is not None}
        if node.op_type == "Constant":
            values[node.output[0]] = _constant(given)
            continue
        call = _call(node, versions.get(node.domain, 0), values, given)
        for index, name in enumerate(node.output):
            values[name] = Result(call, index)
    outputs = tuple(values.get(name) for name in function.output)
    if not all(isinstance(output, Result) for output in outputs):
        raise NoExpression("gives back an input or a constant")
    return cast(tuple[Tensor, ...], outputs)


def _call(node: NodeProto, version: int, values: Values, attributes: Mapping[str, Any]) -> OpCall:
    op_class = OPS_BY_NAME.get((node.domain, node.op_type))
    if op_class is None or version < _CHANGED_MEANING.get(node.op_type, 0):
        raise NoExpression(f"holds {node.op_type} of opset {version}")
    signature = signature_of(op_class)
    if signature.has_graphs:
        raise NoExpression(f"holds {node.op_type}, an op with graphs")
    operands = tuple(values[name] if name else None for name in node.input)
    try:
        signature.check_count(len(operands))
        signature.check_attributes(list(attributes))
    except TypeError:
        raise NoExpression(
            f"holds {node.op_type} of opset {version}, which has another form by now"
        ) from None
    call = OpCall(op_class, operands, attributes)
    call.result_count = len(node.output)
    return call


def _attribute(attribute: AttributeProto, given: Mapping[str, AttributeProto]) -> Any:
    """The value; that of the function's attribute where it is a reference; None for one left out there."""
    if attribute.ref_attr_name:
        found = given.get(attribute.ref_attr_name)
        return None if found is None else _attribute(found, {})
    value = helper.get_attribute_value(attribute)
    if isinstance(value, bytes):
        return value.decode("utf-8", "surrogateescape")
    if isinstance(value, TensorProto):
        return constant_attr(numpy_helper.to_array(value))
    if attribute.type in (AttributeProto.GRAPH, AttributeProto.GRAPHS):
        raise NoExpression("holds graphs")
    return value


def _constant(attributes: Mapping[str, Any]) -> Literal:
    ((form, value),) = attributes.items()
    if form == "value":
        array = constant_value(value)
        assert array is not None
        return Literal(array, is_array=True)
    if form not in _SHORT_FORMS:
        raise NoExpression(f"holds a Constant with {form}")
    return Literal(np.asarray(value, _SHORT_FORMS[form]), is_array=True)
