"""Which element types do the results of an op have whose shape function a user gave?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.dialects.builtin import NoneType
from xdsl.ir import Attribute, SSAValue

from onnxloom.conversion.onnx_import.result_types import unranked
from onnxloom.conversion.onnx_import.types import element_of
from onnxloom.dialects.custom_ops import CustomOp
from onnxloom.transforms.dim_analysis.custom_results import count_given, custom_results
from onnxloom.transforms.dim_analysis.dim_expr import DimExpr, Symbol
from onnxloom.transforms.dim_analysis.facts import TensorFacts, static_dims


def custom_types(
    op: CustomOp,
    operands: Sequence[SSAValue],
    guessed: Sequence[Attribute],
    attributes: Mapping[str, Attribute],
    title: str,
) -> list[Attribute]:
    """The types of the results: `guessed` where the function says nothing or the same; shapes are inferred
    later.

    Raises:
        CustomOpError: the shape function raises, or gives what is no type of a tensor.
    """
    given = operands[: count_given(operands)]
    facts = [_facts(index, operand) for index, operand in enumerate(given)]
    said = custom_results(op, facts, attributes, title)
    types: list[Attribute] = list(guessed)
    for index, result in enumerate(said[: len(types)]):
        element = result.element
        if (
            element is not None
            and not isinstance(types[index], NoneType)
            and element_of(types[index]) != element
        ):
            types[index] = unranked(element)
    return types


def _facts(index: int, operand: SSAValue) -> TensorFacts | None:
    """What the type of an operand tells; its dynamic dims are symbols of their own."""
    element, dims = element_of(operand.type), static_dims(operand)
    if element is None:
        return None
    if dims is None:
        return TensorFacts(element, None)
    named = [
        DimExpr.of(Symbol(f"dim {axis} of input {index}") if dim is None else dim)
        for axis, dim in enumerate(dims)
    ]
    return TensorFacts(element, tuple(named))
