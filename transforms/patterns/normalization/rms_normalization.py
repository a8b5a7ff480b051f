"""x / Sqrt(ReduceMean(x^2) + epsilon) -> RMSNormalization(x, ones; axis, epsilon).

The mean is of all axes from one to the last. `standardize.py` and `deviation.py` list the ways this is
written. A scale that multiplies the inverse deviation takes the place of the ones; `RMSNormalizationMul`
takes in what follows. Casts around it, from the type of `x` to f32 and back, are what the op does by itself:
they go too, where nothing else reads the wide values.
"""

from __future__ import annotations

from typing import ClassVar

from xdsl.dialects.builtin import BFloat16Type, Float16Type, f32
from xdsl.ir import Operation

from onnxloom.dialects import onnx
from onnxloom.transforms.patterns.normalization.building import TrailingNorm, make_rms_norm
from onnxloom.transforms.patterns.normalization.deviation import ROOTS
from onnxloom.transforms.patterns.normalization.parameters import suffix_axis, trailing_parameter
from onnxloom.transforms.patterns.normalization.standardize import Standardized, match_standardized
from onnxloom.transforms.rewriting.graph_index import GraphIndex
from onnxloom.transforms.rewriting.pattern import (
    MatchResult,
    Miss,
    Numerics,
    PatternOptimization,
    Replacement,
    no_match,
)


class RMSNormalizationPattern(PatternOptimization):
    """A decomposed root-mean-square normalization becomes the op."""

    priority: ClassVar[int] = 2
    """After LayerNormalization, whose standardization alone would match too."""

    min_opset: ClassVar[int] = 23
    start_ops: ClassVar[tuple[type[Operation], ...]] = ROOTS
    numerics: ClassVar[Numerics] = Numerics.TOLERANCE

    def match(self, graph: GraphIndex, op: Operation) -> MatchResult | Miss:
        found = match_standardized(graph, op)
        if isinstance(found, Miss):
            return found
        if found.value is not found.deviation.squared:
            return no_match(op, "what is divided and what is squared are computed apart")
        axis = suffix_axis(graph, found.value, found.deviation.axes)
        if axis is None:
            return no_match(op, "the axes are not all from one to the last")
        scale = None
        if found.scale is not None:
            scale = trailing_parameter(graph, found.scale, found.value, axis)
            if scale is None:
                return no_match(op, "the scale has not the dims that are normalized")
        casts = None if scale is not None else _casts_around(graph, found)
        if casts is None:
            norm = TrailingNorm(found.value, axis, found.deviation.epsilon, found.output, scale)
            return MatchResult(found.ops, data=norm)
        widen, narrow = casts
        norm = TrailingNorm(widen.input, axis, found.deviation.epsilon, narrow.output)
        return MatchResult((widen, *found.ops, narrow), data=norm)

    def apply(self, graph: GraphIndex, match: MatchResult) -> Replacement:
        found: TrailingNorm = match.data
        ops = make_rms_norm(graph, found)
        return Replacement(ops, {found.output: ops[-1].results[0]})


def _casts_around(graph: GraphIndex, found: Standardized) -> tuple[onnx.CastOp, onnx.CastOp] | None:
    """The Casts from a narrow type to f32 and back to the same, which nothing else reads between."""
    widen = graph.producer_of(found.value, onnx.CastOp)
    narrow = graph.only_consumer(found.output)
    if widen is None or not isinstance(narrow, onnx.CastOp):
        return None
    outside = graph.element_type(widen.input)
    if outside != graph.element_type(narrow.output) or not isinstance(outside, Float16Type | BFloat16Type):
        return None
    if graph.element_type(found.value) != f32 or not graph.is_used_only_by(found.value, found.ops):
        return None
    return widen, narrow
