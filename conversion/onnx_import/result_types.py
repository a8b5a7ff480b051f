"""Which types do the results of a node have, before shape inference?

Element types come from the schema (a type parameter that an input binds, or the only type allowed),
else from the standard's inference function, else from what the model declares. Shapes come from a
run of `onnx.shape_inference`; declared ones are believed only where no rule of the standard speaks:
exporters get them wrong.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Final

from onnx import NodeProto, TypeProto, defs, shape_inference
from onnx.checker import ValidationError
from onnx.onnx_cpp2py_export.shape_inference import InferenceError
from xdsl.dialects.builtin import DYNAMIC_INDEX, NoneType, TensorType, UnrankedTensorType
from xdsl.ir import Attribute, SSAValue

from onnxloom.conversion.onnx_export.types import proto_of_type
from onnxloom.conversion.onnx_import.signature import Formal, Signature
from onnxloom.conversion.onnx_import.types import element_of, first_tensor_type, type_of_proto
from onnxloom.dialects.onnx.element_types import ELEMENT_TYPES
from onnxloom.errors import ModelError


@cache
def only_types(domain: str, name: str) -> Mapping[str, Attribute]:
    """Type parameters of a schema that allow tensors of one element type only."""
    schema = defs.get_schema(name, domain)
    sets = {c.type_param_str: list(c.allowed_type_strs) for c in schema.type_constraints}
    for formal in schema.outputs:
        sets.setdefault(formal.type_str, [formal.type_str])
    found: dict[str, Attribute] = {}
    for parameter, types in sets.items():
        if len(types) == 1 and types[0].startswith("tensor("):
            found[parameter] = unranked(ELEMENT_TYPES[types[0][7:-1]])
    return found


@cache
def unranked(element: Attribute) -> Attribute:
    return UnrankedTensorType(element)


def bound_types(signature: Signature, operands: Sequence[SSAValue]) -> dict[str, Attribute]:
    """Type parameter -> type of the first input that binds it, without its shape."""
    bound: dict[str, Attribute] = {}
    last = len(signature.inputs) - 1
    for index, operand in enumerate(operands):
        formal = signature.inputs[min(index, last)]
        if formal.type_parameter in bound or not formal.is_homogeneous or isinstance(operand.type, NoneType):
            continue
        element = element_of(operand.type)
        bound[formal.type_parameter] = operand.type if element is None else unranked(element)
    return bound


LIKE_INPUT: Final[Mapping[tuple[str, str], int]] = {
    ("com.microsoft", "DequantizeLinear"): 1,
    ("com.microsoft", "EmbedLayerNormalization"): 2,
    ("com.microsoft", "GatherBlockQuantized"): 2,
    ("com.microsoft", "MatMulIntegerToFloat"): 2,
    ("com.microsoft", "NGramRepeatBlock"): 1,
    ("com.microsoft", "QAttention"): 3,
    ("com.microsoft", "QEmbedLayerNormalization"): 8,
    ("com.microsoft", "QGemm"): 8,
    ("com.microsoft", "QLinearConcat"): 1,
    ("com.microsoft", "QLinearConv"): 7,
    ("com.microsoft", "QLinearWhere"): 1,
    ("com.microsoft", "QuantizeLinear"): 2,
    ("com.microsoft", "WordConvEmbedding"): 1,
}
"""Foreign ops of onnxruntime's own files whose results are not like their first input."""

OWN_ELEMENT: Final[Mapping[tuple[str, str, int], str]] = {
    ("com.microsoft", "DynamicTimeWarping", 0): "int32",
    ("com.microsoft", "EmbedLayerNormalization", 1): "int32",
    ("com.microsoft", "MatMulInteger16", 0): "int32",
    ("com.microsoft", "QEmbedLayerNormalization", 1): "int32",
    ("com.microsoft", "Unique", 1): "int64",
    ("com.microsoft", "Unique", 2): "int64",
}
"""Results of foreign ops (by number) that have an element type whatever the inputs have."""


