"""Which value holds each head of another one several times in a row?

Keys and values that several query heads share are repeated: `Reshape(Expand(Unsqueeze(x, 2), [.., g, ..]))`.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.ir import Operation, SSAValue

from onnxloom.dialects import onnx
from onnxloom.transforms.patterns.operands import static_dim
from onnxloom.transforms.rewriting.graph_index import GraphIndex


@dataclass(frozen=True)
class Repeated:
    """`value` of `[batch, head, row, column]`, each head `times` times in a row."""

    value: SSAValue
    times: int
    ops: tuple[Operation, ...]


def repeated_heads(graph: GraphIndex, value: SSAValue) -> Repeated | None:
    """What `value` repeats."""
    reshape = graph.producer_of(value, onnx.ReshapeOp)
    expand = None if reshape is None else graph.producer_of(reshape.data, onnx.ExpandOp)
    unsqueeze = None if expand is None else graph.producer_of(expand.input, onnx.UnsqueezeOp)
    if reshape is None or expand is None or unsqueeze is None:
        return None
    source = unsqueeze.data
    if graph.rank(source) != 4 or graph.constant_ints(unsqueeze.axes) not in ((2,), (-3,)):
        return None
    times, heads = static_dim(graph, expand.output, 2), static_dim(graph, source, 1)
    if not times or not heads or not _only_repeats(graph, source, expand.output):
        return None
    whole = graph.shape(value)
    if whole is None or len(whole) != 4 or whole[1].constant != heads * times:
        return None
    if any(not graph.same_dim(value, axis, source, axis) for axis in (0, 2, 3)):
        return None
    return Repeated(source, times, (unsqueeze, expand, reshape))


def _only_repeats(graph: GraphIndex, source: SSAValue, expanded: SSAValue) -> bool:
    """Whether all dims but the repeated one are those of the source."""
    axes = ((0, 0), (1, 1), (2, 3), (3, 4))
    return all(graph.same_dim(source, axis, expanded, other) for axis, other in axes)
