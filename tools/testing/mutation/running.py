"""How does pytest run in a child process, quietly, with what is imported already?"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

TIMED_OUT: Final = 78
"""Exit code of a child that took too long: an endless loop is noticed."""


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


def run_tests(
    tests: Sequence[str], root: Path, options: Sequence[str] = ("-x",), plugins: Sequence[object] = ()
) -> int:
    """Runs tests in this process, quietly."""
    import pytest

    os.chdir(root)
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nothing, stream)
    quiet = ["-q", "-p", "no:cacheprovider", "-p", "no:xdist"]
    return int(pytest.main([*options, *quiet, *tests], plugins=[_SharedKernels(), *plugins]))


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
