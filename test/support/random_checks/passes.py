"""Does a pass, run alone on a fresh import, keep the outputs, the types and the rules of the IR?"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass

from random_graphs import RandomGraph
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from onnxloom.conversion.onnx_export import export_model
from onnxloom.conversion.onnx_import import import_model
from onnxloom.dialects.onnx.text import make_context
from onnxloom.dialects.verify_module import verify_module
from onnxloom.lowering.evaluate_module import evaluate_module
from onnxloom.lowering.evaluate_op import HostEvaluator
from onnxloom.testing.declared import DeclaredTypes
from onnxloom.transforms.folding.evaluator import use_evaluator
from onnxloom.transforms.pass_manager.pass_runner import run_pipeline
from onnxloom.transforms.pass_manager.pass_table import TRANSFORM_PASSES
from onnxloom.transforms.pass_manager.pass_text import parse_passes
from onnxloom.transforms.pipelines import pipeline
from random_checks.compare import Agreement, value_failure
from random_checks.failure import Failure

ROUND_TRIP = "round trip"

PIPELINES = ("O1", "O2", "O3")

_NOT_ALONE = {"print-dims", "fixed-point"}
"""Passes that change nothing, or only run others."""

_FORMS = {
    "rewrite-patterns": {
        "rewrite-patterns{numerics=exact}": Agreement.EXACT,
        "rewrite-patterns{numerics=tolerance}": Agreement.ROUNDING,
    },
    "unfuse-ops": {"fuse-ops,unfuse-ops": Agreement.EXACT},
}
"""Pipelines that stand for a pass, where its name alone does not."""

_ROUNDING = {"fold-constants", "fold-weights", "channels-last"}
"""Passes that evaluate ops ahead of time, merge factors or add in another order: rounding differs."""


@dataclass(frozen=True)
class PassCheck:
    """A pipeline of one pass, and what it promises."""

    text: str
    agreement: Agreement

    @property
    def passes(self) -> Sequence[ModulePass]:
        """The passes; `O1` stands for those of this level."""
        if self.text in PIPELINES:
            return pipeline(int(self.text[1:]))
        return parse_passes(self.text)


def pass_checks() -> list[PassCheck]:
    """One check per pass over onnx IR that there is."""
    found: list[PassCheck] = []
    for name in TRANSFORM_PASSES:
        if name in _NOT_ALONE:
            continue
        usual = Agreement.ROUNDING if name in _ROUNDING else Agreement.EXACT
        found += [PassCheck(text, agreement) for text, agreement in _FORMS.get(name, {name: usual}).items()]
    return found


def pipeline_check(number: int) -> PassCheck:
    """The passes of one level, by turns."""
    return PassCheck(PIPELINES[number % len(PIPELINES)], Agreement.ROUNDING)


def imported(graph: RandomGraph) -> ModuleOp | Failure:
    """The module of a graph."""
    try:
        return import_model(graph.model)
    except Exception as error:
        return Failure.of(ROUND_TRIP, "import", error)


def round_trip_failure(graph: RandomGraph, module: ModuleOp) -> Failure | None:
    """Import and export, evaluated both as a module and, imported once more, as a model."""
    failure = _evaluated(ROUND_TRIP, graph, module, Agreement.EXACT)
    if failure is not None:
        return failure
    try:
        again = import_model(export_model(module))
    except Exception as error:
        return Failure.of(ROUND_TRIP, "export", error)
    return _evaluated(ROUND_TRIP, graph, again, Agreement.EXACT)


def pass_failure(graph: RandomGraph, module: ModuleOp, check: PassCheck) -> tuple[Failure | None, bool]:
    """What the pass does wrong, and whether it changed anything; `module` is not changed."""
    name = f"pass {check.text}"
    copy = module.clone()
    try:
        with warnings.catch_warnings(), use_evaluator(HostEvaluator()):
            warnings.simplefilter("ignore")
            run_pipeline(copy, make_context(), check.passes, strict=True)
    except Exception as error:
        return Failure.of(name, "apply", error), True
    if _same(copy, module):
        return None, False
    try:
        verify_module(copy)
    except Exception as error:
        return Failure.of(name, "verify", error), True
    return _evaluated(name, graph, copy, check.agreement), True


def _same(a: ModuleOp, b: ModuleOp) -> bool:
    if not a.is_structurally_equivalent(b):
        return False
    # Structural equivalence is not about types.
    return all(
        [value.type for value in one.results] == [value.type for value in other.results]
        for one, other in zip(a.walk(), b.walk(), strict=True)
    )


def pass_failures(graph: RandomGraph, checks: Sequence[PassCheck]) -> tuple[list[Failure], set[str]]:
    """All that goes wrong with a graph, and the pipelines that changed it."""
    module = imported(graph)
    if isinstance(module, Failure):
        return [module], set()
    failures = [failure] if (failure := round_trip_failure(graph, module)) is not None else []
    changed: set[str] = set()
    for check in checks:
        failure, did_change = pass_failure(graph, module, check)
        failures += [failure] if failure is not None else []
        changed |= {check.text} if did_change else set()
    return failures, changed


def _evaluated(name: str, graph: RandomGraph, module: ModuleOp, agreement: Agreement) -> Failure | None:
    declared = DeclaredTypes()
    try:
        got = evaluate_module(module, graph.feeds, seen=declared.see)
    except Exception as error:
        return Failure.of(name, "evaluate", error)
    if declared.wrong:
        return Failure(name, "types", declared.wrong)
    return value_failure(name, graph, got, agreement)
