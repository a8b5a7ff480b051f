"""Reshape(Reshape(x, s1), s2) -> Reshape(x, s2), with the zeros of s2 resolved.

A `0` in a target (without `allowzero`) copies a dim of the Reshape's own input. In front of `x` it would
copy another one, so each is replaced by what it copied: the number, where that is known; itself, where `x`
has the same dim in the same place; or `-1`, where all others are positive numbers.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from xdsl.ir import Operation

from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.access import bool_attr
from onnxloom.transforms.patterns.operands import static_dim
from onnxloom.transforms.rewriting.graph_index import GraphIndex
from onnxloom.transforms.rewriting.pattern import (
    MatchResult,
    Miss,
    PatternOptimization,
    Replacement,
    no_match,
)


class ReshapeReshapePattern(PatternOptimization):
    """Of two Reshapes in a row only the second matters."""

    start_ops: ClassVar[tuple[type[Operation], ...]] = (onnx.ReshapeOp,)

    def match(self, graph: GraphIndex, op: Operation) -> MatchResult | Miss:
        assert isinstance(op, onnx.ReshapeOp)
        inner = graph.producer_of(op.data, onnx.ReshapeOp)
        if inner is None:
            return no_match(op, "the input is not reshaped")
        if not graph.is_private(inner.reshaped):
            return no_match(op, "the inner result is read elsewhere")
        if bool_attr(op, "allowzero"):  # Every number in the target is meant as it stands.
            return MatchResult((inner, op))
        target = graph.constant_ints(op.shape)
        if target is None:
            return no_match(op, "the target shape is not constant: it may copy dims of the inner result")
        resolved = _resolve_zeros(graph, inner, target)
        if resolved is None:
            return no_match(op, "a dim that the target copies is not known")
        return MatchResult((inner, op), data=resolved)

    def apply(self, graph: GraphIndex, match: MatchResult) -> Replacement:
        inner, outer = match.ops
        assert isinstance(inner, onnx.ReshapeOp) and isinstance(outer, onnx.ReshapeOp)
        ops: list[Operation] = []
        target = outer.shape
        if match.data is not None:
            ops.append(graph.make_constant(np.array(match.data, np.int64)))
            target = ops[0].results[0]
        ops.append(
            graph.make(
                onnx.ReshapeOp,
                [inner.data, target],
                result_types=[outer.reshaped.type],
                name_from=outer,
                allowzero=outer.allowzero,
            )
        )
        return Replacement(ops, {outer.reshaped: ops[-1].results[0]})


def _resolve_zeros(
    graph: GraphIndex, inner: onnx.ReshapeOp, target: tuple[int, ...]
) -> tuple[int, ...] | None:
    """A target with the same meaning in front of the inner Reshape's input; None where there is none."""
    resolved = list(target)
    unknown: list[int] = []
    for axis, size in enumerate(target):
        copied = static_dim(graph, inner.reshaped, axis) if size == 0 else None
        if copied:
            resolved[axis] = copied
        elif size == 0 and not graph.same_dim(inner.data, axis, inner.reshaped, axis):
            resolved[axis] = -1
            unknown.append(axis)
    # A `-1` is determined only where no other dim can turn out to be 0.
    if unknown and (len(unknown) > 1 or -1 in target or 0 in resolved):
        return None
    return tuple(resolved)
