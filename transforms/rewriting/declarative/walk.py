"""What is an expression made of?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from xdsl.ir import Operation

from onnxloom.transforms.rewriting.declarative.expressions import Choice, OpCall, Result, Tensor


def operands_of(value: Tensor) -> tuple[Tensor, ...]:
    """The expressions a value is directly made of."""
    if isinstance(value, Choice):
        return value.options
    if isinstance(value, Result):
        return tuple(operand for operand in value.op.operands if operand is not None)
    return ()


def ancestors(outputs: Sequence[Tensor]) -> Iterator[Tensor]:
    """The outputs and all they are made of, once each."""
    seen: set[Tensor] = set()
    waiting = list(reversed(outputs))
    while waiting:
        value = waiting.pop()
        if value in seen:
            continue
        seen.add(value)
        yield value
        waiting.extend(reversed(operands_of(value)))


def most_ops(values: Sequence[Tensor]) -> frozenset[OpCall]:
    """The ops that make some values, of alternatives the one with the most."""
    known: dict[Tensor, frozenset[OpCall]] = {}
    return frozenset[OpCall]().union(*(_count(value, known) for value in values))


def _count(value: Tensor, known: dict[Tensor, frozenset[OpCall]]) -> frozenset[OpCall]:
    if value not in known:
        parts = [_count(operand, known) for operand in operands_of(value)]
        if isinstance(value, Choice):
            known[value] = max(parts, key=len)
        else:
            own = frozenset({value.op}) if isinstance(value, Result) else frozenset[OpCall]()
            known[value] = own.union(*parts)
    return known[value]


def makers_of(value: Tensor) -> frozenset[type[Operation]] | None:
    """The classes of the ops that may make a value; None where anything may stand."""
    if isinstance(value, Result):
        return frozenset({value.op.op_class})
    if not isinstance(value, Choice):
        return None
    found: set[type[Operation]] = set()
    for option in value.options:
        classes = makers_of(option)
        if classes is None:
            return None
        found |= classes
    return frozenset(found)
