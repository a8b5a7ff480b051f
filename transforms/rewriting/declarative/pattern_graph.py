"""Does a pattern function describe something that can be matched? It runs once, when its class is made."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, cast

from xdsl.ir import Operation, SSAValue

from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.access import to_attribute
from onnxloom.transforms.rewriting.declarative.closeness import attribute_value
from onnxloom.transforms.rewriting.declarative.combinators import FreeAttribute
from onnxloom.transforms.rewriting.declarative.expressions import (
    Choice,
    OpCall,
    Parameter,
    PatternFunction,
    Result,
    Tensor,
    recorded_calls,
)
from onnxloom.transforms.rewriting.declarative.graph_checks import (
    check_all_used,
    check_names,
    check_presence,
)
from onnxloom.transforms.rewriting.declarative.location import Location
from onnxloom.transforms.rewriting.declarative.op import UnknownOp
from onnxloom.transforms.rewriting.declarative.parameters import parameters_of
from onnxloom.transforms.rewriting.declarative.signature import default_of, signature_of
from onnxloom.transforms.rewriting.declarative.walk import ancestors, makers_of, most_ops

COMMUTATIVE: Final = frozenset(
    {
        onnx.AddOp,
        onnx.AndOp,
        onnx.BitwiseAndOp,
        onnx.BitwiseOrOp,
        onnx.BitwiseXorOp,
        onnx.EqualOp,
        onnx.MaxOp,
        onnx.MeanOp,
        onnx.MinOp,
        onnx.MulOp,
        onnx.OrOp,
        onnx.SumOp,
        onnx.XorOp,
    }
)
"""Ops of two operands, or of any number, that may be in any order."""


@dataclass(frozen=True, eq=False)
class PatternGraph:
    """What one pattern function describes."""

    name: str
    location: Location
    parameters: tuple[Parameter, ...]
    outputs: tuple[Tensor, ...]
    roots: tuple[tuple[Tensor, Result], ...]
    """What a match starts from: the output with the last op, and each op it may be made by."""

    side_steps: tuple[tuple[OpCall, int], ...]
    """Ops the last one does not depend on, each with an operand that is known once those before are found."""

    captures: tuple[Tensor, ...]
    results: Mapping[OpCall, tuple[Result, ...]]
    """The results of each op that the expressions use."""

    attributes: Mapping[OpCall, tuple[tuple[str, Any], ...]]
    """What attributes must be: given in the pattern, else the schema's default, else absent."""

    free_attributes: Mapping[OpCall, tuple[tuple[str, str], ...]]
    """Attributes that may have any value, each with the name it is known under."""

    op_count: int
    """Ops of a match, with the longest of all alternatives."""

    makers: Mapping[Tensor, frozenset[type[Operation]] | None]
    """The classes of the ops that may make a value; None for anything, parameters and numbers included."""

    def may_be(self, tensor: Tensor, value: SSAValue) -> bool:
        """A look at the op that makes a value, and no further."""
        classes = self.makers[tensor]
        return classes is None or type(value.owner) in classes

    def may_end_with(self, op: Operation, commute: bool) -> bool:
        """A look at an op and the makers of its operands: what a search would find out first."""
        operands = op.operands
        for _, root in self.roots:
            wanted = root.op.operands
            if root.op.op_class is not type(op):
                continue
            if len(wanted) != 2 or len(operands) != 2 or None in wanted:
                return True
            (a, b), (x, y) = wanted, operands
            assert a is not None and b is not None
            if self.may_be(a, x) and self.may_be(b, y):
                return True
            if commute and type(op) in COMMUTATIVE and self.may_be(a, y) and self.may_be(b, x):
                return True
        return False

    @property
    def start_ops(self) -> tuple[type[Operation], ...]:
        return tuple(dict.fromkeys(root.op.op_class for _, root in self.roots))


