"""Which types do the results of an op have that a rewrite has just made?

Element types come from the op's definition (a type parameter that an operand binds, or the only type
allowed) and from inference; shapes from inference, symbolic dims included.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any, cast

from xdsl.dialects.builtin import NoneType, UnrankedTensorType
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import IRDLOperation, VarOperandDef, VarResultDef

from onnxloom.dialects.onnx.constraints import TypeSet
from onnxloom.dialects.onnx.structure import NoValueOp
from onnxloom.errors import PassError
from onnxloom.transforms.dim_analysis import DimAnalysis
from onnxloom.transforms.dim_analysis.facts import element_type
from onnxloom.transforms.dim_analysis.refined_type import set_type

_NONE = NoneType()
_UNKNOWN = UnrankedTensorType(_NONE)
"""Stands for a result whose element type inference has to tell."""


def padded(op_class: type[Operation], operands: Sequence[SSAValue | None]) -> list[SSAValue]:
    """All operands of an op; an absent one reads an `onnx.NoValue` of its own."""
    if not isinstance(cast(Any, op_class), type):
        raise PassError(f"making {op_class!r}: expected an op class such as onnx.AddOp")
    for value in operands:
        if value is not None and not isinstance(cast(Any, value), SSAValue):
            hint = "; take its `results[0]`" if isinstance(value, Operation) else ""
            raise PassError(f"making {op_class.name}: an operand is a {type(value).__name__}{hint}")
    count = _fixed_operands(op_class)
    wanted = [*operands, *[None] * max(0, count - len(operands))]
    return [NoValueOp.make().results[0] if value is None else value for value in wanted]


def declared_result_types(
    op_class: type[Operation],
    operands: Sequence[SSAValue],
    given: Sequence[Attribute] | None,
) -> Sequence[Attribute]:
    """The types as given, or element types as far as the operands tell them."""
    if given is not None:
        return given
    definitions = _results(op_class)
    if definitions is None:
        raise PassError(f"making {op_class.name}: its results vary in number; expected result_types")
    bound = _bound(op_class, operands)
    types: list[Attribute] = []
    for index, types_allowed in enumerate(definitions):
        if index > 0 and types_allowed.allows_none:
            types.append(_NONE)
            continue
        element = None if types_allowed.parameter is None else bound.get(types_allowed.parameter)
        if element is None and len(types_allowed.elements) == 1:
            element = next(iter(types_allowed.elements))
        types.append(_UNKNOWN if element is None else _unranked(element))
    return types


def settle_types(op: Operation, dims: DimAnalysis, *, may_never_run: bool) -> None:
    """Infers the results of a new op and gives them the types found.

    Raises PassError where nothing tells an element type.
    """
    dims.update(op, may_never_run=may_never_run)
    for result in op.results:
        refined = dims.refined_type(result)
        if refined is not None:
            set_type(result, refined)
        if element_type(result.type) == _NONE:
            raise PassError(f"making {op.name}: its result type cannot be told; expected result_types")


def _bound(op_class: type[Operation], operands: Sequence[SSAValue]) -> dict[str, Attribute]:
    """Type parameter -> element type of the first operand that binds it."""
    found: dict[str, Attribute] = {}
    definitions = _operands(op_class)
    for index, operand in enumerate(operands):
        if not definitions:
            break
        parameter = definitions[min(index, len(definitions) - 1)].parameter
        element = element_type(operand.type)
        if parameter is not None and element is not None:
            found.setdefault(parameter, element)
    return found


@cache
def _unranked(element: Attribute) -> Attribute:
    return UnrankedTensorType(element)


@cache
def _fixed_operands(op_class: type[Operation]) -> int:
    if not issubclass(op_class, IRDLOperation):
        return 0
    definitions = op_class.get_irdl_definition().operands
    return sum(not isinstance(definition, VarOperandDef) for _, definition in definitions)


@cache
def _operands(op_class: type[Operation]) -> tuple[TypeSet, ...]:
    if not issubclass(op_class, IRDLOperation):
        return ()
    definitions = op_class.get_irdl_definition().operands
    return tuple(_type_set(definition.constr) for _, definition in definitions)


@cache
def _results(op_class: type[Operation]) -> tuple[TypeSet, ...] | None:
    """None when the number of results varies."""
    if not issubclass(op_class, IRDLOperation):
        return None
    definitions = op_class.get_irdl_definition().results
    if any(isinstance(definition, VarResultDef) for _, definition in definitions):
        return None
    return tuple(_type_set(definition.constr) for _, definition in definitions)


def _type_set(constraint: Any) -> TypeSet:
    """The set inside the range constraints xDSL wraps around it; an empty one for anything else."""
    inner = getattr(constraint, "constraint", constraint)
    inner = getattr(inner, "constr", inner)
    return inner if isinstance(inner, TypeSet) else _ANYTHING


_ANYTHING = TypeSet.of()
