"""Random expressions match what is built from them, operands swapped and alternatives chosen at random.

And the same graph with one op replaced is not matched.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest
from ir_graphs import graph, scalar

from onnxloom.dialects.onnx.text import parse_module
from onnxloom.transforms.rewriting.declarative import (
    DeclarativePattern,
    Inputs,
    Match,
    Tensor,
    one_of,
    op,
    pattern,
)
from onnxloom.transforms.rewriting.graph_index import GraphIndex
from onnxloom.transforms.rewriting.pattern import MatchResult

UNARY = ("Abs", "Cos", "Erf", "Exp", "Neg", "Sin", "Tanh")
COMMUTATIVE = ("Add", "Mul", "Max", "Min")
ORDERED = ("Sub", "Div", "Pow")
NUMBERS = (0.5, 1.0, 2.0)

Step = tuple[str, tuple[Any, ...]]
"""An op and its operands: numbers of earlier steps, -1 for the input, floats for constants."""


def random_steps(choose: random.Random, size: int) -> list[Step]:
    """Every step but the last is read by a later one."""
    steps: list[Step] = []
    unread: list[int] = []
    for index in range(size):
        name = choose.choice(UNARY + COMMUTATIVE + ORDERED) if index else choose.choice(UNARY)
        count = 1 if name in UNARY else 2
        operands: list[Any] = []
        for position in range(count):
            if unread and (position == 0 or choose.random() < 0.7):
                operands.append(unread.pop(choose.randrange(len(unread))))
            elif position and choose.random() < 0.4:
                operands.append(choose.choice(NUMBERS))
            else:
                operands.append(choose.randrange(-1, index))
        choose.shuffle(operands)
        steps.append((name, tuple(operands)))
        unread.append(index)
    while len(unread) > 1:
        steps.append(("Mul", (unread.pop(), unread.pop())))
        unread.append(len(steps) - 1)
    return steps


def expression(steps: list[Step], alternatives: dict[int, str]) -> Callable[[Tensor], Tensor]:
    """The steps as a pattern function; those in `alternatives` may be another op as well."""

    def function(x: Tensor) -> Tensor:
        made: list[Tensor] = []
        builders: Any = op
        for index, (name, operands) in enumerate(steps):
            given = [x if o == -1 else made[o] if isinstance(o, int) else o for o in operands]
            value = builders.__getattr__(name)(*given)
            if index in alternatives:
                value = one_of(builders.__getattr__(alternatives[index])(*given), value)
            made.append(value)
        return made[-1]

    return function


def spelled(steps: list[Step], choose: random.Random, alternatives: dict[int, str]) -> str:
    """The steps as IR, commutative operands in any order, one of the alternatives."""
    lines = [scalar(f"%c{number}", repr(value)) for number, value in enumerate(NUMBERS)]
    for index, (name, operands) in enumerate(steps):
        values = [
            "%x" if o == -1 else f"%v{o}" if isinstance(o, int) else f"%c{NUMBERS.index(o)}" for o in operands
        ]
        if name in COMMUTATIVE and choose.random() < 0.5:
            values.reverse()
        if index in alternatives and choose.random() < 0.5:
            name = alternatives[index]
        lines.append(f"%v{index} = {name} {' '.join(values)}")
    return graph(*lines, returns=f"%v{len(steps) - 1}")


def matches(kind: type[DeclarativePattern], text: str) -> bool:
    main: Any = next(iter(parse_module(text).ops))
    last = main.body.block.last_op.prev_op
    index = GraphIndex(main)
    explained = kind().attempt(index, last, is_explaining=True)
    found = kind().match(index, last)
    assert isinstance(found, MatchResult) == isinstance(explained, MatchResult)
    return isinstance(found, MatchResult)


@pytest.mark.parametrize("seed", range(60))
def test_an_expression_matches_what_it_spells(seed: int):
    choose = random.Random(seed)
    steps = random_steps(choose, choose.randint(2, 12))
    unary = [index for index, (name, _) in enumerate(steps) if name in UNARY]
    alternatives = {index: choose.choice(UNARY) for index in unary if choose.random() < 0.3}

    class Random(DeclarativePattern):
        whole = pattern(expression(steps, alternatives))

        def replacement(self, inputs: Inputs, match: Match) -> Tensor:
            return inputs.x

    for _ in range(3):
        assert matches(Random, spelled(steps, choose, alternatives))
    broken = choose.choice([index for index in unary if index not in alternatives] or [0])
    wrong = [*steps]
    wrong[broken] = ("Sigmoid", steps[broken][1])
    without = {index: other for index, other in alternatives.items() if index != broken}
    if broken not in alternatives:
        assert not matches(Random, spelled(wrong, choose, without))
