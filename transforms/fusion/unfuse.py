"""`unfuse-ops`: puts the ops of every fused op back in its place, nested bodies included."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter

from onnxloom.dialects.onnx import FusedOp
from onnxloom.transforms.fusion.helper import FusionOpKindHelper
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
    """Inlines the fused ops below `module`; gives their number."""
    fused = [op for op in module.walk() if isinstance(op, FusedOp)]
    chosen = [op for op in fused if kinds is None or op.kind.data in kinds]
    # Inner ones first would move twice; a fused op in a fused op stays valid when the outer goes first.
    for op in chosen:
        FusionOpKindHelper.unfuse(PatternRewriter(op), op)
    return len(chosen)
