"""Guards are taken away in a fork, and only a test that looks at them notices."""

from __future__ import annotations

import importlib.util
import sys
import time
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from onnxloom.tools.testing.mutation import equivalents, results, runner, running
from onnxloom.tools.testing.mutation import tests_of as by_place
from onnxloom.tools.testing.mutation.guards import Guard, find_guards
from onnxloom.tools.testing.mutation.mutants import NotLoaded, take_away
from onnxloom.tools.testing.mutation.reach import find_reach

RULE = """
import functools

def Miss(reason):
    return reason

def wrapped(function):
    @functools.wraps(function)
    def outer(x):
        return function(x)
    return outer

@wrapped
def match(x):
    limit = 3
    def inner():
        return limit
    if x is None:
        return Miss("none")
    if x > inner():
        return Miss("large")
    return "ok"
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A repository with one rule, loaded as `mutated_rule`."""
    (tmp_path / "rules").mkdir()
    (tmp_path / "test" / "rules").mkdir(parents=True)
    file = tmp_path / "rules" / "rule.py"
    file.write_text(RULE)
    spec = importlib.util.spec_from_file_location("mutated_rule", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["mutated_rule"] = module
    spec.loader.exec_module(module)
    return tmp_path


def guards(root: Path) -> list[Guard]:
    return find_guards((root / "rules" / "rule.py").read_text(), "rules/rule.py")


def write_test(root: Path, body: str) -> list[Path]:
    (root / "test" / "rules" / "test_rule.py").write_text(
        f"import mutated_rule\ndef test_it():\n    {body}\n"
    )
    return [file for stage in by_place.tests_of("rules/rule.py", root) for file in stage]


def outcome(root: Path, guard: Guard, tests: list[Path]) -> str:
    reached = find_reach(guards(root), tests, root)
    return runner.outcome_of(guard, reached.get(guard.key, ()), root, 60)


def test_a_guard_that_a_test_looks_at_is_noticed(root: Path) -> None:
    tests = write_test(root, "assert mutated_rule.match(4) == 'large'; mutated_rule.match(None)")
    none, large = guards(root)
    assert outcome(root, large, tests) == runner.NOTICED
    # Without the guard `None > 3` raises: what has no test must not.
    (root / "test" / "rules" / "test_rule.py").write_text(
        "import mutated_rule\ndef test_it():\n    mutated_rule.match(4)\n"
    )
    assert outcome(root, large, tests) == runner.UNNOTICED
    assert outcome(root, none, tests) == runner.UNREACHED


def endless() -> int:
    while True:
        time.sleep(1)


def test_a_run_that_never_ends_is_stopped() -> None:
    assert running.in_fork(endless, 0.2) == running.TIMED_OUT


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        (0, runner.UNNOTICED),
        (1, runner.NOTICED),
        (running.TIMED_OUT, runner.NOTICED),
        (-11, runner.NOTICED),
        (70, f"{runner.ERROR} 70"),
    ],
)
def test_what_exit_codes_mean(root: Path, monkeypatch: pytest.MonkeyPatch, code: int, expected: str) -> None:
    monkeypatch.setattr(runner, "in_fork", lambda action, timeout: code)
    assert runner.outcome_of(guards(root)[0], ["test_a.py::test_it"], root, 60) == expected


