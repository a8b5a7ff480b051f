"""How are passes run, and what can be watched while they run?

Everything shown here goes to stderr: stdout carries the result and nothing else.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import DiagnosticException

from onnxloom.errors import OnnxloomError
from onnxloom.tools.failures import EXIT_INPUT, Failure, describe, internal, one_line
from onnxloom.tools.opt.checking import InvalidIR, verify


class PassFailure(Exception):
    """A pass stopped; `failure` says how to report it and `op` where it was, when known."""

    def __init__(self, failure: Failure, op: Operation | None) -> None:
        super().__init__(failure.message)
        self.failure = failure
        self.op = op


@dataclass(frozen=True)
class Watch:
    """What to show and check around each pass."""

    before: frozenset[str] = frozenset()
    """Names of passes before which the IR is printed; `*` for all."""
    after: frozenset[str] = frozenset()
    only_changes: bool = False
    """Print after a pass only when it changed the text."""
    timing: bool = False
    statistics: bool = False
    reports: bool = False
    """Print the `report` of each pass that has one."""
    verify_each: bool = False
    verify_result: bool = True


@dataclass
class PassRunner:
    """Runs a pipeline over one module after another and sums up what it saw."""

    passes: Sequence[ModulePass]
    watch: Watch
    text_of: Callable[[ModuleOp], str]
    seconds: dict[int, float] = field(default_factory=dict[int, float])
    counts: list[tuple[str, int, int]] = field(default_factory=list[tuple[str, int, int]])

    def run(self, context: Context, module: ModuleOp) -> None:
        """Apply all passes. Raises PassFailure."""
        for index, module_pass in enumerate(self.passes):
            before = self._before(module_pass, module)
            ops = _count(module) if self.watch.statistics else 0
            start = time.perf_counter()
            _apply(module_pass, context, module)
            self.seconds[index] = self.seconds.get(index, 0.0) + time.perf_counter() - start
            if self.watch.statistics:
                self.counts.append((module_pass.name, ops, _count(module)))
            if self.watch.reports and hasattr(module_pass, "report"):
                print(getattr(module_pass, "report"), file=sys.stderr)  # noqa: B009 (not an attribute of all)
            last = index == len(self.passes) - 1
            if self.watch.verify_each or (last and self.watch.verify_result):
                _check(module_pass, module, alone=self.watch.verify_each or len(self.passes) == 1)
            self._after(module_pass, module, before)

    def report(self) -> None:
        """Print the tables asked for."""
        if self.watch.timing:
            total = sum(self.seconds.values())
            print(f"{total:9.4f} s  all passes", file=sys.stderr)
            for index, module_pass in enumerate(self.passes):
                print(f"{self.seconds.get(index, 0.0):9.4f} s  {module_pass.name}", file=sys.stderr)
        if self.watch.statistics:
            for name, before, after in self.counts:
                print(f"{name}: {before} ops -> {after} ops", file=sys.stderr)

    def _before(self, module_pass: ModulePass, module: ModuleOp) -> str | None:
        if _selected(module_pass.name, self.watch.before):
            self._show("before", module_pass, self.text_of(module))
        if self.watch.only_changes and _selected(module_pass.name, self.watch.after):
            return self.text_of(module)
        return None

    def _after(self, module_pass: ModulePass, module: ModuleOp, before: str | None) -> None:
        if not _selected(module_pass.name, self.watch.after):
            return
        text = self.text_of(module)
        if text != before:
            self._show("after", module_pass, text)

    def _show(self, when: str, module_pass: ModulePass, text: str) -> None:
        print(f"// IR {when} {module_pass.name}\n{text.rstrip()}\n", file=sys.stderr)


def _apply(module_pass: ModulePass, context: Context, module: ModuleOp) -> None:
    where = f" in pass '{module_pass.name}'"
    try:
        module_pass.apply(context, module)
    except OnnxloomError as error:
        failure = describe(error)
        raise PassFailure(
            Failure(f"{failure.message}{'' if module_pass.name in failure.message else where}", failure.code),
            getattr(error, "op", None),
        ) from error
    except DiagnosticException as error:
        raise PassFailure(Failure(one_line(error) + where, EXIT_INPUT), getattr(error, "op", None)) from error
    except Exception as error:
        raise PassFailure(internal(error, where), None) from error


def _check(module_pass: ModulePass, module: ModuleOp, *, alone: bool) -> None:
    """`alone`: the module was valid before this one pass."""
    try:
        verify(module)
    except InvalidIR as error:
        culprit = f"pass '{module_pass.name}'" if alone else "the passes (--verify-each tells which)"
        failure = internal(error, f": {culprit} left invalid IR")
        raise PassFailure(failure, error.op) from error


def _selected(name: str, names: frozenset[str]) -> bool:
    return "*" in names or name in names


def _count(module: ModuleOp) -> int:
    return sum(1 for _ in module.walk())
