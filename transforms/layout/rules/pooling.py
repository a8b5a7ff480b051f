"""MaxPool and AveragePool -> Transpose, pool, Transpose: the triple that a channels-last kernel runs."""

from __future__ import annotations

from typing import ClassVar

from xdsl.ir import Operation

from onnxloom.dialects import onnx
from onnxloom.transforms.fusion.kinds.pool_channels_last import unfit_pool
from onnxloom.transforms.layout.editor import LayoutEditor
from onnxloom.transforms.layout.product_costs import pool_saves
from onnxloom.transforms.layout.rule import Follow, LayoutRule
from onnxloom.transforms.layout.triple import is_triple, make_triple
from onnxloom.transforms.miss import Miss
from onnxloom.transforms.rewriting.graph_index import GraphIndex


class PoolingRule(LayoutRule):
    """A pool that has a channels-last kernel."""

    ops: ClassVar[tuple[type[Operation], ...]] = (onnx.MaxPoolOp, onnx.AveragePoolOp)

    def follow(self, graph: GraphIndex, op: Operation) -> Follow | Miss:
        problem = unfit_pool(op)
        if problem is not None:
            return problem
        if is_triple(op, graph.block):
            return Miss("it works channels-last")
        return Follow((op.operands[0],), (op.results[0],), saves=pool_saves(graph, op))

    def rewrite(self, editor: LayoutEditor, op: Operation, follow: Follow) -> None:
        make_triple(editor, op)


RULES = (PoolingRule(),)
