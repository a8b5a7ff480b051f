"""Which tests make which guard decline? Only these can notice that it is missing.

One run of the tests with all guards in place, each of them noted when it declines.
"""

from __future__ import annotations

import builtins
import json
import tempfile
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from onnxloom.tools.testing.mutation.guards import Guard, find_guards, noting
from onnxloom.tools.testing.mutation.mutants import codes_of, functions_of
from onnxloom.tools.testing.mutation.running import in_fork, run_tests

_NOTE: Final = "__onnxloom_guard_declines__"
_TIMEOUT: Final = 3600.0


def find_reach(guards: Sequence[Guard], tests: Sequence[Path], root: Path) -> dict[str, list[str]]:
    """Key of a guard -> ids of the tests in which it declined, quick ones first.

    Runs the tests in a child process. Those that fail as they are count for nothing.
    """
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        in_fork(lambda: _note(guards, tests, root, Path(file.name)), _TIMEOUT)
        text = Path(file.name).read_text(encoding="utf-8")
    return json.loads(text) if text else {}


def _note(guards: Sequence[Guard], tests: Sequence[Path], root: Path, result: Path) -> int:
    observer = _Observer({guard.key for guard in guards})
    setattr(builtins, _NOTE, observer.note)
    for path in sorted({guard.path for guard in guards}):
        _exchange(path, root)
    code = run_tests(list(map(str, tests)), root, options=(), plugins=[observer])
    result.write_text(json.dumps(observer.found()), encoding="utf-8")
    return code


def _exchange(path: str, root: Path) -> None:
    """From here on the guards of a file say when they decline."""
    source = (root / path).read_text(encoding="utf-8")
    guards = find_guards(source, path)
    module = compile(noting(source, path, _NOTE), str(root / path), "exec", dont_inherit=True)
    fresh = codes_of(module, {guard.function for guard in guards})
    for function, code in functions_of(root / path, fresh):
        function.__code__ = code


class _Observer:
    """A plug-in of pytest that knows which test is running."""

    def __init__(self, keys: set[str]) -> None:
        self._keys = keys
        self._running = ""
        self._reached: defaultdict[str, set[str]] = defaultdict(set)
        self._failed: set[str] = set()
        self._seconds: defaultdict[str, float] = defaultdict(float)

    def note(self, key: str) -> None:
        if key in self._keys:
            self._reached[key].add(self._running)

    def pytest_runtest_logstart(self, nodeid: str, location: Any) -> None:
        self._running = nodeid

    def pytest_runtest_logreport(self, report: Any) -> None:
        self._seconds[report.nodeid] += report.duration
        if report.failed:
            self._failed.add(report.nodeid)

    def found(self) -> dict[str, list[str]]:
        return {
            key: sorted(tests - self._failed - {""}, key=lambda test: (self._seconds[test], test))
            for key, tests in self._reached.items()
        }
