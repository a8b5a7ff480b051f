"""A rewrite that is wrong: Mul(x, 2) -> Mul(x, x)."""

from xdsl.ir import Operation

from onnxloom.dialects import onnx
from onnxloom.transforms.rewriting.graph_index import GraphIndex
from onnxloom.transforms.rewriting.pattern import (
    MatchResult,
    Miss,
    PatternOptimization,
    Replacement,
    no_match,
)


class PlantedSquarePattern(PatternOptimization):
    """Mul(x, 2) -> Mul(x, x)"""

    start_ops = (onnx.MulOp,)

    def match(self, graph: GraphIndex, op: Operation) -> MatchResult | Miss:
        if not graph.is_constant_scalar(op.operands[1], 2.0):
            return no_match(op, "the factor is not 2")
        return MatchResult((op,))

    def apply(self, graph: GraphIndex, match: MatchResult) -> Replacement:
        (op,) = match.ops
        assert op is not None
        fresh = graph.make(onnx.MulOp, [op.operands[0], op.operands[0]])
        return Replacement([fresh], {op.results[0]: fresh.results[0]})
