"""What does the equation of an Einsum say? The labels of each input and of the result."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from onnxloom.conversion.onnx_to_loom.decline import Declined

Labels = tuple[str, ...]
"""A letter per dim; a dim of the ellipsis is the number of dims from it to the end of the ellipsis."""

_TERM = re.compile(r"[A-Za-z]*(\.\.\.[A-Za-z]*)?")


@dataclass(frozen=True)
class Equation:
    """Labels by operand, and those of the result."""

    inputs: Sequence[Labels]
    output: Labels


def parse_equation(equation: str, ranks: Sequence[int]) -> Equation:
    """Reads an equation for operands of these ranks.

    Raises:
        Declined: it is malformed, or does not fit the operands.
    """
    terms, arrow, result = equation.replace(" ", "").partition("->")
    inputs = terms.split(",")
    if any(not _TERM.fullmatch(term) for term in (*inputs, result)):
        raise Declined(f"equation {equation!r} is malformed")
    if len(inputs) != len(ranks):
        raise Declined(f"equation {equation!r} has {len(inputs)} terms for {len(ranks)} operands")
    labels = [_labels(term, rank) for term, rank in zip(inputs, ranks, strict=True)]
    depth = max((len(_hidden(row)) for row in labels), default=0)
    hidden = tuple(str(n) for n in range(depth, 0, -1))
    if not arrow:
        letters = terms.replace(",", "").replace(".", "")
        return Equation(labels, (*hidden, *sorted(c for c in letters if letters.count(c) == 1)))
    head, dots, tail = result.partition("...")
    if hidden and not dots:
        raise Declined(f"equation {equation!r} leaves the dims of its ellipsis out")
    output = (*head, *(hidden if dots else ()), *tail)
    if len(set(output)) < len(output) or not {*output} <= {label for row in labels for label in row}:
        raise Declined(f"the result of equation {equation!r} has labels twice, or ones of no operand")
    return Equation(labels, output)


def _labels(term: str, rank: int) -> Labels:
    head, dots, tail = term.partition("...")
    hidden = rank - len(head) - len(tail)
    if hidden < 0 or (hidden and not dots):
        raise Declined(f"term {term!r} does not fit an operand of {rank} dims")
    return (*head, *(str(n) for n in range(hidden, 0, -1)), *tail)


def _hidden(labels: Labels) -> Labels:
    return tuple(label for label in labels if label.isdigit())
