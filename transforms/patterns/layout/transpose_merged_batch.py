"""Reshape(Transpose(Reshape(x, [n, r, c]); [0, 2, 1]), [.., c, r]) -> Transpose(x; [.., c, r]).

`x` is `[.., r, c]`; its leading axes are merged for the Transpose and split again as they were. So exporters
write a batched transposition of matrices.
"""

from __future__ import annotations

from typing import ClassVar

from xdsl.ir import Operation

from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.access import ints_attr
from onnxloom.transforms.rewriting.graph_index import GraphIndex
from onnxloom.transforms.rewriting.pattern import (
    MatchResult,
    Miss,
    PatternOptimization,
    Replacement,
    no_match,
)


class TransposeMergedBatchPattern(PatternOptimization):
    """Matrices are transposed without merging their batch."""

    start_ops: ClassVar[tuple[type[Operation], ...]] = (onnx.TransposeOp,)

    def match(self, graph: GraphIndex, op: Operation) -> MatchResult | Miss:
        assert isinstance(op, onnx.TransposeOp)
        if ints_attr(op, "perm") != (0, 2, 1):
            return no_match(op, "not the last two of three axes are exchanged")
        merge = graph.producer_of(op.data, onnx.ReshapeOp)
        if merge is None:
            return no_match(op, "the input is not reshaped")
        split = graph.only_consumer(op.transposed)
        if not isinstance(split, onnx.ReshapeOp) or split.data is not op.transposed:
            return no_match(op, "the result is not reshaped alone")
        source, before, after = graph.shape(merge.data), graph.shape(op.data), graph.shape(split.reshaped)
        if source is None or before is None or after is None or len(source) < 2:
            return no_match(op, "a rank is not known")
        if source[-2:] != before[-2:]:
            return no_match(op, "more than the leading axes are merged")
        if after != (*source[:-2], source[-1], source[-2]):
            return no_match(op, "the axes are not split as they were")
        return MatchResult((op, split), (merge,), data=(merge.data, len(source)))

    def apply(self, graph: GraphIndex, match: MatchResult) -> Replacement:
        old, split = match.ops
        assert isinstance(old, onnx.TransposeOp) and isinstance(split, onnx.ReshapeOp)
        data, rank = match.data
        perm = [*range(rank - 2), rank - 1, rank - 2]
        types = [split.reshaped.type]
        transpose = graph.make(onnx.TransposeOp, [data], result_types=types, name_from=old, perm=perm)
        return Replacement([transpose], {split.reshaped: transpose.transposed})
