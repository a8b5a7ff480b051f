"""Conv(affine(x), W, b) -> Conv(x, s * W, b + sum of t * W), s and t per channel of the input.

The base of the patterns of a Conv and one of BatchNormalization, Mul and Add before it, which only the
Conv reads. Where something is added (t is not 0), the Conv must not pad: padding is zeros, which were not
shifted. Weight and bias are constants, and nobody else reads the weight.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from xdsl.ir import Operation, SSAValue

from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.access import int_attr, ints_attr, str_attr
from onnxloom.transforms.miss import Miss, no_match
from onnxloom.transforms.patterns.operands import static_dim
from onnxloom.transforms.patterns.weights.affine import Affine, affine_of
from onnxloom.transforms.patterns.weights.linear import (
    Linear,
    bias_of,
    linear_of,
    own_constant,
    replaced,
    rounded,
    rounded_weight,
)
from onnxloom.transforms.rewriting.constants import Array
from onnxloom.transforms.rewriting.graph_index import GraphIndex
from onnxloom.transforms.rewriting.pattern import MatchResult, Numerics, PatternOptimization, Replacement


@dataclass(frozen=True)
class _Folded:
    data: SSAValue
    """What the Conv reads."""

    weight: Array | None
    """None: as before."""

    bias: Array | None
    """None: as before."""


class AffineBeforeConv(PatternOptimization, abstract=True):
    """A Conv takes over the scale and shift of its input."""

    priority: ClassVar[int] = 0  # before equal weights are merged, which would make them shared ones
    numerics: ClassVar[Numerics] = Numerics.TOLERANCE
    start_ops: ClassVar[tuple[type[Operation], ...]] = (onnx.ConvOp,)
    maker: ClassVar[type[Operation]]
    """What stands before the Conv."""

    def match(self, graph: GraphIndex, op: Operation) -> MatchResult | Miss:
        assert isinstance(op, onnx.ConvOp)
        maker = graph.producer_of(op.X, self.maker)
        if maker is None:
            return no_match(op, lambda: f"the input is not the result of a {self.maker.name}")
        if graph.only_consumer(op.X) is not op:
            return no_match(op, "something else reads the input too")
        linear = linear_of(graph, op)
        if isinstance(linear, Miss):
            return linear
        channels = linear.dims[1] * int_attr(op, "group")
        data = _data(graph, maker, linear.rank, channels)
        if isinstance(data, Miss):
            return data
        affine = affine_of(graph, maker, data, linear.rank, 1, channels)
        if isinstance(affine, Miss):
            return affine
        if affine.shift is not None and affine.shift.any() and _may_pad(op):
            return no_match(op, "the Conv pads, and what it pads with is not shifted")
        folded = _folded(graph, linear, affine, data)
        return folded if isinstance(folded, Miss) else MatchResult((maker, op), data=folded)

    def apply(self, graph: GraphIndex, match: MatchResult) -> Replacement:
        folded: _Folded = match.data
        op = match.ops[1]
        assert isinstance(op, onnx.ConvOp)
        made: list[Operation] = []
        weight, bias = replaced(graph, folded.weight, op.W, made), replaced(graph, folded.bias, op.B, made)
        attributes: dict[str, Any] = dict(op.properties)
        operands = [folded.data, weight, bias]
        conv = graph.make(onnx.ConvOp, operands, result_types=[op.Y.type], name_from=op, **attributes)
        return Replacement([*made, conv], {op.Y: conv.Y})


def _data(graph: GraphIndex, maker: Operation, rank: int, channels: int) -> SSAValue | Miss:
    """What the op before the Conv reads, if it has the shape of what the Conv reads."""
    operands = maker.operands[:1] if isinstance(maker, onnx.BatchNormalizationOp) else maker.operands
    for value in operands:
        has_channels = graph.rank(value) == rank and static_dim(graph, value, 1) == channels
        if has_channels and not graph.is_constant(value):
            return value
    return no_match(maker, "none of its operands is known to have the channels of its result")


def _may_pad(op: onnx.ConvOp) -> bool:
    return any(ints_attr(op, "pads") or ()) or str_attr(op, "auto_pad") not in ("NOTSET", "VALID")


def _folded(graph: GraphIndex, linear: Linear, affine: Affine, data: SSAValue) -> _Folded | Miss:
    dtype = graph.dtype(linear.weight)
    assert dtype is not None
    weight = own_constant(graph, linear.op, linear.weight)
    if isinstance(weight, Miss):
        return weight
    wide = weight.astype(np.float64)
    new_weight: Array | None | Miss = None
    if affine.scale is not None:
        new_weight = rounded_weight(linear.op, wide * _of_inputs(linear, affine.scale), dtype)
        if isinstance(new_weight, Miss):
            return new_weight
    if affine.shift is None:
        return _Folded(data, new_weight, None)
    before = bias_of(graph, linear)
    if isinstance(before, Miss):
        return before
    shifts = (wide * _of_inputs(linear, affine.shift)).reshape(linear.channels, -1).sum(axis=1)
    bias = rounded(linear.op, shifts if before is None else before + shifts, dtype)
    return bias if isinstance(bias, Miss) else _Folded(data, new_weight, bias)


def _of_inputs(linear: Linear, numbers: Array) -> Array:
    """Numbers per channel of the input, so that they multiply the weight's entries of their channel."""
    outputs, inputs, *rest = linear.dims
    groups = numbers.size // inputs
    rows = np.repeat(numbers.reshape(groups, inputs), outputs // groups, axis=0)
    return rows.reshape(outputs, inputs, *(1 for _ in rest))
