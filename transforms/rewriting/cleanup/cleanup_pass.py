"""Pass `cleanup`: identities, duplicate weights, common subexpressions and dead ops go, everywhere."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from onnxloom.transforms.dim_analysis import DimAnalysis
from onnxloom.transforms.rewriting.blocks import blocks_inside_out
from onnxloom.transforms.rewriting.cleanup.clean import Cleanup
from onnxloom.transforms.rewriting.edits import Edits, Journal
from onnxloom.transforms.rewriting.graph_index import GraphIndex
from onnxloom.transforms.rewriting.recording import current_recorder


@dataclass(frozen=True)
class CleanupPass(ModulePass):
    """Tidies a module. Graph inputs and outputs keep their names and order."""

    name = "cleanup"

    removed: dict[str, int] = field(default_factory=dict[str, int], init=False, compare=False, repr=False)
    """Step -> ops the last run removed."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        self.removed.clear()
        self.removed.update(clean_up(op))


def clean_up(module: ModuleOp) -> dict[str, int]:
    """What the pass does; gives the number of ops each step removed. Linear in the number of ops."""
    recorder = current_recorder()

    def recorded(name: str) -> AbstractContextManager[object]:
        return nullcontext() if recorder is None else recorder.batch(module, name)

    removed: dict[str, int] = {}
    dims = DimAnalysis.of(module)
    for block in blocks_inside_out(module):
        edits = Edits(GraphIndex(block, dims), Journal())
        cleanup = Cleanup(edits, recorded)
        cleanup.run(list(block.ops))
        for step, count in cleanup.removed.items():
            removed[step] = removed.get(step, 0) + count
        if cleanup.is_stopped:
            break
    return removed
