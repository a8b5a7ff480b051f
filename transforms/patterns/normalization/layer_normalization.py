"""(x - mean) / Sqrt(ReduceMean((x - mean)^2) + epsilon) -> LayerNormalization(x, ones; axis, epsilon).

`mean` is ReduceMean(x); both means are of the same axes, all from one to the last. `standardize.py` and
`deviation.py` list the ways this is written. A scale that multiplies the inverse deviation takes the place
of the ones; `LayerNormalizationScale` takes in what follows.
"""

from __future__ import annotations

from typing import ClassVar

from xdsl.ir import Operation

from onnxloom.transforms.patterns.normalization.building import TrailingNorm, make_layer_norm
from onnxloom.transforms.patterns.normalization.deviation import ROOTS
from onnxloom.transforms.patterns.normalization.parameters import suffix_axis, trailing_parameter
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


class LayerNormalizationPattern(PatternOptimization):
    """A decomposed layer normalization becomes the op."""

    min_opset: ClassVar[int] = 17
    start_ops: ClassVar[tuple[type[Operation], ...]] = ROOTS
    numerics: ClassVar[Numerics] = Numerics.TOLERANCE

    def match(self, graph: GraphIndex, op: Operation) -> MatchResult | Miss:
        found = match_standardized(graph, op)
        if isinstance(found, Miss):
            return found
        centered = match_centered(graph, found.deviation, found.value, found.ops)
        if isinstance(centered, Miss):
            return centered
        axis = suffix_axis(graph, centered.data, found.deviation.axes)
        if axis is None:
            return no_match(op, "the axes are not all from one to the last")
        scale = None
        if found.scale is not None:
            scale = trailing_parameter(graph, found.scale, centered.data, axis)
            if scale is None:
                return no_match(op, "the scale has not the dims that are normalized")
        norm = TrailingNorm(centered.data, axis, found.deviation.epsilon, found.output, scale)
        return MatchResult((*centered.ops, *found.ops), data=norm)

    def apply(self, graph: GraphIndex, match: MatchResult) -> Replacement:
        found: TrailingNorm = match.data
        ops = make_layer_norm(graph, found)
        return Replacement(ops, {found.output: ops[-1].results[0]})
