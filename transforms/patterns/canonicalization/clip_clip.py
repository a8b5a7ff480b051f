"""Clip(Clip(x, m1, M1), m2, M2) -> Clip(x, max(m1, m2), min(max(M1, m2), M2)).

The inner upper bound meets the outer *lower* bound first: Clip to [0, 1], then to [2, 3], gives 2. A bound
that is left out takes no part. Bounds that are not constant are merged in one case, where nothing has to be
compared: only a lower bound inside, only an upper one outside.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from xdsl.ir import Operation, SSAValue

from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.access import is_none
from onnxloom.transforms.rewriting.graph_index import GraphIndex
from onnxloom.transforms.rewriting.pattern import (
    MatchResult,
    Miss,
    PatternOptimization,
    Replacement,
    no_match,
)

_Bound = np.ndarray[Any, Any] | None
"""None: left out."""


@dataclass(frozen=True)
class _Bounds:
    """What the merged Clip gets: values that exist, or constants to make."""

    low: SSAValue | _Bound
    high: SSAValue | _Bound


class ClipClipPattern(PatternOptimization):
    """Two Clips in a row become one."""

    start_ops: ClassVar[tuple[type[Operation], ...]] = (onnx.ClipOp,)

    def match(self, graph: GraphIndex, op: Operation) -> MatchResult | Miss:
        assert isinstance(op, onnx.ClipOp)
        inner = graph.producer_of(op.input, onnx.ClipOp)
        if inner is None:
            return no_match(op, "the input is not clipped")
        if not graph.is_private(inner.output):
            return no_match(op, "the inner result is read elsewhere")
        if is_none(inner.max) and is_none(op.min):
            return MatchResult((inner, op), data=_Bounds(_given(inner.min), _given(op.max)))
        bounds = [_constant(graph, bound) for bound in (inner.min, inner.max, op.min, op.max)]
        if any(isinstance(bound, str) for bound in bounds):
            return no_match(op, "a bound is not a constant number")
        low, high, outer_low, outer_high = (None if isinstance(b, str) else b for b in bounds)
        merged = _Bounds(_largest(low, outer_low), _smallest(_raised(high, outer_low), outer_high))
        if any(_is_unordered(a, b) for a in (low, high) for b in (outer_low, outer_high)):
            return no_match(op, "bounds 0.0 and -0.0: which one wins is left open")
        return MatchResult((inner, op), data=merged)

    def apply(self, graph: GraphIndex, match: MatchResult) -> Replacement:
        inner, outer = match.ops
        assert isinstance(inner, onnx.ClipOp) and isinstance(outer, onnx.ClipOp)
        ops: list[Operation] = []
        operands: list[SSAValue | None] = [inner.input]
        found: _Bounds = match.data
        for bound in (found.low, found.high):
            if bound is None or isinstance(bound, SSAValue):
                operands.append(bound)
                continue
            ops.append(graph.make_constant(bound))
            operands.append(ops[-1].results[0])
        ops.append(graph.make(onnx.ClipOp, operands, result_types=[outer.output.type], name_from=outer))
        return Replacement(ops, {outer.output: ops[-1].results[0]})


def _given(value: SSAValue) -> SSAValue | None:
    return None if is_none(value) else value


def _constant(graph: GraphIndex, bound: SSAValue) -> _Bound | str:
    """A scalar; a word where it is not known or not a number."""
    if is_none(bound):
        return None
    array = graph.constant(bound)
    if array is None or array.size != 1 or bool(np.isnan(array.reshape(()))):
        return "unknown"
    return array.reshape(())


def _largest(a: _Bound, b: _Bound) -> _Bound:
    if a is None or b is None:
        return b if a is None else a
    return np.maximum(a, b)[...]


def _smallest(a: _Bound, b: _Bound) -> _Bound:
    if a is None or b is None:
        return b if a is None else a
    return np.minimum(a, b)[...]


def _raised(high: _Bound, low: _Bound) -> _Bound:
    """An upper bound seen through a later lower bound: what was cut off at it is raised again."""
    return None if high is None else _largest(high, low)


def _is_unordered(a: _Bound, b: _Bound) -> bool:
    """Whether two bounds are zeros of different sign."""
    signs = {bool(np.signbit(bound)) for bound in (a, b) if bound is not None and bound == 0}
    return len(signs) > 1
