"""Softmax(scale * (q @ transpose(k)) + mask) @ v -> Attention(q, k, v, mask; scale).

`scores.py` lists the ways scale and mask are written. All of q, k and v have rank 4 and provably the same
batch and heads; the number of heads and their width are static. NaN of rows that see no key, replaced by
0 (`Where(IsNaN(p), 0, p)`), is what the op gives by itself; without that, no row may be hidden altogether.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from xdsl.ir import Operation, SSAValue

from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.access import int_attr
from onnxloom.transforms.patterns.attention.hidden_rows import hides_no_row
from onnxloom.transforms.patterns.attention.scores import Scores, match_scores
from onnxloom.transforms.patterns.operands import scalar_beside, static_dim
from onnxloom.transforms.rewriting.graph_index import GraphIndex
from onnxloom.transforms.rewriting.pattern import (
    MatchResult,
    Miss,
    Numerics,
    PatternOptimization,
    Replacement,
    no_match,
)


@dataclass(frozen=True)
class _Found:
    scores: Scores
    values: SSAValue


class FunctionAttentionPattern(PatternOptimization):
    """Decomposed scaled dot-product attention becomes the op."""

    min_opset: ClassVar[int] = 23
    start_ops: ClassVar[tuple[type[Operation], ...]] = (onnx.MatMulOp,)
    numerics: ClassVar[Numerics] = Numerics.TOLERANCE

    def match(self, graph: GraphIndex, op: Operation) -> MatchResult | Miss:
        assert isinstance(op, onnx.MatMulOp)
        softmax, guard = _softmax_behind(graph, op.A)
        if softmax is None:
            return no_match(op, "the left factor is no Softmax")
        if graph.rank(softmax.output) != 4 or int_attr(softmax, "axis") not in (-1, 3):
            return no_match(op, "the Softmax is not over the last axis of rank 4")
        if not graph.is_used_only_by(softmax.output, (op, *guard)):
            return no_match(op, "something else reads the probabilities")
        if not all(graph.is_private(step.results[0]) for step in guard):
            return no_match(op, "something else reads the probabilities without NaN")
        scores = match_scores(graph, softmax.input, op)
        if isinstance(scores, Miss):
            return scores
        problem = _shape_problem(graph, scores, op.B)
        if problem is not None:
            return no_match(op, problem)
        if not _is_fit_for_attribute(graph, scores.scale, op.Y):
            return no_match(op, "the scale is not positive, or no f32 number")
        if not guard and scores.mask is not None and not hides_no_row(graph, scores.mask):
            return no_match(op, "the mask may hide all keys from a query, which gives NaN")
        ops = (*reversed(scores.ops), softmax, *guard, op)
        return MatchResult(ops, scores.reads, data=_Found(scores, op.B))

    def apply(self, graph: GraphIndex, match: MatchResult) -> Replacement:
        found: _Found = match.data
        scores, last = found.scores, match.ops[-1]
        assert isinstance(last, onnx.MatMulOp)
        ops: list[Operation] = []
        keys = scores.keys
        if scores.perm is not None:
            transpose = graph.make(onnx.TransposeOp, [keys], perm=scores.perm)
            ops.append(transpose)
            keys = transpose.transposed
        operands = [scores.queries, keys, found.values, scores.mask]
        attention = graph.make(onnx.AttentionOp, operands, name_from=last, scale=scores.scale)
        return Replacement([*ops, attention], {last.Y: attention.Y})


def _softmax_behind(
    graph: GraphIndex, value: SSAValue
) -> tuple[onnx.SoftmaxOp | None, tuple[Operation, ...]]:
    """The Softmax, and the ops that replace NaN in its result by 0."""
    where = graph.producer_of(value, onnx.WhereOp)
    if where is None:
        return graph.producer_of(value, onnx.SoftmaxOp), ()
    is_nan = graph.producer_of(where.condition, onnx.IsNaNOp)
    if is_nan is None or is_nan.X is not where.Y or scalar_beside(graph, where.X, where.Y) != 0.0:
        return None, ()
    return graph.producer_of(where.Y, onnx.SoftmaxOp), (is_nan, where)


def _shape_problem(graph: GraphIndex, scores: Scores, values: SSAValue) -> str | None:
    """Why queries, keys and values are not those of the op."""
    queries, keys = scores.queries, scores.keys
    if any(graph.rank(value) != 4 for value in (queries, keys, values)):
        return "queries, keys and values have not all rank 4"
    if static_dim(graph, queries, 1) is None or not static_dim(graph, queries, 3):
        return "the number or the width of the heads is not known"
    heads = 1 if scores.perm is None else 2
    for axis, of_keys in ((0, 0), (1, heads)):
        if not graph.same_dim(queries, axis, keys, of_keys) or not graph.same_dim(
            queries, axis, values, axis
        ):
            return "the batch or the heads of keys or values may be broadcast"
    return None


def _is_fit_for_attribute(graph: GraphIndex, scale: float, value: SSAValue) -> bool:
    """The scale is an f32 attribute, of which a square root is taken."""
    if not (np.isfinite(scale) and scale > 0):
        return False
    return graph.dtype(value) != np.float64 or float(np.float32(scale)) == scale
