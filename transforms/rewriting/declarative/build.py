"""How does the expression of a replacement become ops?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import NoneType, UnrankedTensorType
from xdsl.ir import Attribute, Operation, SSAValue

from onnxloom.dialects.onnx import CustomOp
from onnxloom.dialects.onnx.access import to_attribute
from onnxloom.dialects.onnx.constraints import TypeSet
from onnxloom.dialects.onnx.dtypes import ELEMENT_TO_DTYPE
from onnxloom.dialects.onnx.element_types import ELEMENT_TYPES
from onnxloom.transforms.dim_analysis.facts import element_type
from onnxloom.transforms.rewriting.declarative.combinators import FreeAttribute
from onnxloom.transforms.rewriting.declarative.expressions import Bound, Literal, OpCall, Result, Tensor
from onnxloom.transforms.rewriting.declarative.signature import signature_of
from onnxloom.transforms.rewriting.declarative.walk import operands_of
from onnxloom.transforms.rewriting.graph_index import GraphIndex
from onnxloom.transforms.rewriting.pattern import Replacement

_UNKNOWN = UnrankedTensorType(NoneType())
"""A result whose type inference tells."""

_INT64 = ELEMENT_TYPES["int64"]


def check_replacement(where: str, given: object, outputs: int) -> tuple[Tensor, ...]:
    """What `replacement` returned, as one expression per output.

    Raises TypeError or ValueError for what cannot be built.
    """
    found = cast(tuple[Any, ...], given if isinstance(given, tuple) else (given,))
    for value in found:
        if not isinstance(value, Bound | Result):
            raise TypeError(f"{where}: replacement returns {value!r}; expected an op or one of its inputs")
    if len(found) != outputs:
        raise ValueError(
            f"{where}: replacement returns {len(found)} values; expected {outputs}, as the pattern"
        )
    for value in _parts(found):
        if not isinstance(value, Bound | Result | Literal):
            raise TypeError(f"{where}: replacement uses {value}; expected inputs, numbers, arrays and ops")
        if isinstance(value, Result):
            _check_attributes(where, value.op)
    return found


def _check_attributes(where: str, op: OpCall) -> None:
    for name, value in op.attributes.items():
        if isinstance(value, FreeAttribute):
            raise TypeError(f"{where}: replacement leaves {name} of {op} free; expected match.attribute(...)")


def _parts(outputs: Sequence[Tensor]) -> Iterator[Tensor]:
    seen: set[Tensor] = set()
    waiting = list(outputs)
    while waiting:
        value = waiting.pop()
        if value not in seen:
            seen.add(value)
            yield value
            waiting.extend(operands_of(value))


def type_problem(outputs: Sequence[Tensor]) -> str | None:
    """Why an op of the replacement does not take an input of the match."""
    for value in _parts(outputs):
        if not isinstance(value, Result) or value.op.foreign is not None:
            continue
        signature = signature_of(value.op.op_class)
        for index, operand in enumerate(value.op.operands):
            if not isinstance(operand, Bound):
                continue
            element = element_type(operand.value.type)
            types = signature.operand(index).types
            if element is not None and types.elements and element not in types.elements:
                return f"{value.op} does not take {element}; expected {types.describe()}"
    return None


class Builder:
    """Makes the ops of one replacement."""

    def __init__(self, graph: GraphIndex, anchor: Operation) -> None:
        self.graph = graph
        self.anchor = anchor
        self.ops: list[Operation] = []
        self._made: dict[OpCall, Operation] = {}
        self._constants: dict[tuple[str, tuple[int, ...], bytes], SSAValue] = {}
        self._types: dict[OpCall, Attribute] = {}
        self._named: OpCall | None = None

    def build(self, outputs: Sequence[Tensor], replaced: Sequence[SSAValue]) -> Replacement:
        """The ops for `outputs`, which take the place of the values `replaced`."""
        for output, value in zip(outputs, replaced, strict=True):
            if isinstance(output, Result) and output.index == 0:
                self._types[output.op] = value.type
                self._named = self._named or output.op
        values = {old: self._value(new) for new, old in zip(outputs, replaced, strict=True)}
        return Replacement(self.ops, values)

    def _value(self, tensor: Tensor) -> SSAValue:
        if isinstance(tensor, Bound):
            return tensor.value
        assert isinstance(tensor, Result), "literals are made where they are read"
        return self._op(tensor.op).results[tensor.index]

    def _op(self, call: OpCall) -> Operation:
        if call not in self._made:
            self._made[call] = self._make(call)
        return self._made[call]

    def _make(self, call: OpCall) -> Operation:
        known = {
            index: self._value(operand)
            for index, operand in enumerate(call.operands)
            if operand is not None and not isinstance(operand, Literal)
        }
        operands = [
            self._constant(call, index, operand, known) if isinstance(operand, Literal) else known.get(index)
            for index, operand in enumerate(call.operands)
        ]
        # Node names are unique: of several outputs the first has that of what is replaced.
        name_from = self.anchor if call is self._named else None
        if call.foreign is not None:
            op = self._make_foreign(call, operands)
        else:
            op = self.graph.make(
                call.op_class,
                operands,
                result_types=_result_types(call),
                name_from=name_from,
                **call.attributes,
            )
        self.ops.append(op)
        return op

    def _make_foreign(self, call: OpCall, operands: Sequence[SSAValue | None]) -> Operation:
        assert call.foreign is not None
        types = call.result_types
        if types is None:
            if call not in self._types:
                raise ValueError(
                    f"op.custom {call} ({call.location}): expected result_types, it is no output"
                )
            types = [self._types[call]]
        domain, name = call.foreign
        # Inference knows nothing of it, so it is not asked.
        made = self.graph.make(
            CustomOp,
            operands,
            result_types=types,
            function_name=name,
            domain_name=domain,
        )
        made.attributes.update({name: to_attribute(value) for name, value in call.attributes.items()})
        return made

    def _constant(
        self, call: OpCall, index: int, literal: Literal, siblings: Mapping[int, SSAValue]
    ) -> SSAValue:
        array = (
            literal.array
            if literal.is_array
            else literal.array.astype(_dtype(call, index, literal, siblings))
        )
        key = (array.dtype.name, array.shape, array.tobytes())
        if key not in self._constants:
            op = self.graph.make_constant(array)
            self.ops.append(op)
            self._constants[key] = op.results[0]
        return self._constants[key]


def _result_types(call: OpCall) -> Sequence[Attribute] | None:
    """None where the op has one result: its type is inferred."""
    signature = signature_of(call.op_class)
    if call.result_count == 1 and not signature.has_variadic_results:
        return None
    absent = 0 if signature.has_variadic_results else len(signature.results) - call.result_count
    return [_UNKNOWN] * call.result_count + [NoneType()] * absent


def _dtype(call: OpCall, index: int, literal: Literal, siblings: Mapping[int, SSAValue]) -> np.dtype[Any]:
    """The element type of a plain number: that of the operand it is combined with, or what the op demands."""
    types = TypeSet.of()
    if call.foreign is None:
        signature = signature_of(call.op_class)
        types = signature.operand(index).types
        for other, value in siblings.items():
            element = element_type(value.type)
            same = types.parameter is not None and signature.operand(other).types.parameter == types.parameter
            if same and element is not None:
                return ELEMENT_TO_DTYPE[element]
    if literal.array.dtype.kind == "i" and _INT64 in types.elements:
        return np.dtype(np.int64)
    if len(types.elements) == 1:
        return ELEMENT_TO_DTYPE[next(iter(types.elements))]
    raise ValueError(
        f"{call} ({call.location}): the element type of {literal} is not clear; expected an array"
    )
