"""How does a pipeline run up to its n-th rewrite, or up to one of its passes, always in the same way?"""

from __future__ import annotations

import warnings
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from onnxloom.dialects.onnx.text import make_context
from onnxloom.lowering.evaluate_op import HostEvaluator
from onnxloom.transforms.folding.evaluator import use_evaluator
from onnxloom.transforms.pass_manager.pass_log import Outcome, PassRun
from onnxloom.transforms.pass_manager.pass_runner import run_pipeline
from onnxloom.transforms.rewriting.budget import limit_rewrites


@dataclass(frozen=True)
class Trial:
    """One run of a pipeline."""

    module: ModuleOp
    rewrites: tuple[tuple[str, str], ...]
    """(pass, what) of those that were done."""
    steps: tuple[ModulePass, ...]
    """The passes that were run, one entry per sweep, without those that failed or had nothing to do."""
    failed: tuple[str, ...] = ()
    """The passes that failed and were left out, with the reason."""


@dataclass(frozen=True)
class Trials:
    """Runs a pipeline on copies of a module."""

    passes: Sequence[ModulePass]
    skip: tuple[str, ...] = ()

    def run(self, module: ModuleOp, limit: int | None = None) -> Trial:
        """All passes, with at most `limit` rewrites."""
        copy = module.clone()
        with _as_compiling(), limit_rewrites(limit) as log:
            report = run_pipeline(copy, make_context(), self.passes, skip=self.skip)
        steps = tuple(run.step for run in report.runs if _has_run(run))
        failed = tuple(
            f"{run.step.name}: {run.error}" for run in report.runs if run.outcome is Outcome.FAILED
        )
        return Trial(copy, tuple(log.taken), steps, failed)

    @staticmethod
    def repeat(module: ModuleOp, steps: Sequence[ModulePass], limit: int | None) -> Trial:
        """The first passes of a trial once more."""
        copy = module.clone()
        context = make_context()
        with _as_compiling(), limit_rewrites(limit) as log:
            for step in steps:
                step.apply(context, copy)
        return Trial(copy, tuple(log.taken), tuple(steps))


def _has_run(run: PassRun) -> bool:
    return run.outcome in (Outcome.CHANGED, Outcome.UNCHANGED)


@contextmanager
def _as_compiling() -> Generator[None]:
    """Constants are folded as they are when a model is compiled; a pass that fails is left out in silence."""
    with use_evaluator(HostEvaluator()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
