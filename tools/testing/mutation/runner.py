"""How do tests run against many mutants? Each in a fork of a process that has everything imported."""

from __future__ import annotations

import importlib
import os
import pkgutil
import signal
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

from onnxloom.tools.testing.mutation.guards import Guard
from onnxloom.tools.testing.mutation.mutants import NotLoaded, take_away

NOTICED: Final = "noticed"
UNNOTICED: Final = "unnoticed"
NO_TESTS: Final = "no tests"
NOT_LOADED: Final = "not loaded"
BROKEN: Final = "tests fail as they are"

ERROR: Final = "the run itself failed with code"

TIMED_OUT: Final = 78
"""Exit code of a child that took too long: an endless loop is noticed."""

_FAILED_CODES: Final = (1, 2)
"""Of pytest: tests failed, or could not be collected."""

_NOT_LOADED_CODE: Final = 77
_NO_TESTS_CODE: Final = 5


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


class StagedTests:
    """The tests of one file, the closest first; a stage that fails as it is says nothing."""

    def __init__(self, stages: Sequence[Sequence[Path]], root: Path, timeout: float):
        self._stages = stages
        self._root = root
        self._timeout = timeout
        self._sound: dict[int, bool] = {}

    def outcome_of(self, guard: Guard) -> str:
        """Whether a test notices that the guard is missing."""
        if not self._stages:
            return NO_TESTS
        outcome = UNNOTICED
        for number, tests in enumerate(self._stages):
            if not self._is_sound(number):
                outcome = BROKEN
                continue
            code = in_fork(lambda tests=tests: _run(tests, self._root, guard), self._timeout)
            if code == _NOT_LOADED_CODE:
                return NOT_LOADED
            if code in (*_FAILED_CODES, TIMED_OUT) or code < 0:
                return NOTICED
            if code not in (0, _NO_TESTS_CODE):
                return f"{ERROR} {code}"
        return outcome

    def _is_sound(self, number: int) -> bool:
        """Whether a stage passes with all guards in place; found out when it is needed."""
        if number not in self._sound:
            code = in_fork(lambda: _run(self._stages[number], self._root, None), self._timeout)
            self._sound[number] = code in (0, _NO_TESTS_CODE)
        return self._sound[number]


def in_fork(action: Callable[[], int], timeout: float) -> int:
    """The exit code of `action` in a child process; below 0, the signal that ended it."""
    child = os.fork()
    if not child:
        os.setpgid(0, 0)
        code = 70
        try:
            code = action()
        finally:
            os._exit(code)
    end = time.monotonic() + timeout
    while time.monotonic() < end:
        found, status = os.waitpid(child, os.WNOHANG)
        if found:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.01)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return TIMED_OUT


def _run(tests: Sequence[Path], root: Path, guard: Guard | None) -> int:
    """Runs tests in this process, quietly."""
    import pytest

    os.chdir(root)
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nothing, stream)
    if guard is not None:
        try:
            take_away(guard, root)
        except NotLoaded:
            return _NOT_LOADED_CODE
    options = ["-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist"]
    return int(pytest.main([*options, *map(str, tests)], plugins=[_SharedKernels()]))


class _SharedKernels:
    """Compiled kernels are shared between mutants; compiled models are not: they depend on the guard."""

    def pytest_sessionstart(self, session: Any) -> None:
        folder = os.environ.get("ONNXLOOM_MUTATION_KERNELS")
        if folder:
            from onnxloom.lowering.plan_cache import PlanCache

            os.environ["ONNXLOOM_CACHE_DIR"] = folder
            setattr(PlanCache, "of", _nothing)  # noqa: B010


def _nothing(source: Any, options: Any) -> None:
    """No entry of the plan cache."""
