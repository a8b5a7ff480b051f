"""Scalar semantics of ONNX comparison and selection: Equal, Greater, Less, Where, IsNaN, IsInf, Clip."""

from __future__ import annotations

import math
from collections.abc import Sequence

from xdsl.dialects.builtin import i1
from xdsl.ir import Operation

from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.access import int_attr, is_none
from onnxloom.dialects.onnx.semantics.scalars import Scalar, Scalars
from onnxloom.dialects.onnx.semantics.semantics import ScalarSemantics, Table, unsigned


def _compare(predicate: str) -> ScalarSemantics:
    def compute(s: Scalars, op: Operation, x: Sequence[Scalar]) -> Scalar:
        return s.cmp(predicate, x[0], x[1], unsigned(op))

    return ScalarSemantics(compute)


def _where(s: Scalars, op: Operation, x: Sequence[Scalar]) -> Scalar:
    return s.select(x[0], x[1], x[2])


def _isinf(s: Scalars, op: Operation, x: Sequence[Scalar]) -> Scalar:
    (a,) = x
    negative, positive = int_attr(op, "detect_negative"), int_attr(op, "detect_positive")
    if not negative and not positive:
        return s.const(0, i1)
    infinity = s.const(math.inf, a.type)
    if negative and positive:
        return s.cmp("eq", s.abs(a), infinity)
    return s.cmp("eq", a, infinity if positive else s.const(-math.inf, a.type))


def _clip(s: Scalars, op: Operation, x: Sequence[Scalar]) -> Scalar:
    result = x[0]
    if len(op.operands) > 1 and not is_none(op.operands[1]):
        result = s.maximum(result, x[1], unsigned(op))
    if len(op.operands) > 2 and not is_none(op.operands[2]):
        result = s.minimum(result, x[2], unsigned(op))
    return result


OPS: Table = {
    onnx.EqualOp: _compare("eq"),
    onnx.GreaterOp: _compare("gt"),
    onnx.GreaterOrEqualOp: _compare("ge"),
    onnx.LessOp: _compare("lt"),
    onnx.LessOrEqualOp: _compare("le"),
    onnx.WhereOp: ScalarSemantics(_where, widen=False),
    onnx.IsNaNOp: ScalarSemantics(lambda s, op, x: s.isnan(x[0])),
    onnx.IsInfOp: ScalarSemantics(_isinf),
    onnx.ClipOp: ScalarSemantics(_clip),
}
