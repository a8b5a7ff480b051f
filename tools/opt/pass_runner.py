"""How are passes run, and what can be watched while they run?

Everything shown here goes to stderr: stdout carries the result and nothing else.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import DiagnosticException

from onnxloom.errors import OnnxloomError
from onnxloom.tools.failures import EXIT_INPUT, Failure, describe, internal, one_line
from onnxloom.tools.opt.checking import InvalidIR, verify
from onnxloom.transforms.pass_manager.cost import cost_of
from onnxloom.transforms.pass_manager.environment import log_wanted
from onnxloom.transforms.pass_manager.fixed_point import FixedPointPass
from onnxloom.transforms.pass_manager.module_state import ModuleState
from onnxloom.transforms.pass_manager.pass_log import Outcome, PassRun
from onnxloom.transforms.plugins import blaming_plugin, is_plugged_in
from onnxloom.transforms.rewriting.report import RewriteReport, use_report


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
    """Print the `report` of each pass that has one, and what patterns rewrote and declined."""
    verify_each: bool = False
    verify_result: bool = True


@dataclass
class PassRunner:
    """Runs a pipeline over one module after another and sums up what it saw."""

    passes: Sequence[ModulePass]
    watch: Watch
    text_of: Callable[[ModuleOp], str]
    seconds: dict[str, float] = field(default_factory=dict[str, float])
    """By the place of a pass in the pipeline: `2`, or `2.0` for the first one of the group at place 2."""

    counts: list[tuple[str, int, int]] = field(default_factory=list[tuple[str, int, int]])

    def run(self, context: Context, module: ModuleOp) -> None:
        """Apply all passes, those of groups one by one. Raises PassFailure."""
        for index, module_pass in enumerate(self.passes):
            if isinstance(module_pass, FixedPointPass):
                self._repeat(str(index), module_pass, context, module)
            else:
                self._run_one(str(index), module_pass, context, module)
            last = index == len(self.passes) - 1
            if last and self.watch.verify_result and not self.watch.verify_each:
                _check(module_pass, module, alone=len(self.passes) == 1)

    def _repeat(self, place: str, group: FixedPointPass, context: Context, module: ModuleOp) -> None:
        state = ModuleState(module)
        for _ in range(group.max_sweeps):
            for index, module_pass in enumerate(group.passes):
                self._run_one(f"{place}.{index}", module_pass, context, module)
            before, state = state, ModuleState(module)
            if before == state:
                return

    def _run_one(self, place: str, module_pass: ModulePass, context: Context, module: ModuleOp) -> None:
        before = self._before(module_pass, module)
        ops = _count(module) if self.watch.statistics else 0
        log = PassLine(module) if log_wanted() else None
        rewrites = RewriteReport()
        start = time.perf_counter()
        with use_report(rewrites) if self.watch.reports else nullcontext():
            _apply(module_pass, context, module)
        seconds = time.perf_counter() - start
        self.seconds[place] = self.seconds.get(place, 0.0) + seconds
        if log is not None:
            log.show(module_pass, seconds)
        if self.watch.statistics:
            self.counts.append((module_pass.name, ops, _count(module)))
        if self.watch.reports:
            said = str(getattr(module_pass, "report", ""))
            if said:
                print(said, file=sys.stderr)
            if rewrites.iterations:
                print(f"{module_pass.name}: {rewrites}", file=sys.stderr)
        if self.watch.verify_each:
            _check(module_pass, module, alone=True)
        self._after(module_pass, module, before)

    def report(self) -> None:
        """Print the tables asked for."""
        if self.watch.timing:
            total = sum(self.seconds.values())
            print(f"{total:9.4f} s  all passes", file=sys.stderr)
            for place, module_pass in _places(self.passes):
                indent = "  " if "." in place else ""
                print(f"{self.seconds.get(place, 0.0):9.4f} s  {indent}{module_pass.name}", file=sys.stderr)
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


class PassLine:
    """The line of ONNXLOOM_PASS_LOG about one pass."""

    def __init__(self, module: ModuleOp) -> None:
        self.module = module
        self.state, self.cost = ModuleState(module), cost_of(module)

    def show(self, module_pass: ModulePass, seconds: float) -> None:
        changed = ModuleState(self.module) != self.state
        outcome = Outcome.CHANGED if changed else Outcome.UNCHANGED
        run = PassRun(module_pass, outcome, seconds, before=self.cost, after=cost_of(self.module))
        print(f"onnxloom: {run.line()}", file=sys.stderr)


def _places(passes: Sequence[ModulePass]) -> Iterator[tuple[str, ModulePass]]:
    for index, module_pass in enumerate(passes):
        if isinstance(module_pass, FixedPointPass):
            yield from ((f"{index}.{inner}", step) for inner, step in enumerate(module_pass.passes))
        else:
            yield str(index), module_pass


def _apply(module_pass: ModulePass, context: Context, module: ModuleOp) -> None:
    where = f"in pass '{module_pass.name}'"
    try:
        with blaming_plugin(type(module_pass)) if is_plugged_in(type(module_pass)) else nullcontext():
            module_pass.apply(context, module)
    except OnnxloomError as error:
        failure = describe(error)
        place = "" if module_pass.name in failure.message else f" ({where})"
        raise PassFailure(
            Failure(f"{failure.message}{place}", failure.code), getattr(error, "op", None)
        ) from error
    except DiagnosticException as error:
        failure = Failure(f"{one_line(error)} ({where})", EXIT_INPUT)
        raise PassFailure(failure, getattr(error, "op", None)) from error
    except Exception as error:
        raise PassFailure(internal(error, f" {where}"), None) from error


def _check(module_pass: ModulePass, module: ModuleOp, *, alone: bool) -> None:
    """`alone`: the module was valid before this one pass."""
    try:
        verify(module)
    except InvalidIR as error:
        if alone and is_plugged_in(type(module_pass)):
            failure = Failure(f"pass '{module_pass.name}' left invalid IR: {one_line(error)}", EXIT_INPUT)
            raise PassFailure(failure, error.op) from error
        culprit = f"pass '{module_pass.name}'" if alone else "the passes (--verify-each tells which)"
        failure = internal(error, f": {culprit} left invalid IR")
        raise PassFailure(failure, error.op) from error


def _selected(name: str, names: frozenset[str]) -> bool:
    return "*" in names or name in names


def _count(module: ModuleOp) -> int:
    return sum(1 for _ in module.walk())
