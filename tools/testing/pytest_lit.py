"""How does pytest see a `.mlir` file? As one test item per file, run by its `RUN:` lines.

A `conftest.py` makes use of it by one import: `from onnxloom.tools.testing.pytest_lit import *`.
Files below a folder named `Inputs` are data, not tests (lit's rule too).
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any, cast

import pytest

from onnxloom.tools.testing.run_line import Command, parse, run, run_lines

__all__ = ["pytest_collect_file"]


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> MlirFile | None:
    if file_path.suffix != ".mlir" or "Inputs" in file_path.parts:
        return None
    collector: Any = MlirFile  # pytest does not type `from_parent`
    return collector.from_parent(parent, path=file_path)


class MlirFile(pytest.File):
    def collect(self) -> Iterator[MlirItem]:
        item: Any = MlirItem
        yield item.from_parent(self, name=self.path.stem)


class RunLineFailure(Exception):
    """A `RUN:` line did not do what it must; `str()` is what to show."""


class MlirItem(pytest.Item):
    def runtest(self) -> None:
        lines = run_lines(self.path.read_text(encoding="utf-8"))
        if lines == []:
            raise RunLineFailure("no RUN: line in this file (data files belong into a folder named Inputs)")
        with tempfile.TemporaryDirectory() as folder:
            pipelines = [parse(line, self.path, Path(folder) / "t") for line in lines or []]
            if not pipelines or any(pipeline is None for pipeline in pipelines):
                _run_with_lit(self.path)
                return
            for line, pipeline in zip(lines or [], pipelines, strict=True):
                _run_pipeline(line, pipeline or [])

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        if isinstance(excinfo.value, RunLineFailure):
            return f"{self.path}\n{excinfo.value}"
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int, str]:
        return self.path, 0, self.name


def _run_pipeline(line: str, pipeline: list[Command]) -> None:
    outcome = run(pipeline)
    if not outcome.ok:
        raise RunLineFailure(f"RUN: {line}\n{outcome.log}")


def _lit(module: str) -> Any:
    return import_module(f"lit.{module}")  # lit has no type information


def _run_with_lit(path: Path) -> None:
    config = _lit("LitConfig").LitConfig(
        progname="lit", path=[], diagnostic_level="note", useValgrind=False, valgrindLeakCheck=False,
        valgrindArgs=[], noExecute=False, debug=False, isWindows=False, order="smart", params={},
    )  # fmt: skip
    tests: list[Any] = _lit("discovery").find_tests_for_inputs(config, [str(path)])
    if len(tests) != 1:
        raise RunLineFailure(f"lit finds {len(tests)} tests in this file (a lit.cfg.py above it is needed)")
    result: Any = tests[0].config.test_format.execute(tests[0], config)
    if isinstance(result, tuple):
        result = _lit("Test").Result(*cast("tuple[Any, ...]", result))
    if result.code is _lit("Test").UNSUPPORTED:
        pytest.skip("lit: unsupported")
    if result.code.isFailure:
        raise RunLineFailure(str(result.output))
