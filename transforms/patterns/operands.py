"""What may a pattern ask about the operands of an op?"""

from __future__ import annotations

from xdsl.ir import Operation, SSAValue

from onnxloom.transforms.rewriting.graph_index import GraphIndex


def other_operand(op: Operation, known: SSAValue) -> SSAValue | None:
    """Of a binary op, the operand beside `known`; None where both are `known`, or none is."""
    first, second = op.operands
    if (first is known) == (second is known):
        return None
    return second if first is known else first


def scalar_beside(graph: GraphIndex, scalar: SSAValue, data: SSAValue) -> float | None:
    """The one number of a constant that leaves the shape of `data` as it is; None for anything else."""
    array, rank = graph.constant(scalar), graph.rank(data)
    if array is None or rank is None or array.size != 1 or array.ndim > rank:
        return None
    return float(array.reshape(()))


def static_dim(graph: GraphIndex, value: SSAValue, axis: int) -> int | None:
    """A dim that is a number; None for any other."""
    dim = graph.dim(value, axis)
    return None if dim is None else dim.constant
