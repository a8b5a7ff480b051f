"""What is at fault: a rewrite, a pass, a kernel, or how kernels are joined?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from xdsl.dialects.builtin import ModuleOp

from onnxloom.errors import OnnxloomError
from onnxloom.lowering.optimize import pipeline_options
from onnxloom.testing.tolerance import Tolerance
from onnxloom.tools.bisecting.kernels import WrongKernel, find_wrong_kernel
from onnxloom.tools.bisecting.reduce import Reduced, Shows, as_read_again, reduce_op, reduce_rewrite
from onnxloom.tools.bisecting.rewrites import Judge, WrongStep, find_wrong_rewrite
from onnxloom.tools.bisecting.trials import Trial, Trials
from onnxloom.tools.bisecting.window import replaced_titles
from onnxloom.tools.failures import CommandLineError
from onnxloom.tools.numerics.subject import Subject
from onnxloom.tools.numerics.witnesses import run_compiled
from onnxloom.transforms.pass_manager.pass_text import parse_passes
from onnxloom.transforms.pipelines import pipeline

SHOWN = 6
"""Ops that a line names."""


@dataclass(frozen=True)
class Finding:
    """What was found, in words and as a reduced model."""

    rewrites: int
    """How many the pipeline does."""
    lines: tuple[str, ...]
    step: WrongStep | None = None
    kernel: WrongKernel | None = None
    reduced: Reduced | None = None
    is_right: bool = False


def find_fault(
    subject: Subject, tolerance: Tolerance, *, passes: str | None = None, suffix: str = ".onnx"
) -> Finding:
    """The first step at fault; `suffix` is that of the file a reduced model is for.

    Raises:
        ModelError: the model cannot be evaluated on the host.
        CommandLineError: `passes` is no pipeline.
    """
    trials = trials_of(subject, passes)
    judge = Judge.of(subject.module, subject.feeds, tolerance)
    search = find_wrong_rewrite(subject.module, trials, judge)
    left_out = tuple(f"a pass failed and was left out: {failed}" for failed in search.full.failed)
    if search.wrong is None:
        found = _behind_the_passes(subject, search.full, judge, trials, suffix)
        return replace(found, lines=(*left_out, *found.lines))
    step, rewrites = search.wrong, len(search.full.rewrites)
    shows = _shows_on_host(trials, tolerance, suffix)
    reduced = reduce_rewrite(step.before, step.after, subject.feeds, shows)
    return Finding(rewrites, (*left_out, *_of_step(step, rewrites)), step=step, reduced=reduced)


def trials_of(subject: Subject, passes: str | None) -> Trials:
    """The passes of the level, or those of a text. Raises CommandLineError."""
    options = subject.options
    if passes is None:
        return Trials(pipeline(options.opt_level, pipeline_options(options)), options.skip_passes)
    try:
        return Trials(parse_passes(passes), options.skip_passes)
    except (ValueError, OnnxloomError) as error:
        raise CommandLineError(f"--passes: {error}") from None


def _behind_the_passes(subject: Subject, full: Trial, judge: Judge, trials: Trials, suffix: str) -> Finding:
    """The passes are right: is what was compiled?"""
    options = replace(subject.options, opt_level=0)
    fault = _fault_compiled(judge, full.module, subject.feeds, options)
    rewrites = len(full.rewrites)
    right = f"all passes are right: {rewrites} rewrite{'' if rewrites == 1 else 's'}"
    if not fault:
        return Finding(rewrites, (right, "the compiled model is right, too"), is_right=True)
    kernel = find_wrong_kernel(full.module, subject.feeds, judge.tolerance, options)
    if kernel is None:
        lines = (right, "each kernel alone is right", f"the compiled model as a whole is not: {fault}")
        return Finding(rewrites, lines)

    def shows(module: ModuleOp, feeds: Mapping[str, Any]) -> str:
        written = as_read_again(module, suffix)
        judge = Judge.of(written, feeds, kernel_tolerance)
        return _fault_compiled(judge, trials.run(written).module, feeds, options)

    kernel_tolerance = judge.tolerance
    reduced = reduce_op(kernel.cut, kernel.feeds, shows)
    lines = (right, f"first wrong kernel: {kernel.title}", f"  {kernel.fault}")
    return Finding(rewrites, lines, kernel=kernel, reduced=reduced)


def _fault_compiled(judge: Judge, optimized: ModuleOp, feeds: Mapping[str, Any], options: Any) -> str:
    try:
        return judge.fault_of(run_compiled(optimized, feeds, options))
    except OnnxloomError as error:
        return f"it does not run: {error}"


def _shows_on_host(trials: Trials, tolerance: Tolerance, suffix: str) -> Shows:
    """Whether the passes change what a candidate gives."""

    def shows(module: ModuleOp, feeds: Mapping[str, Any]) -> str:
        written = as_read_again(module, suffix)
        return Judge.of(written, feeds, tolerance).fault(trials.run(written).module)

    return shows


def _of_step(step: WrongStep, rewrites: int) -> tuple[str, ...]:
    if step.rewrite:
        place = f"first wrong rewrite: {step.number} of {rewrites}, by {step.pass_name}: {step.rewrite}"
    else:
        place = f"first wrong pass: {step.pass_name}, after {step.number} of {rewrites} rewrites"
    replaced = replaced_titles(step.before, step.after)
    shown = ", ".join(replaced[:SHOWN]) + (
        f" and {len(replaced) - SHOWN} more" if len(replaced) > SHOWN else ""
    )
    lines = [place, f"  {step.fault}", f"  it replaces: {shown}" if shown else ""]
    if not step.rewrite:
        lines.append("  (the pass does not ask for each of its rewrites: it is taken as a whole)")
    return tuple(line for line in lines if line)
