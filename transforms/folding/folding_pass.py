"""What all folding passes share: options, report, and how a run is made."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from onnxloom.transforms.folding.folding import Folding, Rule
from onnxloom.transforms.folding.policy import FoldingPolicy
from onnxloom.transforms.folding.report import FoldingReport


@dataclass(frozen=True)
class FoldingPass(ModulePass):
    """Base of the folding passes: a subclass says which rule one run applies to each op."""

    size_limit: int | None = None
    """In bytes: results that are larger, and larger than their inputs, are not made. None: 16 MiB."""

    memory_priority: bool = False
    """Leave alone what reads constants that others read, too."""

    report: FoldingReport = field(default_factory=FoldingReport, init=False, compare=False, repr=False)
    """What the last run did."""

    def __post_init__(self) -> None:
        if self.size_limit is not None and self.size_limit < 0:
            raise ValueError(f"{self.name}: size-limit is {self.size_limit}; expected 0 or more")

    @property
    def policy(self) -> FoldingPolicy:
        if self.size_limit is None:
            return FoldingPolicy(memory_priority=self.memory_priority)
        return FoldingPolicy(self.size_limit, self.memory_priority)

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        self.report.clear()
        self.report.pass_name = self.name
        rule = self.rule(op)
        if rule is not None:
            folding = Folding(self.name, rule, self.report)
            folding.run(op, self.finish(op, folding))

    def rule(self, module: ModuleOp) -> Rule | None:
        """What to do with each op of this module; None when there is nothing to do."""
        raise NotImplementedError

    def finish(self, module: ModuleOp, folding: Folding) -> Callable[[], None] | None:
        """Called when all ops were visited."""
        return None
