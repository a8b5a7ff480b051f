"""Conv -> Transpose, Conv, Transpose: the triple that a channels-last kernel runs."""

from __future__ import annotations

import math
from typing import ClassVar, Final

from xdsl.dialects.builtin import f32
from xdsl.ir import Operation

from onnxloom.dialects import onnx
from onnxloom.transforms.dim_analysis.facts import element_type
from onnxloom.transforms.fusion.spaces import shape_of
from onnxloom.transforms.layout.axes import layout_rank
from onnxloom.transforms.layout.costs import sizes
from onnxloom.transforms.layout.editor import LayoutEditor
from onnxloom.transforms.layout.rule import Follow, LayoutRule
from onnxloom.transforms.layout.triple import is_triple, make_triple
from onnxloom.transforms.miss import Miss
from onnxloom.transforms.rewriting.graph_index import GraphIndex

FLOPS_PER_NANOSECOND: Final = 100.0
"""Of a channels-first convolution."""

SHARE_SAVED: Final = 0.3
"""Of its time."""

SAVED_PER_TAP: Final = 0.05
"""Nanoseconds per element of the result and tap of a depthwise convolution; `benchmarks/depthwise.py`."""


class ConvolutionRule(LayoutRule):
    """A convolution over one to three spatial dims."""

    ops: ClassVar[tuple[type[Operation], ...]] = (onnx.ConvOp,)

    def follow(self, graph: GraphIndex, op: Operation) -> Follow | Miss:
        assert isinstance(op, onnx.ConvOp)
        if layout_rank(op.X) is None or layout_rank(op.W) != layout_rank(op.X):
            return Miss("the rank of a convolution's input or weights is not known")
        if element_type(op.X.type) != f32:
            return Miss("a convolution of this element type has no channels-last kernel")
        if any(dim < 0 for dim in (shape_of(op.W) or ())):
            return Miss("the shape of a convolution's weights is not known")
        if is_triple(op, graph.block):
            return Miss("it works channels-last")
        return Follow((op.X,), (op.Y,), saves=_saved(graph, op))

    def rewrite(self, editor: LayoutEditor, op: Operation, follow: Follow) -> None:
        make_triple(editor, op)


def _saved(graph: GraphIndex, op: onnx.ConvOp) -> float:
    weights = shape_of(op.W) or ()
    taps = math.prod(weights[1:])
    if weights[1:2] == (1,):
        return math.prod(sizes(graph, op.Y)) * taps * SAVED_PER_TAP
    return 2 * math.prod(sizes(graph, op.Y)) * taps / FLOPS_PER_NANOSECOND * SHARE_SAVED


RULES = (ConvolutionRule(),)
