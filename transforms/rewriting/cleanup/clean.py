"""What is left to tidy up after something has changed?

The steps look at the ops around a change, again where they change something themselves, until there is
nothing more: the cost is that of what changed, not that of the graph.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Final

from xdsl.ir import Operation

from onnxloom.transforms.rewriting.budget import may_rewrite
from onnxloom.transforms.rewriting.cleanup.common_subexpressions import CommonSubexpressions
from onnxloom.transforms.rewriting.cleanup.dead_ops import DeadOps
from onnxloom.transforms.rewriting.cleanup.duplicate_weights import DuplicateWeights
from onnxloom.transforms.rewriting.cleanup.identities import Identities
from onnxloom.transforms.rewriting.cleanup.removal import CleanupStep
from onnxloom.transforms.rewriting.edits import Edits

STEPS: Final = (Identities, DuplicateWeights, CommonSubexpressions, DeadOps)

Recorded = Callable[[str], AbstractContextManager[object]]
"""Opens a batch of this name for what a step does."""


class Cleanup:
    """Tidies one block."""

    def __init__(self, edits: Edits, recorded: Recorded):
        self.edits = edits
        self.recorded = recorded
        self.removed: dict[str, int] = {}
        """Step -> ops removed."""

        self.is_stopped = False
        """Whether the budget of rewrites is used up."""

        self._steps: Sequence[CleanupStep] = [step(edits.index) for step in STEPS]

    def run(self, work: Sequence[Operation]) -> list[Operation]:
        """Tidies around `work`, given in block order; gives the ops that were touched."""
        touched: dict[Operation, None] = {}
        block = self.edits.index.block
        while work and not self.is_stopped:
            for step in self._steps:
                if self.is_stopped:
                    break
                self._run(step, [op for op in work if op.parent is block])
            work = self.edits.take_touched()
            touched.update(dict.fromkeys(work))
        return [op for op in touched if op.parent is block]

    def _run(self, step: CleanupStep, work: Sequence[Operation]) -> None:
        removals = step.find(work)
        if not removals:
            return
        if not may_rewrite("cleanup", f"{step.name}: {len(removals)} ops"):
            self.is_stopped = True
            return
        with self.recorded(f"cleanup:{step.name}"):
            for removal in removals:
                self.edits.replace(removal.values)
                self.edits.erase(removal.op)
        self.removed[step.name] = self.removed.get(step.name, 0) + len(removals)
