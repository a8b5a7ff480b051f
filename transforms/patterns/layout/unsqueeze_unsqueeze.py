"""Unsqueeze(Unsqueeze(x, a), b) -> Unsqueeze(x, c), c what b inserts and where a's axes then are.

The axes are constant; for negative ones the rank is known. An inner op that something else reads stays.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from xdsl.ir import Operation

from onnxloom.dialects import onnx
from onnxloom.transforms.patterns.layout.unit_axes import axes_of, with_inserted
from onnxloom.transforms.rewriting.graph_index import GraphIndex
from onnxloom.transforms.rewriting.pattern import (
    MatchResult,
    Miss,
    PatternOptimization,
    Replacement,
    no_match,
)


class UnsqueezeUnsqueezePattern(PatternOptimization):
    """Two Unsqueezes in a row become one."""

    priority: ClassVar[int] = 0
    min_opset: ClassVar[int] = 13
    start_ops: ClassVar[tuple[type[Operation], ...]] = (onnx.UnsqueezeOp,)

    def match(self, graph: GraphIndex, op: Operation) -> MatchResult | Miss:
        assert isinstance(op, onnx.UnsqueezeOp)
        inner = graph.producer_of(op.data, onnx.UnsqueezeOp)
        if inner is None:
            return no_match(op, "the input is not the result of an Unsqueeze")
        first, second = axes_of(graph, inner), axes_of(graph, op)
        if first is None or second is None:
            return no_match(op, "the axes are not known")
        axes = sorted((*with_inserted(first, second), *second))
        return MatchResult((op,), reads=(inner,), data=axes)

    def apply(self, graph: GraphIndex, match: MatchResult) -> Replacement:
        outer, inner = match.ops[0], match.reads[0]
        assert isinstance(outer, onnx.UnsqueezeOp) and isinstance(inner, onnx.UnsqueezeOp)
        axes = graph.make_constant(np.array(match.data, np.int64))
        merged = graph.make(onnx.UnsqueezeOp, [inner.data, axes.output], name_from=outer)
        return Replacement([axes, merged], {outer.expanded: merged.expanded})
