"""Which rewrite, or which pass, is the first after which a module gives something else on the host?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from xdsl.dialects.builtin import ModuleOp

from onnxloom.dialects import onnx
from onnxloom.dialects.verify_module import verify_module
from onnxloom.errors import InputError, ModelError
from onnxloom.lowering.evaluate_module import evaluate_module
from onnxloom.testing.difference import differences
from onnxloom.testing.tolerance import Tolerance
from onnxloom.tools.bisecting.search import first_wrong
from onnxloom.tools.bisecting.trials import Trial, Trials
from onnxloom.transforms.describe import describe


@dataclass(frozen=True)
class Judge:
    """Knows what a module should give."""

    feeds: Mapping[str, Any]
    want: Mapping[str, Any]
    tolerance: Tolerance

    @staticmethod
    def of(module: ModuleOp, feeds: Mapping[str, Any], tolerance: Tolerance) -> Judge:
        """A judge by what the module itself gives.

        Raises:
            ModelError: it cannot be evaluated.
            InputError: it gives something else each time.
        """
        want = evaluate_module(module, feeds)
        random = next((op for op in module.walk() if op.has_trait(onnx.NonDeterministic)), None)
        if random is not None and differences(want, evaluate_module(module, feeds)):
            raise InputError(f"{describe(random)} is random: each run gives something else, right or wrong")
        return Judge(feeds, want, tolerance)

    def fault(self, module: ModuleOp) -> str:
        """What is wrong with what a module gives on the host; "" when nothing is."""
        try:
            verify_module(module)
        except ModelError as error:
            return f"the IR is not valid: {error}"
        try:
            return self.fault_of(evaluate_module(module, self.feeds))
        except ModelError as error:
            return f"it does not run any more: {error}"

    def fault_of(self, got: Mapping[str, Any]) -> str:
        """What is wrong with outputs; "" when nothing is."""
        found = differences(self.want, got, self.tolerance)
        return f"output {found[0]}" if found else ""


@dataclass(frozen=True)
class WrongStep:
    """The step that made the results wrong, and the module on both sides of it."""

    pass_name: str
    rewrite: str
    """Which of the pass's rewrites; "" when it is the pass as a whole."""
    number: int
    """Of the rewrite, from 1, in the whole pipeline; how many came before the pass where there is none."""
    fault: str
    before: ModuleOp
    after: ModuleOp


@dataclass(frozen=True)
class RewriteSearch:
    """What a search over the rewrites found."""

    full: Trial
    """The whole pipeline."""
    wrong: WrongStep | None


def find_wrong_rewrite(module: ModuleOp, trials: Trials, judge: Judge) -> RewriteSearch:
    """Searches the rewrites of a pipeline; `wrong` is None when all its results are right."""
    full = trials.run(module)
    total = len(full.rewrites)
    if not judge.fault(full.module):
        return RewriteSearch(full, None)

    def is_wrong(limit: int) -> bool:
        return bool(judge.fault(trials.run(module, limit).module))

    number = 0 if is_wrong(0) else first_wrong(0, total, is_wrong)
    return RewriteSearch(full, _wrong_step(module, trials, judge, number))


def _wrong_step(module: ModuleOp, trials: Trials, judge: Judge, number: int) -> WrongStep:
    """The pass in which a run of `number` rewrites goes wrong; the last rewrite, if it is that pass's."""
    steps = trials.run(module, number).steps

    def is_wrong(count: int) -> bool:
        return bool(judge.fault(trials.repeat(module, steps[:count], number).module))

    count = first_wrong(0, len(steps), is_wrong)
    after = trials.repeat(module, steps[:count], number)
    earlier = trials.repeat(module, steps[: count - 1], number)
    fault = judge.fault(after.module)
    if len(earlier.rewrites) < number <= len(after.rewrites):
        before = trials.repeat(module, steps[:count], number - 1)
        return WrongStep(*after.rewrites[number - 1], number, fault, before.module, after.module)
    name = steps[count - 1].name
    return WrongStep(name, "", len(earlier.rewrites), fault, earlier.module, after.module)
