"""Attention(q, repeat(k), repeat(v), mask) -> Attention(q, k, v, mask).

`repeat` holds each head `g` times in a row, the same `g` for keys and values: heads that share keys are
part of the op.
"""

from __future__ import annotations

from typing import Any, ClassVar

from xdsl.ir import Operation

from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.access import is_none
from onnxloom.transforms.patterns.attention.repeated_heads import repeated_heads
from onnxloom.transforms.rewriting.graph_index import GraphIndex
from onnxloom.transforms.rewriting.pattern import (
    MatchResult,
    Miss,
    Numerics,
    PatternOptimization,
    Replacement,
    no_match,
)


class FunctionAttentionGQAPattern(PatternOptimization):
    """Heads that are repeated for Attention are shared instead."""

    priority: ClassVar[int] = 2
    min_opset: ClassVar[int] = 23
    start_ops: ClassVar[tuple[type[Operation], ...]] = (onnx.AttentionOp,)
    numerics: ClassVar[Numerics] = Numerics.TOLERANCE

    def match(self, graph: GraphIndex, op: Operation) -> MatchResult | Miss:
        assert isinstance(op, onnx.AttentionOp)
        keys, values = repeated_heads(graph, op.K), repeated_heads(graph, op.V)
        if keys is None or values is None:
            return no_match(op, "keys and values are not both repeated")
        if keys.times != values.times:
            return no_match(op, "keys and values are repeated differently")
        if not is_none(op.past_key):
            return no_match(op, "there are past keys, which are not repeated")
        if any(not is_none(result) for result in op.results[1:]):
            return no_match(op, "keys, values or scores are results of the op")
        return MatchResult((op,), (*keys.ops, *values.ops), data=(keys.value, values.value))

    def apply(self, graph: GraphIndex, match: MatchResult) -> Replacement:
        (old,) = match.ops
        assert isinstance(old, onnx.AttentionOp)
        operands = [old.Q, *match.data, *old.operands[3:]]
        types = [result.type for result in old.results]
        attributes: dict[str, Any] = dict(old.properties)
        shared = graph.make(onnx.AttentionOp, operands, result_types=types, name_from=old, **attributes)
        return Replacement([shared], {old.Y: shared.Y})
