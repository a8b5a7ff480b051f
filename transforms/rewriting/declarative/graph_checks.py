"""What can be wrong with the expressions of a pattern function? Each check raises TypeError or ValueError."""

from __future__ import annotations

from collections.abc import Sequence

from onnxloom.transforms.rewriting.declarative.expressions import (
    Bound,
    Choice,
    OpCall,
    Parameter,
    Result,
    Tensor,
)
from onnxloom.transforms.rewriting.declarative.signature import signature_of
from onnxloom.transforms.rewriting.declarative.walk import operands_of


def check_all_used(
    where: str, parameters: Sequence[Parameter], made: Sequence[OpCall], values: Sequence[Tensor]
) -> None:
    used = set(values)
    for parameter in parameters:
        if parameter not in used:
            raise ValueError(f"{where}: parameter {parameter.name!r} is not part of what is returned")
    used_ops = {value.op for value in values if isinstance(value, Result)}
    for op in made:
        if op not in used_ops:
            raise ValueError(
                f"{where}: {op} ({op.location}) is not part of what is returned; expected every op to be"
            )
    for value in values:
        if isinstance(value, Bound):
            raise TypeError(f"{where}: uses a value of the IR; expected parameters, numbers and ops")
    for op in made:
        for index, operand in enumerate(op.operands):
            if isinstance(operand, Parameter) and operand.is_rest:
                _check_rest(where, op, index, operand)


def _check_rest(where: str, op: OpCall, index: int, parameter: Parameter) -> None:
    is_variadic = op.foreign is not None or signature_of(op.op_class).operand(index).is_variadic
    if not is_variadic or index != len(op.operands) - 1:
        raise TypeError(
            f"{where}: parameter {parameter.name!r} is Tensors; expected as the last operand of an op that "
            f"takes any number of them, not as operand {index} of {op}"
        )


def check_presence(where: str, outputs: Sequence[Tensor], parameters: Sequence[Parameter]) -> None:
    """A parameter that some alternatives lack must be declared so: the replacement gets None for it."""
    memo: dict[Tensor, frozenset[Parameter]] = {}
    always = frozenset[Parameter]().union(*(_always_bound(output, memo) for output in outputs))
    for parameter in parameters:
        if parameter not in always and not parameter.may_be_absent and not parameter.is_rest:
            raise TypeError(
                f"{where}: parameter {parameter.name!r} is missing from some alternatives; "
                f"declare it '{parameter.accepts.__name__} | None'"
            )


def _always_bound(value: Tensor, memo: dict[Tensor, frozenset[Parameter]]) -> frozenset[Parameter]:
    if isinstance(value, Parameter):
        return frozenset({value})
    if value not in memo:
        parts = [_always_bound(operand, memo) for operand in operands_of(value)]
        empty = frozenset[Parameter]()
        memo[value] = parts[0].intersection(*parts) if isinstance(value, Choice) else empty.union(*parts)
    return memo[value]


def check_names(where: str, names: Sequence[str]) -> None:
    for name in names:
        if names.count(name) > 1:
            raise ValueError(
                f"{where}: the name {name!r} stands for two values; captures and parameters share names"
            )
