"""BatchNormalization(x, 1, 0, 0, 1; epsilon=0) -> Identity(x).

In inference mode, with constant parameters. No value changes but -0.0, which adding 0.0 made 0.0.
"""

from __future__ import annotations

from typing import ClassVar

from xdsl.ir import Operation

from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.access import bool_attr, float_attr
from onnxloom.transforms.patterns.normalization.parameters import is_uniform
from onnxloom.transforms.rewriting.graph_index import GraphIndex
from onnxloom.transforms.rewriting.pattern import (
    MatchResult,
    Miss,
    Numerics,
    PatternOptimization,
    Replacement,
    no_match,
)


class BatchNormalizationPattern(PatternOptimization):
    """A BatchNormalization that changes nothing goes."""

    start_ops: ClassVar[tuple[type[Operation], ...]] = (onnx.BatchNormalizationOp,)
    numerics: ClassVar[Numerics] = Numerics.TOLERANCE

    def match(self, graph: GraphIndex, op: Operation) -> MatchResult | Miss:
        assert isinstance(op, onnx.BatchNormalizationOp)
        if bool_attr(op, "training_mode"):
            return no_match(op, "in training mode the statistics are those of the batch")
        if float_attr(op, "epsilon") != 0.0:
            return no_match(op, "epsilon is not 0")
        parameters = ((op.scale, 1), (op.B, 0), (op.input_mean, 0), (op.input_var, 1))
        if not all(is_uniform(graph, value, number) for value, number in parameters):
            return no_match(op, "the parameters are not constant ones and zeros")
        return MatchResult((op,))

    def apply(self, graph: GraphIndex, match: MatchResult) -> Replacement:
        norm = match.ops[0]
        assert isinstance(norm, onnx.BatchNormalizationOp)
        same = graph.make(onnx.IdentityOp, [norm.X], result_types=[norm.Y.type], name_from=norm)
        return Replacement([same], {norm.Y: same.output})
