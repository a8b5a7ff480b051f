"""Does one value or one op of a model agree with one expression of a pattern? No search, no state."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from xdsl.ir import Operation, SSAValue

from onnxloom.dialects.onnx import ConstantOp, CustomOp
from onnxloom.dialects.onnx.access import attr, is_none
from onnxloom.transforms.rewriting.declarative.closeness import (
    attribute_value,
    is_close,
    is_same_attribute,
)
from onnxloom.transforms.rewriting.declarative.expressions import (
    Constant,
    Ints,
    Literal,
    OpCall,
    Parameter,
    Scalar,
    Tensor,
)
from onnxloom.transforms.rewriting.graph_index import GraphIndex


def is_same_value(a: SSAValue, b: SSAValue) -> bool:
    """Whether two values are one: the same, both left out, or constants written twice."""
    if a is b:
        return True
    if is_none(a) or is_none(b):
        return is_none(a) and is_none(b)
    first, second = a.owner, b.owner
    if not isinstance(first, ConstantOp) or not isinstance(second, ConstantOp):
        return False
    return first.value is not None and first.value == second.value


def attribute_problem(
    expected: OpCall, attributes: Sequence[tuple[str, Any]], op: Operation, rtol: float | None
) -> str | None:
    """What is wrong with the attributes of an op, or with the name of a foreign one."""
    if expected.foreign is not None and not _is_foreign(op, expected.foreign):
        return f"expected {expected}"
    for name, value in attributes:
        found = attribute_value(attr(op, name))
        if not is_same_attribute(found, value, rtol):
            return f"{name} is {found!r}; expected {value!r}"
    return None


def _is_foreign(op: Operation, foreign: tuple[str, str]) -> bool:
    custom = cast(CustomOp, op)
    return (custom.domain_name.data, custom.function_name.data) == foreign


def leaf_problem(
    graph: GraphIndex, tensor: Tensor, value: SSAValue, op: Operation, rtol: float | None
) -> str | None:
    """Why a value is not the number or the boundary input that stands there.

    A template for the expression, the value and the op that reads it: put together only when wanted.
    """
    if isinstance(tensor, Literal):
        return _literal_problem(graph, tensor, value, op, rtol)
    assert isinstance(tensor, Parameter)
    if is_none(value):
        return None if tensor.may_be_absent else "{0}: {2} has no such input"
    if tensor.accepts is Scalar:
        problem = _scalar_problem(graph, value, op)
        if problem is None and graph.constant_scalar(value, broadcast=True) is None:
            return "{0}: {1} is constant, but not a number that is known yet"
        return problem
    if tensor.accepts is Ints:
        return None if graph.constant_ints(value) is not None else "{0} is {1}; expected constant integers"
    if tensor.accepts is Constant:
        return None if graph.is_constant(value) else "{0} is {1}; expected a constant"
    return None


def _literal_problem(
    graph: GraphIndex, literal: Literal, value: SSAValue, op: Operation, rtol: float | None
) -> str | None:
    shape = None if is_none(value) else graph.constant_shape(value)
    if shape is None:
        return "expected the constant {0}, found {1}"
    if literal.array.ndim == 0:
        problem = _scalar_problem(graph, value, op)
        if problem is not None:
            return problem
    elif shape != literal.array.shape:
        return "expected the constant {0}, found one of another shape, {1}"
    array = graph.constant(value)
    if array is None or not is_close(array, literal.array, rtol):
        return "expected the constant {0}, found another one, {1}"
    return None


def _scalar_problem(graph: GraphIndex, value: SSAValue, op: Operation) -> str | None:
    """One element, and a rank that another operand of the reader has too: it must not raise the result's."""
    shape = graph.constant_shape(value)
    if shape is None or any(dim != 1 for dim in shape):
        return "{0}: expected a constant of one element, found {1}"
    if not shape:
        return None
    ranks = [graph.rank(operand) for operand in op.operands if operand is not value]
    if any(rank is not None and rank >= len(shape) for rank in ranks):
        return None
    return "{0}: the constant may raise the rank of {2}"
