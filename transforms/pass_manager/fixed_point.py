"""Pass `fixed-point`: a group of passes, repeated while they change anything, a few times at most."""

from __future__ import annotations

from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from onnxloom.transforms.pass_manager.pass_log import PipelineReport
from onnxloom.transforms.pass_manager.pass_text import parse_passes


@dataclass(frozen=True)
class FixedPointPass(ModulePass):
    """Runs passes in order, again and again, until a whole sweep changes nothing.

    The cap on sweeps ends what two passes that undo each other would go on with for ever.
    """

    name = "fixed-point"

    pipeline: str
    """The passes, as text."""

    max_sweeps: int = 3
    """How often they run at most."""

    passes: tuple[ModulePass, ...] = field(init=False, compare=False, repr=False)

    report: PipelineReport = field(default_factory=PipelineReport, init=False, compare=False, repr=False)
    """What the passes did, after `apply`."""

    def __post_init__(self) -> None:
        if self.max_sweeps < 1:
            raise ValueError(f"max-sweeps is {self.max_sweeps}; expected at least 1")
        object.__setattr__(self, "passes", parse_passes(self.pipeline))

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        from onnxloom.transforms.pass_manager.pass_runner import run_pipeline

        self.report.runs[:] = run_pipeline(op, ctx, [self], strict=True, log=True).runs
