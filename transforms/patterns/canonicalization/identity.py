"""An op that gives its input back is replaced by it.

    Slice(x, starts=0, ends=INT64_MAX, steps=1), Reshape(x, [0, ..., 0]), Transpose(x, perm=[0, 1, ...]),
    Expand(x, s) that leaves the shape of x, Cast(x, to=the type of x)
    x + -0.0, x - 0.0, x + 0 and x - 0 of integers, x * 1, x / 1
    x or false, x xor false, x and true, x | 0, x ^ 0

A constant may be of any shape that does not widen x, all of whose elements are neutral. x + 0.0 is not
among these: it makes 0.0 of -0.0. The same holds with the operands exchanged, where that changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import ClassVar, Final

import numpy as np
from xdsl.ir import Operation, SSAValue

from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.access import int_attr, ints_attr
from onnxloom.transforms.rewriting.graph_index import GraphIndex
from onnxloom.transforms.rewriting.pattern import (
    MatchResult,
    Miss,
    PatternOptimization,
    Replacement,
    no_match,
)

_INT64_MAX: Final = np.iinfo(np.int64).max

_Check = Callable[[GraphIndex, Operation], str | None]
"""Why an op does not give its first input back; None when it does."""


def _slice(graph: GraphIndex, op: Operation) -> str | None:
    assert isinstance(op, onnx.SliceOp)
    starts, ends = graph.constant_ints(op.starts), graph.constant_ints(op.ends)
    steps = graph.constant_ints(op.steps) if graph.element_type(op.steps) is not None else ()
    if starts is None or ends is None or steps is None:
        return "a bound is not constant"
    is_all = not any(starts) and all(end == _INT64_MAX for end in ends) and all(step == 1 for step in steps)
    return None if is_all else "it may leave elements out"


def _reshape(graph: GraphIndex, op: Operation) -> str | None:
    assert isinstance(op, onnx.ReshapeOp)
    shape = graph.constant_ints(op.shape)
    if shape is None:
        return "the shape is not constant"
    if int_attr(op, "allowzero") != 0:
        return "a 0 is a dim of 0"
    return None if not any(shape) and len(shape) == graph.rank(op.data) else "the shape is another one"


def _transpose(graph: GraphIndex, op: Operation) -> str | None:
    assert isinstance(op, onnx.TransposeOp)
    perm = ints_attr(op, "perm")
    if perm is None:
        return None if graph.rank(op.data) in (0, 1) else "the axes are reversed"
    return None if perm == tuple(range(len(perm))) else "axes change places"


def _expand(graph: GraphIndex, op: Operation) -> str | None:
    assert isinstance(op, onnx.ExpandOp)
    return None if graph.same_shape(op.input, op.output) else "it may repeat elements"


def _cast(graph: GraphIndex, op: Operation) -> str | None:
    assert isinstance(op, onnx.CastOp)
    is_same = graph.element_type(op.input) == graph.element_type(op.output)
    return None if is_same else "the type is another one"


_CHECKS: Final[Mapping[type[Operation], _Check]] = {
    onnx.SliceOp: _slice,
    onnx.ReshapeOp: _reshape,
    onnx.TransposeOp: _transpose,
    onnx.ExpandOp: _expand,
    onnx.CastOp: _cast,
}

_NEUTRAL: Final[Mapping[type[Operation], float]] = {
    onnx.AddOp: -0.0,
    onnx.SubOp: 0.0,
    onnx.MulOp: 1,
    onnx.DivOp: 1,
    onnx.OrOp: 0,
    onnx.XorOp: 0,
    onnx.AndOp: 1,
    onnx.BitwiseOrOp: 0,
    onnx.BitwiseXorOp: 0,
}
"""Op -> the right operand that changes nothing; the sign of a zero matters for floats."""

_COMMUTATIVE: Final = frozenset(_NEUTRAL) - {onnx.SubOp, onnx.DivOp}


class IdentityPattern(PatternOptimization):
    """Ops that change nothing go."""

    priority: ClassVar[int] = 0
    start_ops: ClassVar[tuple[type[Operation], ...]] = (*_CHECKS, *_NEUTRAL)

    def match(self, graph: GraphIndex, op: Operation) -> MatchResult | Miss:
        check = _CHECKS.get(type(op))
        if check is not None:
            reason = check(graph, op)
            return no_match(op, reason) if reason is not None else MatchResult((op,), data=op.operands[0])
        left, right = op.operands
        if _is_neutral(graph, op, right, left):
            return MatchResult((op,), data=left)
        if type(op) in _COMMUTATIVE and _is_neutral(graph, op, left, right):
            return MatchResult((op,), data=right)
        return no_match(op, "neither operand is a constant that changes nothing")

    def apply(self, graph: GraphIndex, match: MatchResult) -> Replacement:
        (op,) = match.ops
        assert op is not None
        return Replacement([], {op.results[0]: match.data})


def _is_neutral(graph: GraphIndex, op: Operation, constant: SSAValue, other: SSAValue) -> bool:
    """Whether a constant leaves `other` as it is: in its values, and in its shape."""
    array = graph.constant(constant)
    if array is None or not graph.same_shape(other, op.results[0]):
        return False
    neutral = _NEUTRAL[type(op)]
    if not bool(np.all(array == neutral)):
        return False
    if neutral != 0 or array.dtype.kind in "biu":
        return True
    return bool(np.all(np.signbit(array.astype(np.float64)) == np.signbit(neutral)))
