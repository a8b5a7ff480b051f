"""Ops that compute each element from the elements at the same place, after broadcasting."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from xdsl.dialects.builtin import i1
from xdsl.ir import Operation

from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.dtypes import element_of_proto
from onnxloom.transforms.dim_analysis.facts import Impossible, Inferred, Result, Rule
from onnxloom.transforms.dim_analysis.query import OpQuery
from onnxloom.transforms.dim_analysis.rules.common import broadcast_shapes, like_first, text


def _predicate(query: OpQuery) -> Sequence[Result]:
    return [Inferred(query.shape(0), i1)]


def _broadcast(query: OpQuery) -> Sequence[Result]:
    return [Inferred(broadcast_shapes([query.shape(i) for i in range(len(query))]), query.element(0))]


def _comparison(query: OpQuery) -> Sequence[Result]:
    return [Inferred(broadcast_shapes([query.shape(0), query.shape(1)]), i1)]


def _where(query: OpQuery) -> Sequence[Result]:
    return [Inferred(broadcast_shapes([query.shape(i) for i in range(3)]), query.element(1))]


def _prelu(query: OpQuery) -> Sequence[Result]:
    shape, slope = query.shape(0), query.shape(1)
    if shape is not None and slope is not None and len(slope) > len(shape):
        raise Impossible(f"slope {text(slope)} does not broadcast to {text(shape)}")
    return like_first(query)


def _cast(query: OpQuery) -> Sequence[Result]:
    return [Inferred(query.shape(0), element_of_proto(query.int_attr("to")))]


def _cast_like(query: OpQuery) -> Sequence[Result]:
    return [Inferred(query.shape(0), query.element(1))]


def _dropout(query: OpQuery) -> Sequence[Result]:
    shape = query.shape(0)
    return [Inferred(shape, query.element(0)), Inferred(shape, i1)]


_SAME: Final[tuple[type[Operation], ...]] = (
    *(onnx.AbsOp, onnx.AcosOp, onnx.AcoshOp, onnx.AsinOp, onnx.AsinhOp, onnx.AtanOp, onnx.AtanhOp),
    *(onnx.BitwiseNotOp, onnx.CeilOp, onnx.CeluOp, onnx.ClipOp, onnx.CosOp, onnx.CoshOp, onnx.EluOp),
    *(onnx.ErfOp, onnx.ExpOp, onnx.FloorOp, onnx.GeluOp, onnx.HardSigmoidOp, onnx.HardSwishOp),
    *(onnx.HardmaxOp, onnx.IdentityOp, onnx.LeakyReluOp, onnx.LogOp, onnx.LogSoftmaxOp, onnx.MishOp),
    *(onnx.NegOp, onnx.NotOp, onnx.ReciprocalOp, onnx.ReluOp, onnx.RoundOp, onnx.SeluOp, onnx.ShrinkOp),
    *(onnx.SigmoidOp, onnx.SignOp, onnx.SinOp, onnx.SinhOp, onnx.SoftmaxOp, onnx.SoftplusOp),
    *(onnx.SoftsignOp, onnx.SqrtOp, onnx.SwishOp, onnx.TanOp, onnx.TanhOp, onnx.ThresholdedReluOp),
)
_BROADCAST: Final[tuple[type[Operation], ...]] = (
    *(onnx.AddOp, onnx.AndOp, onnx.BitShiftOp, onnx.BitwiseAndOp, onnx.BitwiseOrOp, onnx.BitwiseXorOp),
    *(onnx.DivOp, onnx.MaxOp, onnx.MeanOp, onnx.MinOp, onnx.ModOp, onnx.MulOp, onnx.OrOp, onnx.PowOp),
    *(onnx.SubOp, onnx.SumOp, onnx.XorOp),
)
_COMPARISON: Final[tuple[type[Operation], ...]] = (
    *(onnx.EqualOp, onnx.GreaterOp, onnx.GreaterOrEqualOp, onnx.LessOp, onnx.LessOrEqualOp),
)

RULES: Final[dict[type[Operation], Rule]] = {
    **dict.fromkeys(_SAME, like_first),
    **dict.fromkeys(_BROADCAST, _broadcast),
    **dict.fromkeys(_COMPARISON, _comparison),
    onnx.IsInfOp: _predicate,
    onnx.IsNaNOp: _predicate,
    onnx.WhereOp: _where,
    onnx.PReluOp: _prelu,
    onnx.CastOp: _cast,
    onnx.CastLikeOp: _cast_like,
    onnx.DropoutOp: _dropout,
    onnx.StringConcatOp: _broadcast,
}
