"""How do tests run against many mutants? Each in a fork of a process that has everything imported."""

from __future__ import annotations

import importlib
import pkgutil
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from onnxloom.tools.testing.mutation.guards import Guard
from onnxloom.tools.testing.mutation.mutants import NotLoaded, take_away
from onnxloom.tools.testing.mutation.running import TIMED_OUT, in_fork, run_tests

NOTICED: Final = "noticed"
UNNOTICED: Final = "unnoticed"
NOT_LOADED: Final = "not loaded"
UNREACHED: Final = "declines in no test"

ERROR: Final = "the run itself failed with code"

_FAILED_CODES: Final = (1, 2)
"""Of pytest: tests failed, or could not be collected."""

_NOT_LOADED_CODE: Final = 77
_NO_TESTS_CODE: Final = 5

_FEW: Final = 6
_MANY: Final = 100
"""Of the tests that reach a guard, the quickest are run: first a few, then up to this many."""


def import_everything(package: str = "onnxloom") -> None:
    """Loads the package and what tests use, so that a fork finds it there."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        root = importlib.import_module(package)
        for info in pkgutil.walk_packages(root.__path__, f"{package}."):
            if not info.name.endswith("__main__"):
                _import(info.name)
        for name in ("pytest", "onnxruntime", "onnx.reference", "hypothesis", "numba", "filecheck", "lit"):
            _import(name)


def _import(name: str) -> None:
    try:
        importlib.import_module(name)
    except ImportError as error:
        print(f"not loaded: {name} ({error})", file=sys.stderr)


def outcome_of(guard: Guard, tests: Sequence[str], root: Path, timeout: float) -> str:
    """Whether one of the tests in which the guard declines notices that it is missing."""
    if not tests:
        return UNREACHED
    for batch in (tests[:_FEW], tests[_FEW:_MANY]):
        code = in_fork(lambda batch=batch: _run(batch, root, guard), timeout) if batch else 0
        if code == _NOT_LOADED_CODE:
            return NOT_LOADED
        if code in (*_FAILED_CODES, TIMED_OUT) or code < 0:
            return NOTICED
        if code not in (0, _NO_TESTS_CODE):
            return f"{ERROR} {code}"
    return UNNOTICED


def _run(tests: Sequence[str], root: Path, guard: Guard) -> int:
    try:
        take_away(guard, root)
    except NotLoaded:
        return _NOT_LOADED_CODE
    return run_tests(tests, root)
