"""Pass `channels-last`: convolutions and pools work on NxHxWxC tensors where that pays.

    x_nhwc -> Transpose(0,3,1,2) -> Conv -> Transpose(0,2,3,1) -> y_nhwc

Such a triple is one kernel; each has Transposes of its own. What stands between two of them is rewritten to
work on `y_nhwc` (`rules/`). Conversions stay where a chain of channels-last ops begins or ends.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation
from xdsl.passes import ModulePass

from onnxloom.dialects.onnx.annotations import is_kept
from onnxloom.transforms.dim_analysis import DimAnalysis
from onnxloom.transforms.layout.axes import makes_first, makes_last
from onnxloom.transforms.layout.choice import Candidate, Candidates, candidates, choose
from onnxloom.transforms.layout.costs import conversion_cost
from onnxloom.transforms.layout.editor import LayoutEditor
from onnxloom.transforms.layout.report import Converted, LayoutReport
from onnxloom.transforms.layout.triple import PRODUCTS
from onnxloom.transforms.miss import Miss
from onnxloom.transforms.rewriting.blocks import blocks_inside_out
from onnxloom.transforms.rewriting.budget import may_rewrite
from onnxloom.transforms.rewriting.constants import ConstantValues
from onnxloom.transforms.rewriting.graph_index import GraphIndex


@dataclass(frozen=True)
class ChannelsLastPass(ModulePass):
    """Lets convolutions, pools and what stands between them work channels-last."""

    name = "channels-last"

    opset: int | None = None
    """Version of the default domain that results may use; the newest when left out."""

    report: LayoutReport = field(default_factory=LayoutReport, init=False, compare=False, repr=False)

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        self.report.clear()
        dims = DimAnalysis.of(op)
        constants = ConstantValues()
        for block in blocks_inside_out(op):
            self.convert(GraphIndex(block, dims, opset=self.opset, constants=constants))

    def convert(self, graph: GraphIndex) -> None:
        """Rewrites the chosen ops of a block."""
        found = candidates(graph)
        chosen = choose(graph, found.found)
        reasons = _reasons_at_border(found, chosen)
        granted = [candidate for candidate in chosen if may_rewrite(self.name, "channels-last", candidate.op)]
        if granted:
            editor = _rewrite(graph.block, granted)
            self.report.converted.append(_summary(graph, granted, editor))
        self._explain(reasons, found.found, chosen)

    def _explain(
        self,
        misses: dict[Operation, Miss],
        found: dict[Operation, Candidate],
        chosen: Sequence[Candidate],
    ) -> None:
        went = {candidate.op for candidate in chosen}
        for op, miss in misses.items():
            self.report.decline(op, miss)
        for op, candidate in found.items():
            if op not in went and candidate.follow.saves > 0:
                gain = candidate.follow.saves / 1e3
                self.report.decline(
                    op, Miss(f"conversions would take longer than the {gain:.0f} us it saves")
                )


def _reasons_at_border(found: Candidates, chosen: Sequence[Candidate]) -> dict[Operation, Miss]:
    """Why ops that read or give what a chosen op gives or reads cannot go along, and why products cannot."""
    values = {value for candidate in chosen for value in (*candidate.follow.reads, *candidate.follow.gives)}
    return {
        op: miss
        for op, miss in found.misses.items()
        if op not in found.found
        and (isinstance(op, PRODUCTS) or not values.isdisjoint((*op.operands, *op.results)))
    }


def _rewrite(block: Block, granted: Sequence[Candidate]) -> LayoutEditor:
    editor = LayoutEditor(block)
    wanted = {candidate.op: candidate for candidate in granted}
    for op in list(block.ops):
        candidate = wanted.get(op)
        if candidate is not None:
            editor.absorb(candidate.follow.absorbs)
            editor.at(op)
            candidate.rule.rewrite(editor, op, candidate.follow)
        elif not is_kept(op):
            _cancel(editor, op)
    editor.finish()
    return editor


def _cancel(editor: LayoutEditor, op: Operation) -> None:
    """A conversion that is there already gives a twin, or takes one that is known."""
    if makes_first(op):
        editor.know(op.results[0], op.operands[0])
        editor.absorb([op])
    if not makes_last(op):
        return
    value, twin = op.operands[0], op.results[0]
    if editor.has_twin(value):
        editor.replace(twin, editor.twin(value))
        editor.absorb([op])
    else:
        editor.know(value, twin)


def _summary(graph: GraphIndex, granted: Sequence[Candidate], editor: LayoutEditor) -> Converted:
    savings = [candidate.follow.saves for candidate in granted]
    products = sum(saves > 0 for saves in savings)
    spent = sum(conversion_cost(graph, value) for value in editor.conversions)
    return Converted(products, len(granted) - products, sum(savings), len(editor.conversions), spent)
