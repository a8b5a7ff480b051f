"""Dropout(x, ratio, training_mode) -> x where nothing is dropped.

That is so when training_mode is left out or constant false, or ratio constant 0. The mask, all true
then, must not be read.
"""

from __future__ import annotations

from typing import ClassVar

from xdsl.ir import Operation

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


class DropoutPattern(PatternOptimization):
    """A Dropout that drops nothing goes."""

    start_ops: ClassVar[tuple[type[Operation], ...]] = (onnx.DropoutOp,)

    def match(self, graph: GraphIndex, op: Operation) -> MatchResult | Miss:
        assert isinstance(op, onnx.DropoutOp)
        if graph.is_used(op.mask):
            return no_match(op, "the mask is read")
        if is_none(op.training_mode) or graph.constant_scalar(op.training_mode, broadcast=True) is False:
            return MatchResult((op,))
        ratio = None if is_none(op.ratio) else graph.constant_scalar(op.ratio, broadcast=True)
        if ratio == 0:
            return MatchResult((op,))
        return no_match(op, "it is, or may be, in training mode")

    def apply(self, graph: GraphIndex, match: MatchResult) -> Replacement:
        (op,) = match.ops
        assert isinstance(op, onnx.DropoutOp)
        return Replacement([], {op.output: op.data})
