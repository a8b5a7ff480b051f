"""How does `--verify-diagnostics` decide? Every expected message comes, and no other.

A comment `// expected-error@+1 {{text}}` expects an error whose message contains `text` one line below.
`@-1`, `@above`, `@below`, a count (`{{..}}` preceded by `2`), and `expected-warning` work as in mlir-opt;
`@unknown` expects a message without a known line.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from onnxloom.tools.failures import CommandLineError

_EXPECTATION = re.compile(
    r"expected-(?P<kind>error|warning)"
    r"(?:@(?P<place>[+-]\d+|above|below|unknown))?"
    r"\s*(?P<count>\d+)?\s*\{\{(?P<text>.*?)\}\}"
)
_ANY_EXPECTATION = re.compile(r"//.*expected-(?:error|warning|note|remark)")


@dataclass(frozen=True)
class Message:
    """A diagnostic that was produced."""

    kind: str
    text: str
    line: int | None


@dataclass(frozen=True)
class Expectation:
    """A diagnostic that the input asks for; `line` is None for one without a known line."""

    kind: str
    text: str
    line: int | None
    written_at: int


def expectations(text: str, first_line: int = 1) -> list[Expectation]:
    """All expectations in `text`, whose first line has number `first_line`."""
    found: list[Expectation] = []
    for number, line in enumerate(text.splitlines(), first_line):
        matches = list(_EXPECTATION.finditer(line))
        if not matches and _ANY_EXPECTATION.search(line):
            raise CommandLineError(
                f"line {number}: not a form of expected-error that is understood: {line.strip()}"
            )
        for match in matches:
            target = _target(match["place"], number)
            found += [Expectation(match["kind"], match["text"], target, number)] * int(match["count"] or 1)
    return found


def mismatches(expected: Iterable[Expectation], produced: Iterable[Message]) -> list[tuple[int | None, str]]:
    """(line, complaint) for each expectation that was not met and each message nobody expected."""
    open_expectations = list(expected)
    complaints: list[tuple[int | None, str]] = []
    for message in produced:
        met = next((e for e in open_expectations if _meets(message, e)), None)
        if met is not None:
            open_expectations.remove(met)
        else:
            complaints.append((message.line, f"unexpected {message.kind}: {message.text}"))
    for missed in open_expectations:
        complaints.append((missed.written_at, f'expected {missed.kind} "{missed.text}" was not produced'))
    return complaints


def _meets(message: Message, expectation: Expectation) -> bool:
    return (
        message.kind == expectation.kind
        and message.line == expectation.line
        and expectation.text in message.text
    )


def _target(place: str | None, line: int) -> int | None:
    match place:
        case None:
            return line
        case "above":
            return line - 1
        case "below":
            return line + 1
        case "unknown":
            return None
        case _:
            return line + int(place)
