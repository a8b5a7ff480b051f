"""Which code counts as a guard, and what it is without one."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest

from onnxloom.tools.testing.mutation.guards import find_guards, noting, without

SOURCE = """
class Rule:
    def match(self, x):
        if x is None:
            return Miss("none")
        if x > 9:
            reason = "large"
            return no_match(x, reason)
        elif x == 8:
            raise Declined("eight")
        if x == 1:
            print("not a guard: it does something")
            return Miss("one")
        try:
            y = 1 // (x - 2)
        except ZeroDivisionError:
            return Miss("two")
        match x:
            case 3:
                return Miss("three")
            case _:
                pass
        if x == 4:
            return 0
        return y if x != 5 else Miss("five")

def loop(values):
    for value in values:
        if value < 0:
            report.decline(value)
            continue
        yield value

if __name__ == "x":
    no_match("outside of functions")
"""

TEXTS = [
    "x is None", "x > 9", "x == 8", "except ZeroDivisionError", "case 3", "not (x != 5)", "value < 0",
]  # fmt: skip


def run_match(number: int, x: Any) -> Any:
    """What `Rule().match(x)` gives without guard `number`."""
    names: dict[str, Any] = {"Miss": lambda reason: reason, "no_match": lambda x, reason: reason}
    names["Declined"] = type("Declined", (Exception,), {})
    exec(compile(without(SOURCE, number), "rule.py", "exec"), names)
    return names["Rule"]().match(x)


def test_guards_are_what_only_declines() -> None:
    assert [guard.text for guard in find_guards(SOURCE, "rule.py")] == TEXTS


def test_a_guard_knows_its_function_and_line() -> None:
    first, *_, last = find_guards(SOURCE, "rule.py")
    assert (first.function, first.line) == ("Rule.match", 4)
    assert last.function == "loop"
    assert first.key == "rule.py: x is None"


def test_equal_guards_are_numbered() -> None:
    source = "def f(x):\n    if x: return Miss('a')\n    if x: return Miss('b')\n"
    assert [guard.text for guard in find_guards(source, "f.py")] == ["x", "x #2"]


QUIET = """
def first(values):
    for value in values:
        if value < 0:
            continue
        if value == 7:
            return None
        if value == 8:
            return False
        if value == 9:
            return 0
        return value
"""


def test_quiet_guards_decline_where_nothing_means_no() -> None:
    inside = find_guards(QUIET, "transforms/patterns/first.py")
    assert [guard.text for guard in inside] == [
        "value < 0: continue", "value == 7: return None", "value == 8: return False",
    ]  # fmt: skip
    assert all(guard.is_quiet and guard.counts for guard in inside)
    assert not any(guard.counts for guard in find_guards(QUIET, "transforms/first.py"))


def test_without_a_quiet_guard_the_rest_goes_on() -> None:
    names: dict[str, Any] = {}
    exec(compile(without(QUIET, 0), "first.py", "exec"), names)
    assert names["first"]([-1, 2]) == -1


@pytest.mark.parametrize(
    ("number", "x", "expected"),
    [(1, 10, 0), (2, 8, 0), (4, 3, 1), (5, 5, 0), (0, 3, "three")],
)
def test_without_a_guard_the_rest_goes_on(number: int, x: int, expected: Any) -> None:
    assert run_match(number, x) == expected


def test_without_a_handler_the_exception_goes_on() -> None:
    with pytest.raises(ZeroDivisionError):
        run_match(3, 2)
    assert run_match(0, 2) == "two"


@pytest.mark.parametrize(
    ("x", "text"),
    [(None, TEXTS[0]), (10, TEXTS[1]), (8, TEXTS[2]), (2, TEXTS[3]), (3, TEXTS[4]), (5, TEXTS[5])],
)
def test_a_guard_says_when_it_declines(x: Any, text: str) -> None:
    noted: list[str] = []
    names: dict[str, Any] = {"Miss": lambda reason: reason, "no_match": lambda x, reason: reason}
    names |= {"Declined": ZeroDivisionError, "note": noted.append}
    exec(compile(noting(SOURCE, "rule.py", "note"), "rule.py", "exec"), names)
    for value in (x, 6):
        with contextlib.suppress(ZeroDivisionError):
            names["Rule"]().match(value)
    assert noted == [f"rule.py: {text}"]


def test_the_condition_is_still_evaluated() -> None:
    source = "def f(x):\n    if (y := x) is None: return Miss('a')\n    return y\n"
    names: dict[str, Any] = {}
    exec(compile(without(source, 0), "f.py", "exec"), names)
    assert names["f"](3) == 3
    assert names["f"](None) is None
