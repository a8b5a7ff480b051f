"""Which value is it whose largest element is subtracted, along one axis?

Softmax and LogSoftmax do that by themselves, so that no exponential overflows.
"""

from __future__ import annotations

from collections.abc import Collection

from xdsl.ir import Operation, SSAValue

from onnxloom.dialects import onnx
from onnxloom.transforms.patterns.reduced_axes import reduced_axes
from onnxloom.transforms.rewriting.graph_index import GraphIndex


def without_shift(
    graph: GraphIndex, value: SSAValue, axis: int, readers: Collection[Operation]
) -> tuple[SSAValue, tuple[Operation, ...]]:
    """`x` and the two ops of `value = x - ReduceMax(x)`; `value` and none where it is something else.

    Also where the difference is read by other ops than `readers`: then it has to stay.
    """
    plain: tuple[SSAValue, tuple[Operation, ...]] = (value, ())
    difference = graph.producer_of(value, onnx.SubOp)
    if difference is None or not graph.is_used_only_by(value, readers):
        return plain
    largest = graph.producer_of(difference.B, onnx.ReduceMaxOp)
    if largest is None or largest.data is not difference.A or not graph.is_private(difference.B):
        return plain
    return (difference.A, (largest, difference)) if reduced_axes(graph, largest) == (axis,) else plain
