"""Which function does the standard define an op as? Many ops have a body in their schema.

Some bodies depend on the op's attributes and on the types of its operands, so both are needed to ask.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from onnx import FunctionProto, NodeProto, TypeProto
from onnx.defs import SchemaError, get_schema, onnx_opset_version
from onnx.helper import make_opsetid

FUNCTION_DOMAIN: Final = "onnxloom.function"
"""The domain the functions given here are in, so that no op of the standard is meant by their names."""


def function_schema(name: str, domain: str = "") -> Any:
    """The schema of an op that has a function body, in the newest version; None for other ops.

    The stubs of onnx do not list what a schema knows of functions.
    """
    try:
        schema: Any = get_schema(name, onnx_opset_version(), domain)
    except SchemaError:
        return None
    return schema if schema.has_function or schema.has_context_dependent_function else None


def schema_function(schema: Any, node: NodeProto, types: Sequence[TypeProto]) -> FunctionProto | None:
    """The newest body the schema gives for a node; None where it has none for this form.

    Defaults of the schema are written out on `node`; what is left out without one is no parameter of the
    function. `types` are those of the inputs that are there.
    """
    if schema.has_function:
        version = max(schema.function_opset_versions)
        text = schema.get_function_with_opset_version(version)
    else:
        version = max(schema.context_dependent_function_opset_versions)
        text = schema.get_context_dependent_function_with_opset_version(
            version, node.SerializeToString(), [t.SerializeToString() for t in types]
        )
    if not text:
        return None
    function = FunctionProto.FromString(text)
    if not any(o.domain == "" for o in function.opset_import):
        # Bodies of other domains say nothing of the one that their nodes are of.
        function.opset_import.append(make_opsetid("", onnx_opset_version()))
    function.domain = FUNCTION_DOMAIN
    if not function.name:
        function.name = node.op_type
    _complete(schema, node, function)
    return function


def _complete(schema: Any, node: NodeProto, function: FunctionProto) -> None:
    """Writes out the schema's defaults; attributes left out without one are no parameters of the body."""
    given = {a.name for a in node.attribute}
    for name, attribute in schema.attributes.items():
        if name not in given and attribute.default_value.name:
            node.attribute.append(attribute.default_value)
            given.add(name)
    names = [*function.attribute, *(a.name for a in function.attribute_proto)]
    del function.attribute[:], function.attribute_proto[:]
    function.attribute.extend(n for n in names if n in given)
