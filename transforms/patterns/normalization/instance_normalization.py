"""(x - mean) / Sqrt(ReduceMean((x - mean)^2) + epsilon) * s + b -> InstanceNormalization(x, s, b; epsilon).

`mean` is ReduceMean(x); both means are over all axes after the channels, axis 1. `s` is constant and has a
number per channel (`[C, 1, 1]` beside `[N, C, H, W]`), and so has `b`, which may be left out. Without `s`
the same is a LayerNormalization.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xdsl.dialects.builtin import BFloat16Type
from xdsl.ir import Operation, SSAValue

from onnxloom.dialects import onnx
from onnxloom.transforms.patterns.normalization.channel_affine import ChannelAffine, channel_affine
from onnxloom.transforms.patterns.normalization.deviation import ROOTS
from onnxloom.transforms.patterns.normalization.standardize import match_centered, match_standardized
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
    epsilon: float
    affine: ChannelAffine


class InstanceNormalizationPattern(PatternOptimization):
    """A decomposed instance normalization becomes the op."""

    priority: ClassVar[int] = 0
    """Before LayerNormalization, which would leave scale and bias outside."""

    min_opset: ClassVar[int] = 6
    start_ops: ClassVar[tuple[type[Operation], ...]] = ROOTS
    numerics: ClassVar[Numerics] = Numerics.TOLERANCE

    def match(self, graph: GraphIndex, op: Operation) -> MatchResult | Miss:
        found = match_standardized(graph, op)
        if isinstance(found, Miss):
            return found
        centered = match_centered(graph, found.deviation, found.value, found.ops)
        if isinstance(centered, Miss):
            return centered
        rank = graph.rank(centered.data)
        if rank is None or rank < 3 or found.deviation.axes != tuple(range(2, rank)):
            return no_match(op, "the axes are not all after the channels")
        affine = channel_affine(graph, found.output)
        if found.scale is not None or affine.scale is None:
            return no_match(op, "the result is not scaled by a constant per channel")
        if isinstance(graph.element_type(found.output), BFloat16Type) and graph.opset() < 22:
            return no_match(op, "InstanceNormalization takes bfloat16 from opset 22 on")
        data = _Found(centered.data, found.deviation.epsilon, affine)
        return MatchResult((*centered.ops, *found.ops, *affine.ops), data=data)

    def apply(self, graph: GraphIndex, match: MatchResult) -> Replacement:
        found: _Found = match.data
        scale = found.affine.scale
        assert scale is not None
        parameters = [graph.make_constant(a) for a in found.affine.filled(scale.size, scale.dtype)]
        norm = graph.make(
            onnx.InstanceNormalizationOp,
            [found.data, *(parameter.output for parameter in parameters)],
            result_types=[found.affine.output.type],
            epsilon=found.epsilon,
        )
        return Replacement([*parameters, norm], {found.affine.output: norm.output})
