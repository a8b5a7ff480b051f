"""`unfuse-ops`: puts the ops of every fused op back in its place, nested bodies included."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter

from onnxloom.dialects.onnx import FusedOp
from onnxloom.errors import PassError
from onnxloom.transforms.fusion.helper import FusionOpKindHelper
from onnxloom.transforms.fusion.plugins import current_registry
from onnxloom.transforms.pass_manager.pass_text import listed


@dataclass(frozen=True)
class UnfuseOpsPass(ModulePass):
    """Inlines fused ops of the given kinds, of every kind by default."""

    name = "unfuse-ops"

    kinds: tuple[str, ...] | None = None

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        wanted = listed(self.kinds)
        unfuse_ops(op, None if wanted is None else set(wanted))


def unfuse_ops(module: Operation, kinds: set[str] | None = None) -> int:
    """Inlines the fused ops below `module`; gives their number.

    Raises:
        PassError: one of `kinds` is no kind that is known, and none of the fused ops has it.
    """
    fused = [op for op in module.walk() if isinstance(op, FusedOp)]
    _check_kinds(kinds or set(), fused)
    chosen = [op for op in fused if kinds is None or op.kind.data in kinds]
    # Inner ones first would move twice; a fused op in a fused op stays valid when the outer goes first.
    for op in chosen:
        FusionOpKindHelper.unfuse(PatternRewriter(op), op)
    return len(chosen)


def _check_kinds(kinds: set[str], fused: list[FusedOp]) -> None:
    """A kind of the IR counts as known: it may be of a plug-in that is not loaded."""
    known = {helper.kind for helper in current_registry().helpers} | {op.kind.data for op in fused}
    for name in sorted(kinds - known):
        raise PassError(f"unfuse-ops: unknown fusion kind {name!r}; known: {', '.join(sorted(known))}")
