"""Reshape(Norm(Reshape(x, [N, G, ..]))) back, * s + b -> GroupNormalization(x, s, b; num_groups=G, epsilon).

`Norm` standardizes all that follows the groups: InstanceNormalization, or LayerNormalization from axis 2 on,
with a scale of ones and a bias of zeros. `s` and `b` are constant with a number per channel (`[C, 1, 1]`
beside `[N, C, H, W]`); each may be left out. G divides the channels.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from onnx import TensorProto
from xdsl.ir import Operation, SSAValue

from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.access import float_attr, int_attr
from onnxloom.transforms.patterns.normalization.channel_affine import ChannelAffine, channel_affine
from onnxloom.transforms.patterns.normalization.parameters import is_uniform
from onnxloom.transforms.patterns.operands import static_dim
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
    data: SSAValue
    groups: int
    channels: int
    epsilon: float
    affine: ChannelAffine


class GroupNormalizationPattern(PatternOptimization):
    """A group normalization spelled with a normalization of groups becomes the op."""

    priority: ClassVar[int] = 0
    min_opset: ClassVar[int] = 21
    start_ops: ClassVar[tuple[type[Operation], ...]] = (
        onnx.InstanceNormalizationOp,
        onnx.LayerNormalizationOp,
    )
    numerics: ClassVar[Numerics] = Numerics.TOLERANCE

    def match(self, graph: GraphIndex, op: Operation) -> MatchResult | Miss:
        grouped, scale, bias = op.operands
        if not (is_uniform(graph, scale, 1) and is_uniform(graph, bias, 0)):
            return no_match(op, "scale and bias are not constant ones and zeros")
        if any(graph.is_used(statistic) for statistic in op.results[1:]):
            return no_match(op, "the statistics are read")
        into = graph.producer_of(grouped, onnx.ReshapeOp)
        back = graph.only_consumer(op.results[0])
        if into is None or not isinstance(back, onnx.ReshapeOp) or back.data is not op.results[0]:
            return no_match(op, "not between two Reshapes")
        if not graph.is_private(grouped):
            return no_match(op, "the reshaped input is read elsewhere")
        rank = graph.rank(grouped)
        if isinstance(op, onnx.LayerNormalizationOp) and int_attr(op, "axis") % (rank or 1) != 2:
            return no_match(op, "LayerNormalization is not over all that follows axis 1")
        if not graph.same_shape(into.data, back.reshaped) or (graph.rank(into.data) or 0) < 3:
            return no_match(
                op, "the second Reshape does not undo the first, or there are no axes but the channels"
            )
        groups, channels = static_dim(graph, grouped, 1), static_dim(graph, into.data, 1)
        if not graph.same_dim(grouped, 0, into.data, 0):
            return no_match(op, "the first Reshape does not keep the batch")
        if not groups or not channels or channels % groups:
            return no_match(op, "the channels are not known to be a multiple of the groups")
        affine = channel_affine(graph, back.reshaped)
        data = _Found(into.data, groups, channels, float_attr(op, "epsilon"), affine)
        return MatchResult((into, op, back, *affine.ops), data=data)

    def apply(self, graph: GraphIndex, match: MatchResult) -> Replacement:
        found: _Found = match.data
        dtype = graph.dtype(found.data)
        assert dtype is not None, "what is normalized has an element type"
        parameters = [graph.make_constant(a) for a in found.affine.filled(found.channels, dtype)]
        norm = graph.make(
            onnx.GroupNormalizationOp,
            [found.data, *(parameter.output for parameter in parameters)],
            result_types=[found.affine.output.type],
            name_from=match.ops[1],
            num_groups=found.groups,
            epsilon=found.epsilon,
            stash_type=TensorProto.DOUBLE if dtype == np.float64 else None,
        )
        return Replacement([*parameters, norm], {found.affine.output: norm.results[0]})