def graph_of(owner: str, name: str, function: PatternFunction) -> PatternGraph:
    """Runs a pattern function on placeholders and checks what it gives.

    Raises:
        TypeError, ValueError: with what to write instead.
    """
    code = function.__code__
    location = Location(code.co_filename, code.co_firstlineno)
    where = f"{owner}.{name}"
    parameters = parameters_of(where, function)
    made: list[OpCall] = []
    token = recorded_calls.set(made)
    try:
        given: Any = function(*parameters)
    except UnknownOp as error:
        raise TypeError(f"{where}: {error}") from None
    except (TypeError, ValueError) as error:
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(f"{where}: {error}") from error
    finally:
        recorded_calls.reset(token)
    outputs = _outputs(where, given)
    values = list(ancestors(outputs))
    check_all_used(where, parameters, made, values)
    check_presence(where, outputs, parameters)
    captures = tuple(value for value in values if value.capture_name is not None)
    check_names(where, [*(p.name for p in parameters), *(str(c.capture_name) for c in captures)])
    roots = _roots(where, outputs, made)
    return PatternGraph(
        name=where,
        location=location,
        parameters=parameters,
        outputs=outputs,
        roots=roots,
        side_steps=_side_steps(where, roots[0][0], outputs, made),
        captures=captures,
        results={op: tuple(v for v in values if isinstance(v, Result) and v.op is op) for op in made},
        attributes={op: tuple(_expected_attributes(op)) for op in made},
        free_attributes={op: tuple(_free_attributes(op)) for op in made},
        op_count=len(most_ops(outputs)),
        makers={value: makers_of(value) for value in values},
    )


def _expected_attributes(op: OpCall) -> Iterator[tuple[str, Any]]:
    names = tuple(op.attributes) if op.foreign is not None else signature_of(op.op_class).attributes
    for name in names:
        value = op.attributes.get(name)
        if isinstance(value, FreeAttribute):
            continue
        if value is None:
            yield name, attribute_value(default_of(op.op_class, name))
        else:
            yield name, attribute_value(to_attribute(value, op.op_class, name))


def _free_attributes(op: OpCall) -> Iterator[tuple[str, str]]:
    for name, value in op.attributes.items():
        if isinstance(value, FreeAttribute):
            yield name, value.name


def _outputs(where: str, given: object) -> tuple[Tensor, ...]:
    outputs = cast(tuple[Any, ...], given if isinstance(given, tuple) else (given,))
    if not outputs:
        raise TypeError(f"{where}: returns nothing; expected the outputs of the pattern")
    for output in outputs:
        if isinstance(output, Parameter):
            raise ValueError(f"{where}: returns its parameter {output.name!r}; expected the result of an op")
        if not isinstance(output, Result | Choice):
            raise TypeError(f"{where}: returns {output!r}; expected the result of an op, or a tuple of them")
    if len({id(output) for output in outputs}) != len(outputs):
        raise ValueError(f"{where}: returns the same value twice")
    return outputs


def _producers(value: Tensor) -> Iterator[Result]:
    """The op results a value may be."""
    if isinstance(value, Result):
        yield value
    if isinstance(value, Choice):
        for option in value.options:
            yield from _producers(option)


def _roots(
    where: str, outputs: Sequence[Tensor], made: Sequence[OpCall]
) -> tuple[tuple[Tensor, Result], ...]:
    order = {op: index for index, op in enumerate(made)}
    last = max(outputs, key=lambda output: max((order[p.op] for p in _producers(output)), default=-1))
    options = last.options if isinstance(last, Choice) else (last,)
    for option in options:
        if next(_producers(option), None) is None:
            raise ValueError(
                f"{where}: returns {option}, which no op makes; expected an op in each alternative"
            )
    return tuple((last, root) for root in _producers(last))


def _side_steps(
    where: str, last: Tensor, outputs: Sequence[Tensor], made: Sequence[OpCall]
) -> tuple[tuple[OpCall, int], ...]:
    """From the last op a match walks to producers, then from values it knows to other readers of them."""
    known = set(ancestors([last]))
    missing = [value for value in ancestors(outputs) if value not in known]
    if any(isinstance(value, Choice) for value in missing):
        raise ValueError(f"{where}: alternatives may only stand in front of the last op, {last}")
    waiting = [op for op in made if any(isinstance(v, Result) and v.op is op for v in missing)]
    steps: list[tuple[OpCall, int]] = []
    while waiting:
        ready = [(op, index) for op in waiting if (index := _known_operand(op, known)) is not None]
        if not ready:
            raise ValueError(
                f"{where}: {waiting[0]} ({waiting[0].location}) has no input in common with {last}"
            )
        steps.append(ready[0])
        found = [value for value in missing if isinstance(value, Result) and value.op is ready[0][0]]
        known.update(ancestors(found))
        waiting = [op for op in waiting if not any(isinstance(v, Result) and v.op is op for v in known)]
    return tuple(steps)


def _known_operand(op: OpCall, known: set[Tensor]) -> int | None:
    for index, operand in enumerate(op.operands):
        if operand in known and isinstance(operand, Parameter | Result) and not _is_rest(operand):
            return index
    return None


def _is_rest(value: Tensor) -> bool:
    return isinstance(value, Parameter) and value.is_rest
