"""Attention(q, Concat(past_k, k), Concat(past_v, v), mask) -> Attention(q, k, v, mask, past_k, past_v).

The joined keys and values become results of the op. Not for causal attention: with past keys its diagonal
starts after them, without at the first key.
"""

from __future__ import annotations

from typing import Any, ClassVar

from xdsl.ir import Operation, SSAValue

from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.access import bool_attr, int_attr, is_none
from onnxloom.transforms.rewriting.graph_index import GraphIndex
from onnxloom.transforms.rewriting.pattern import (
    MatchResult,
    Miss,
    PatternOptimization,
    Replacement,
    no_match,
)


class AttentionGQAPattern(PatternOptimization):
    """A cache of keys and values that is joined outside of Attention is joined inside."""

    priority: ClassVar[int] = 3
    min_opset: ClassVar[int] = 23
    start_ops: ClassVar[tuple[type[Operation], ...]] = (onnx.AttentionOp,)

    def match(self, graph: GraphIndex, op: Operation) -> MatchResult | Miss:
        assert isinstance(op, onnx.AttentionOp)
        keys, values = _cache(graph, op.K), _cache(graph, op.V)
        if keys is None or values is None:
            return no_match(op, "keys and values are not both joined of past and new ones along the rows")
        if keys is values:
            return no_match(op, "keys and values are the same")
        if any(not is_none(value) for value in op.operands[4:]):
            return no_match(op, "there are past keys, or a number of valid ones")
        if any(not is_none(result) for result in op.results[1:]):
            return no_match(op, "keys, values or scores are results of the op")
        if bool_attr(op, "is_causal") or any(
            int_attr(op, f"{side}_window_size") != -1 for side in ("left", "right")
        ):
            return no_match(op, "what a query sees depends on the number of past keys")
        if any(graph.is_used_by_subgraph(cache.concat_result) for cache in (keys, values)):
            return no_match(op, "a nested region reads the joined keys or values")
        return MatchResult((keys, values, op), insert_at=op)

    def apply(self, graph: GraphIndex, match: MatchResult) -> Replacement:
        keys, values, old = match.ops
        assert isinstance(keys, onnx.ConcatOp) and isinstance(values, onnx.ConcatOp)
        assert isinstance(old, onnx.AttentionOp)
        (past_k, new_k), (past_v, new_v) = keys.inputs, values.inputs
        mask = None if is_none(old.attn_mask) else old.attn_mask
        types = [old.Y.type, keys.concat_result.type, values.concat_result.type, old.results[3].type]
        attributes: dict[str, Any] = dict(old.properties)
        fresh = graph.make(
            onnx.AttentionOp,
            [old.Q, new_k, new_v, mask, past_k, past_v],
            result_types=types,
            name_from=old,
            **attributes,
        )
        results: dict[SSAValue, SSAValue] = {
            old.Y: fresh.Y,
            keys.concat_result: fresh.present_key,
            values.concat_result: fresh.present_value,
        }
        return Replacement([fresh], results)


def _cache(graph: GraphIndex, value: SSAValue) -> onnx.ConcatOp | None:
    """The Concat of past and new rows of a `[batch, head, row, column]` value."""
    concat = graph.producer_of(value, onnx.ConcatOp)
    if concat is None or len(concat.inputs) != 2 or graph.rank(value) != 4:
        return None
    return concat if int_attr(concat, "axis") in (2, -2) else None
