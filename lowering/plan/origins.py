"""Which op of the model is a step for? Asked when something went wrong; silent steps are traced back."""

from __future__ import annotations

from collections.abc import Sequence

from onnxloom.lowering.plan.program import EmptyStep, HostStep, IndexStep, LaunchStep, Slot, Step, ViewStep


def origin_of(steps: Sequence[Step], at: int) -> str:
    """What messages call the op that step `at` of a block is for; "" if nothing tells."""
    step = steps[at]
    if isinstance(step, HostStep):
        return step.title
    if isinstance(step, LaunchStep):
        return _maker(steps[:at], {*step.outs, *step.sizes})
    if isinstance(step, ViewStep):
        return _maker(steps[:at], {step.offset, *step.sizes})
    return getattr(step, "origin", "")


def _maker(before: Sequence[Step], slots: set[Slot]) -> str:
    """The origin of the last step that made one of `slots` and knows its own."""
    for step in reversed(before):
        made = (step.result,) if isinstance(step, EmptyStep) else ()
        made = step.results if isinstance(step, IndexStep) else made
        if isinstance(step, EmptyStep | IndexStep) and step.origin and slots.intersection(made):
            return step.origin
    return ""