def test_the_quickest_tests_come_first_and_not_all_at_once(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    codes = iter([0, 0])
    monkeypatch.setattr(runner, "in_fork", lambda action, timeout: next(codes))
    tests = [f"test_a.py::test_{number}" for number in range(20)]
    assert runner.outcome_of(guards(root)[0], tests, root, 60) == runner.UNNOTICED
    assert list(codes) == []


def test_this_process_keeps_its_guards(root: Path) -> None:
    outcome(root, guards(root)[0], write_test(root, "assert mutated_rule.match(None) == 'none'"))
    assert sys.modules["mutated_rule"].match(None) == "none"


def test_a_test_that_fails_as_it_is_says_nothing(root: Path) -> None:
    tests = write_test(root, "assert mutated_rule.match(4) == 'small'")
    assert outcome(root, guards(root)[1], tests) == runner.UNREACHED


def test_each_guard_knows_the_tests_in_which_it_declines(root: Path) -> None:
    tests = write_test(root, "mutated_rule.match(4)\ndef test_other():\n    mutated_rule.match(1)")
    none, large = guards(root)
    found = find_reach([none, large], tests, root)
    assert found == {large.key: ["test/rules/test_rule.py::test_it"]}


def test_weak_proxies_of_what_is_gone_are_passed_over(root: Path) -> None:
    gone = weakref.proxy(type("Gone", (), {})())
    test_a_guard_of_a_file_that_is_not_loaded(root)
    assert type(gone) is weakref.ProxyType


def test_a_guard_of_a_file_that_is_not_loaded(root: Path) -> None:
    (root / "rules" / "other.py").write_text(RULE)
    guard = find_guards(RULE, "rules/other.py")[0]
    with pytest.raises(NotLoaded):
        take_away(guard, root)


def test_decorated_functions_and_closures_are_exchanged(root: Path) -> None:
    def changed() -> int:
        take_away(guards(root)[1], root)
        return 0 if sys.modules["mutated_rule"].match(4) == "ok" else 1

    assert running.in_fork(changed, 60) == 0


FACTORY = """
def Miss(reason):
    return reason

def make(limit):
    def match(x):
        if x > limit:
            return Miss("large")
        return "ok"
    return match

match = make(3)
"""


def test_what_a_function_has_made_already_is_exchanged(root: Path) -> None:
    file = root / "rules" / "rule.py"
    file.write_text(FACTORY)
    exec(compile(FACTORY, str(file), "exec"), vars(sys.modules["mutated_rule"]))
    (guard,) = guards(root)
    tests = write_test(root, "assert mutated_rule.match(4) == 'large'")
    assert outcome(root, guard, tests) == runner.NOTICED


def test_the_closest_tests_come_first(tmp_path: Path) -> None:
    folder = tmp_path / "test" / "a"
    folder.mkdir(parents=True)
    for name in ("b.mlir", "b_more.mlir", "test_b.py", "c.mlir", "readme.txt"):
        (folder / name).touch()
    (tmp_path / "test" / "test_far.py").write_text("import onnxloom.a.b\n")
    stages = by_place.tests_of("a/b.py", tmp_path)
    assert [[file.name for file in stage] for stage in stages] == [
        ["b.mlir", "b_more.mlir", "test_b.py"], ["test_far.py"], ["c.mlir"],
    ]  # fmt: skip


def test_what_is_shared_is_tested_by_its_users(tmp_path: Path) -> None:
    (tmp_path / "a" / "c").mkdir(parents=True)
    (tmp_path / "a" / "c" / "user.py").write_text("from onnxloom.a.b import f\n")
    (tmp_path / "test" / "a" / "c").mkdir(parents=True)
    for name in ("user.mlir", "other.mlir"):
        (tmp_path / "test" / "a" / "c" / name).touch()
    stages = by_place.tests_of("a/b.py", tmp_path)
    assert [[file.name for file in stage] for stage in stages] == [["user.mlir"]]


def test_results_are_kept_until_something_changes(tmp_path: Path) -> None:
    guard, state, source = Guard("a.py", 1, "x", "f"), tmp_path / "s.jsonl", tmp_path / "a.py"
    source.write_text("one")
    stamp = results.stamp_of(source, [])
    results.append(state, guard, stamp, runner.UNNOTICED, 1.0)
    results.append(state, guard, stamp, runner.NOTICED, 1.0)
    assert results.load(state)[guard.key].outcome == runner.NOTICED
    source.write_text("two")
    assert results.stamp_of(source, []) != stamp


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a.py: x\n", "no proof"),
        ("  proof\n", "proof of nothing"),
        ("a: x\n  p\na: x\n  q\n", "already"),
    ],
)
def test_an_equivalent_needs_one_proof(text: str, message: str) -> None:
    with pytest.raises(equivalents.EquivalentsError, match=message):
        equivalents.read_equivalents(text)


def test_equivalents_have_proofs_and_are_guards_that_are_there() -> None:
    command: Any = __import__("onnxloom.tools.testing.mutation.__main__", fromlist=["all_guards"])
    all_guards: Callable[[Any], list[Guard]] = command.all_guards
    proofs = equivalents.read_equivalents(equivalents.FILE.read_text(encoding="utf-8"))
    assert set(proofs) <= {guard.key for guard in all_guards(())}
