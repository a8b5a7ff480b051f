"""How are passes run so that one that fails, or has nothing to do, costs nothing but itself?

A pass that raises leaves the module as it was before it, and the others go on; it is an error only where
the caller is strict. That the model is at fault (ModelError, InputError) is always an error, and the module
is then what it was before that pass, too. A pass that changed nothing is not run again before something
else has changed the module.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Iterable
from contextlib import nullcontext
from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from onnxloom.dialects.verify_module import InvalidIR, verify_module
from onnxloom.errors import InputError, ModelError, PassError, caller_level
from onnxloom.transforms.pass_manager.cost import Cost, cost_of
from onnxloom.transforms.pass_manager.environment import log_wanted
from onnxloom.transforms.pass_manager.fixed_point import FixedPointPass
from onnxloom.transforms.pass_manager.garbage import collect_new, garbage_left_alone
from onnxloom.transforms.pass_manager.module_state import ModuleState
from onnxloom.transforms.pass_manager.pass_log import Outcome, PassRun, PipelineReport
from onnxloom.transforms.pass_manager.pass_text import pass_text
from onnxloom.transforms.pass_manager.skipping import passes_to_skip
from onnxloom.transforms.plugins import blaming_plugin, is_plugged_in, place_in_source
from onnxloom.transforms.rewriting.recording import recording


class PassFailedWarning(UserWarning):
    """A pass failed and was left out."""


def run_pipeline(
    module: ModuleOp,
    ctx: Context,
    passes: Iterable[ModulePass],
    *,
    strict: bool = False,
    skip: Iterable[str] = (),
    log: bool = False,
    verify: bool = False,
) -> PipelineReport:
    """Runs passes over a module.

    Args:
        strict: a pass that fails is an error, not a warning.
        skip: names of passes to leave out, besides those that ONNXLOOM_SKIP_PASSES names.
        log: whether the report says what each pass did to op counts, arithmetic and bytes.
        verify: whether the module is verified after each pass that changed it.

    Raises:
        ModelError, InputError: the model is at fault.
        PassError: a pass failed and `strict` is set, or `skip` names no pass.
    """
    runner = _Runner(module, ctx, passes_to_skip(skip), strict, log or log_wanted(), verify)
    with garbage_left_alone():
        runner.run(passes)
    return runner.report


@dataclass
class _Runner:
    module: ModuleOp
    ctx: Context
    skip: frozenset[str]
    strict: bool
    log: bool
    verify: bool
    report: PipelineReport = field(default_factory=PipelineReport)
    version: int = 0
    """How many passes changed the module."""

    idle_at: dict[str, int] = field(default_factory=dict[str, int])
    """Pass -> the version at which it had nothing to do."""

    failed: set[str] = field(default_factory=set[str])
    cost: Cost | None = None

    def __post_init__(self) -> None:
        self.state = ModuleState(self.module)
        self.prints = log_wanted()
        if self.log:
            self.cost = cost_of(self.module)

    def run(self, passes: Iterable[ModulePass], sweep: int = 0) -> None:
        for step in passes:
            if isinstance(step, FixedPointPass) and step.name not in self.skip:
                self.repeat(step)
            else:
                self.run_one(step, sweep)

    def repeat(self, group: FixedPointPass) -> None:
        for sweep in range(1, group.max_sweeps + 1):
            before = self.version
            self.run(group.passes, sweep)
            if self.version == before:
                return

    def run_one(self, step: ModulePass, sweep: int) -> None:
        text = pass_text(step)
        if step.name in self.skip:
            self.note(PassRun(step, Outcome.SKIPPED, sweep=sweep))
        elif text in self.failed:
            pass  # it would fail again, which was said
        elif self.idle_at.get(text) == self.version:
            self.note(PassRun(step, Outcome.NOT_NEEDED, sweep=sweep))
        else:
            self.apply(step, text, sweep)

    def apply(self, step: ModulePass, text: str, sweep: int) -> None:
        start = time.perf_counter()
        with recording(self.module, step.name):
            try:
                with blaming_plugin(type(step)) if is_plugged_in(type(step)) else nullcontext():
                    step.apply(self.ctx, self.module)
                state = ModuleState(self.module)
                changed = state != self.state
                if changed and (self.verify or is_plugged_in(type(step))):
                    _verify(step, self.module)
            except Exception as error:
                self.state.restore()
                if self.strict or isinstance(error, ModelError | InputError):
                    raise
                self.leave_out(step, error, time.perf_counter() - start, sweep)
                return
        collect_new()
        seconds = time.perf_counter() - start
        before = self.cost
        if changed:
            self.version += 1
            self.state = state
            self.cost = cost_of(self.module) if self.log else None
        else:
            self.idle_at[text] = self.version
        outcome = Outcome.CHANGED if changed else Outcome.UNCHANGED
        self.note(PassRun(step, outcome, seconds, sweep, before, self.cost))

    def leave_out(self, step: ModulePass, error: Exception, seconds: float, sweep: int) -> None:
        self.failed.add(pass_text(step))
        reason = " ".join(str(error).split())[:300] or type(error).__name__
        if not isinstance(error, PassError):
            reason = f"{type(error).__name__}: {reason}{place_in_source(error, type(step))}"
        self.note(PassRun(step, Outcome.FAILED, seconds, sweep, error=reason))
        warnings.warn(
            PassFailedWarning(f"pass '{step.name}' failed and was left out: {reason}"),
            stacklevel=caller_level(),
        )

    def note(self, run: PassRun) -> None:
        self.report.runs.append(run)
        if self.prints:
            print(f"onnxloom: {run.line()}", file=sys.stderr)


def _verify(step: ModulePass, module: ModuleOp) -> None:
    try:
        verify_module(module)
    except InvalidIR as error:
        raise PassError(f"pass '{step.name}' left invalid IR: {error}") from error