def own_element(node: NodeProto, domain: str, index: int) -> str | None:
    """The element type of a result of a foreign op, whatever its inputs have; None where it follows them."""
    if (domain, node.op_type) == ("com.microsoft", "MurmurHash3"):
        is_signed = any(each.name == "positive" and each.i == 0 for each in node.attribute)
        return "int32" if is_signed else "uint32"
    return OWN_ELEMENT.get((domain, node.op_type, index))


_INFERRED_WRONGLY: Final = ("Attention", "SVMClassifier")
"""Ops whose inference in the onnx package is not used: that of Attention takes symbolic dims for 0, and an
SVMClassifier without probabilities scores pairs of classes in all runtimes."""


def formal_of(signature: Signature, index: int) -> Formal | None:
    if not signature.outputs:
        return None
    return signature.outputs[min(index, len(signature.outputs) - 1)]


class ResultTypes:
    """Types of the values of one graph, by name."""

    def __init__(self, inferred: Mapping[str, TypeProto], declared: Mapping[str, TypeProto]) -> None:
        self.inferred = inferred
        self.declared = declared

    def known(self, name: str) -> Attribute | None:
        proto = self.inferred.get(name)
        return None if proto is None else _type_or_none(proto)

    def of_foreign(self, name: str, operands: Sequence[SSAValue], like_input: int = 0) -> Attribute:
        """Type of a result of an op nobody here knows: as declared, else like that of an input."""
        proto = self.declared.get(name)
        found = None if proto is None else _type_or_none(proto)
        if found is not None:
            return found
        like = first_tensor_type([operand.type for operand in operands[like_input:]])
        element = None if like is None else element_of(like)
        return unranked(element if element is not None else ELEMENT_TYPES["float"])

    def of_standard(
        self, node: NodeProto, domain: str, signature: Signature, operands: Sequence[SSAValue]
    ) -> list[Attribute]:
        """One type per output of a node without subgraphs."""
        bound = bound_types(signature, operands)
        only = only_types(domain, node.op_type)
        types: list[Attribute] = []
        asked: Mapping[str, TypeProto] | None = None
        for index, name in enumerate(node.output):
            formal = formal_of(signature, index)
            found = None if node.op_type in _INFERRED_WRONGLY else self.known(name)
            if found is None and formal is not None:
                found = bound.get(formal.type_parameter) or only.get(formal.type_parameter)
            if found is None:
                asked = _asked(node, domain, operands) if asked is None else asked
                found = self._last_resort(name, asked, operands)
            types.append(found)
        return types

    def _last_resort(
        self, name: str, asked: Mapping[str, TypeProto], operands: Sequence[SSAValue]
    ) -> Attribute:
        proto = asked.get(name)
        found = None if proto is None else _type_or_none(proto)
        return found if found is not None else self.of_foreign(name, operands)


def _type_or_none(proto: TypeProto) -> Attribute | None:
    try:
        return type_of_proto(proto)
    except ModelError:
        return None


def _asked(node: NodeProto, domain: str, operands: Sequence[SSAValue]) -> Mapping[str, TypeProto]:
    """What the standard's own inference function says about one node; nothing when it refuses."""
    schema = defs.get_schema(node.op_type, domain)
    types: dict[str, TypeProto] = {}
    for name, operand in zip(node.input, operands, strict=False):
        if name and not isinstance(operand.type, NoneType):
            types[name] = proto_of_type(operand.type)
    try:
        return shape_inference.infer_node_outputs(schema, node, types)
    except (InferenceError, ValidationError, defs.SchemaError, ValueError, RuntimeError):
        return {}


def merged(first: Attribute, second: Attribute) -> Attribute | None:
    """The most precise type that holds values of both; None when there is none."""
    if first == second:
        return first
    one, other = element_of(first), element_of(second)
    if one is None or one != other:
        return None
    if isinstance(first, TensorType) and isinstance(second, TensorType):
        dims, others = first.get_shape(), second.get_shape()
        if len(dims) == len(others):
            return TensorType(
                one, [a if a == b else DYNAMIC_INDEX for a, b in zip(dims, others, strict=True)]
            )
    return unranked(one)
