"""Transpose(Transpose(x, p1), p2) -> Transpose(x, q) with q[i] = p1[p2[i]]; x where q changes nothing.

The inner Transpose stays where something else reads it, and then only a pair that undoes itself is
rewritten: two Transposes of one value instead of one save nothing.
"""

from __future__ import annotations

from typing import ClassVar

from xdsl.ir import Operation

from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.access import ints_attr
from onnxloom.transforms.rewriting.graph_index import GraphIndex
from onnxloom.transforms.rewriting.pattern import (
    MatchResult,
    Miss,
    PatternOptimization,
    Replacement,
    no_match,
)


class TransposeTransposePattern(PatternOptimization):
    """Two Transposes in a row become one or none."""

    priority: ClassVar[int] = 0
    start_ops: ClassVar[tuple[type[Operation], ...]] = (onnx.TransposeOp,)

    def match(self, graph: GraphIndex, op: Operation) -> MatchResult | Miss:
        assert isinstance(op, onnx.TransposeOp)
        inner = graph.producer_of(op.data, onnx.TransposeOp)
        if inner is None:
            return no_match(op, "the input is not transposed")
        first, second = _perm(graph, inner), _perm(graph, op)
        if first is None or second is None:
            return no_match(op, "a permutation is not known")
        composed = tuple(first[axis] for axis in second)
        if composed == tuple(range(len(composed))):
            return MatchResult((op,), reads=(inner,), data=None)
        if not graph.is_private(inner.transposed):
            return no_match(op, "the inner result is read elsewhere, and the two do not cancel")
        return MatchResult((inner, op), data=composed)

    def apply(self, graph: GraphIndex, match: MatchResult) -> Replacement:
        outer = match.ops[-1]
        assert isinstance(outer, onnx.TransposeOp)
        inner = outer.data.owner
        assert isinstance(inner, onnx.TransposeOp)
        if match.data is None:
            return Replacement([], {outer.transposed: inner.data})
        merged = graph.make(onnx.TransposeOp, [inner.data], perm=match.data, name_from=outer)
        return Replacement([merged], {outer.transposed: merged.transposed})


def _perm(graph: GraphIndex, op: onnx.TransposeOp) -> tuple[int, ...] | None:
    """The permutation; without one, an op reverses the axes its input is known to have."""
    perm = ints_attr(op, "perm")
    if perm is not None:
        return perm
    rank = graph.rank(op.data)
    return None if rank is None else tuple(reversed(range(rank)))
