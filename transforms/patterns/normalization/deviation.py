"""What is the root of a mean square, or its reciprocal, in all the ways exporters write it?

    Sqrt(ReduceMean(square) + epsilon)
    Reciprocal(Sqrt(..)),  1 / Sqrt(..),  Pow(.., -0.5)

where `square` is Mul(s, s) or Pow(s, 2), Sqrt may be Pow(.., 0.5), and epsilon may be left out.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from xdsl.ir import Operation, SSAValue

from onnxloom.dialects import onnx
from onnxloom.transforms.patterns.operands import scalar_beside
from onnxloom.transforms.patterns.reduced_axes import reduced_axes
from onnxloom.transforms.rewriting.graph_index import GraphIndex
from onnxloom.transforms.rewriting.pattern import Miss, no_match

ROOTS: Final[tuple[type[Operation], ...]] = (onnx.SqrtOp, onnx.PowOp)
"""What patterns of normalizations start from: there is one root in each, and few elsewhere."""


@dataclass(frozen=True)
class Deviation:
    """`Sqrt(ReduceMean(squared * squared) + epsilon)`, or one over it."""

    squared: SSAValue
    axes: tuple[int, ...]
    """Non-negative, ascending; the mean keeps its dims."""

    epsilon: float
    """A number of the type f32."""

    output: SSAValue
    is_inverse: bool
    ops: tuple[Operation, ...]
    """From the square to the output. What is computed between them is read by these only."""


def match_deviation(graph: GraphIndex, root: Operation) -> Deviation | Miss:
    """The deviation whose root is `root`, an op of `ROOTS`."""
    exponent = 0.5
    if isinstance(root, onnx.PowOp):
        exponent = scalar_beside(graph, root.Y, root.X)
        if exponent not in (0.5, -0.5):
            return no_match(root, "the exponent is neither 0.5 nor -0.5")
    mean, epsilon, ops = root.operands[0], 0.0, (root,)
    add = graph.producer_of(mean, onnx.AddOp)
    if add is not None:
        found = _epsilon(graph, add)
        if found is None:
            return no_match(root, "what is added under the root is not a constant number")
        if not graph.is_private(mean):
            return no_match(root, "the mean square plus epsilon is read elsewhere")
        (mean, epsilon), ops = found, (add, root)
    if float(np.float32(epsilon)) != epsilon:
        return no_match(root, "epsilon has more digits than an attribute")
    reduce = graph.producer_of(mean, onnx.ReduceMeanOp)
    if reduce is None:
        return no_match(root, "the root is not of a mean")
    if not graph.is_private(mean):
        return no_match(root, "the mean square is read elsewhere")
    axes = reduced_axes(graph, reduce)
    if isinstance(axes, Miss):
        return axes
    square = graph.producer_of(reduce.data, onnx.MulOp, onnx.PowOp)
    if square is None or not _is_square(graph, square):
        return no_match(root, "the mean is not of a square")
    if not graph.is_private(reduce.data):
        return no_match(root, "the square is read elsewhere")
    plain = Deviation(
        square.operands[0], axes, epsilon, root.results[0], exponent < 0, (square, reduce, *ops)
    )
    return plain if plain.is_inverse else _with_reciprocal(graph, plain)


def _epsilon(graph: GraphIndex, add: onnx.AddOp) -> tuple[SSAValue, float] | None:
    """The other addend and the constant number, whichever is which."""
    for mean, number in ((add.A, add.B), (add.B, add.A)):
        epsilon = scalar_beside(graph, number, mean)
        if epsilon is not None:
            return mean, epsilon
    return None


def _is_square(graph: GraphIndex, op: onnx.MulOp | onnx.PowOp) -> bool:
    if isinstance(op, onnx.MulOp):
        return op.A is op.B
    return scalar_beside(graph, op.Y, op.X) == 2


def _with_reciprocal(graph: GraphIndex, plain: Deviation) -> Deviation:
    """One over the deviation, where that is what its only reader computes."""
    reader = graph.only_consumer(plain.output)
    is_over = (
        isinstance(reader, onnx.DivOp)
        and reader.B is plain.output
        and scalar_beside(graph, reader.A, plain.output) == 1
    )
    if reader is None or not (is_over or isinstance(reader, onnx.ReciprocalOp)):
        return plain
    return replace(plain, output=reader.results[0], is_inverse=True, ops=(*plain.ops, reader))
