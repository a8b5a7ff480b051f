"""MaxPool and AveragePool -> Transpose, pool, Transpose: the triple that a channels-last kernel runs."""

from __future__ import annotations

import math
from typing import ClassVar, Final

from xdsl.dialects.builtin import f32
from xdsl.ir import Operation

from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.access import ints_attr
from onnxloom.transforms.dim_analysis.facts import element_type
from onnxloom.transforms.layout.axes import layout_rank
from onnxloom.transforms.layout.costs import sizes
from onnxloom.transforms.layout.editor import LayoutEditor
from onnxloom.transforms.layout.rule import Follow, LayoutRule
from onnxloom.transforms.layout.triple import is_triple, make_triple
from onnxloom.transforms.miss import Miss
from onnxloom.transforms.rewriting.graph_index import GraphIndex

SAVED_PER_TAP: Final = 0.1
"""Nanoseconds per element of the result and place of the window: rows of channels fill whole vectors."""


class PoolingRule(LayoutRule):
    """A pool over one to three spatial dims."""

    ops: ClassVar[tuple[type[Operation], ...]] = (onnx.MaxPoolOp, onnx.AveragePoolOp)

    def follow(self, graph: GraphIndex, op: Operation) -> Follow | Miss:
        data, result = op.operands[0], op.results[0]
        if layout_rank(data) is None or layout_rank(result) != layout_rank(data):
            return Miss("the rank of a pool's input or result is not known")
        if element_type(data.type) != f32:
            return Miss("a pool of this element type has no channels-last kernel")
        if any(other.first_use is not None for other in op.results[1:]):
            return Miss("the places of the maxima are read, which count channels-first")
        if is_triple(op, graph.block):
            return Miss("it works channels-last")
        taps = math.prod(ints_attr(op, "kernel_shape") or ())
        return Follow((data,), (result,), saves=math.prod(sizes(graph, result)) * taps * SAVED_PER_TAP)

    def rewrite(self, editor: LayoutEditor, op: Operation, follow: Follow) -> None:
        make_triple(editor, op)


RULES = (PoolingRule(),)
