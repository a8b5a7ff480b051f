"""affine(Linear(x, W, b)) -> Linear(x, s * W, s * b + t), s and t per channel of the result.

The base of the patterns of one linear op and one of BatchNormalization, Mul and Add behind it, which is
the only reader of the result. What changes is constant, and nobody else reads the weight.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from xdsl.ir import Operation, SSAValue

from onnxloom.dialects import onnx
from onnxloom.transforms.miss import Miss, no_match
from onnxloom.transforms.patterns.weights.affine import Affine, affine_of
from onnxloom.transforms.patterns.weights.linear import (
    Linear,
    bias_of,
    linear_of,
    own_constant,
    replaced,
    rounded,
    rounded_weight,
)
from onnxloom.transforms.rewriting.constants import Array
from onnxloom.transforms.rewriting.graph_index import GraphIndex
from onnxloom.transforms.rewriting.pattern import MatchResult, Numerics, PatternOptimization, Replacement


@dataclass(frozen=True)
class Folded:
    """The weights of the op that does the work of two."""

    linear: Linear
    weight: Array | None
    """None: as before."""

    bias: Array | None
    """None: as before."""


class AffineAfter(PatternOptimization, abstract=True):
    """A linear op takes over the scale and shift behind it."""

    priority: ClassVar[int] = 0  # before equal weights are merged, which would make them shared ones
    numerics: ClassVar[Numerics] = Numerics.TOLERANCE
    reader: ClassVar[type[Operation]]
    """What stands behind the op."""

    def match(self, graph: GraphIndex, op: Operation) -> MatchResult | Miss:
        reader = graph.only_consumer(op.results[0])
        if reader is None or not isinstance(reader, self.reader):
            return no_match(op, lambda: f"the result is not read by one {self.reader.name} alone")
        linear = linear_of(graph, op)
        if isinstance(linear, Miss):
            return linear
        affine = affine_of(graph, reader, op.results[0], linear.rank, linear.axis, linear.channels)
        if isinstance(affine, Miss):
            return affine
        folded = _folded(graph, linear, affine)
        return folded if isinstance(folded, Miss) else MatchResult((op, reader), data=folded)

    def apply(self, graph: GraphIndex, match: MatchResult) -> Replacement:
        folded: Folded = match.data
        op, reader = match.ops
        assert op is not None and reader is not None
        made: list[Operation] = []
        weight = replaced(graph, folded.weight, folded.linear.weight, made)
        bias = replaced(graph, folded.bias, folded.linear.bias, made)
        made.append(self.linear_op(graph, op, op.operands[0], weight, bias, reader.results[0]))
        return Replacement(made, {reader.results[0]: made[-1].results[0]})

    def linear_op(
        self,
        graph: GraphIndex,
        op: Operation,
        data: SSAValue,
        weight: SSAValue | None,
        bias: SSAValue | None,
        result: SSAValue,
    ) -> Operation:
        """The op with other weights."""
        attributes: dict[str, Any] = dict(op.properties)
        if isinstance(op, onnx.GemmOp):
            attributes.pop("beta", None)  # the bias holds it
        operands = [data, weight] if isinstance(op, onnx.MatMulOp) else [data, weight, bias]
        rest = op.operands[3:]
        types = [result.type, *(other.type for other in op.results[1:])]
        return graph.make(type(op), [*operands, *rest], result_types=types, name_from=op, **attributes)


def _folded(graph: GraphIndex, linear: Linear, affine: Affine) -> Folded | Miss:
    dtype = graph.dtype(linear.weight)
    assert dtype is not None
    before = bias_of(graph, linear)
    if isinstance(before, Miss):
        return before
    weight: Array | None | Miss = None
    if affine.scale is not None:
        array = own_constant(graph, linear.op, linear.weight)
        if isinstance(array, Miss):
            return array
        weight = rounded_weight(linear.op, array.astype(np.float64) * linear.spread(affine.scale), dtype)
        if isinstance(weight, Miss):
            return weight
    after = _bias(before, affine)
    bias = None if after is None else rounded(linear.op, after, dtype)
    return bias if isinstance(bias, Miss) else Folded(linear, weight, bias)


def _bias(before: Array | None, affine: Affine) -> Array | None:
    """The new bias; None where there is none before or after."""
    scaled = before if before is None or affine.scale is None else before * affine.scale
    if scaled is None or affine.shift is None:
        return affine.shift if scaled is None else scaled
    return scaled + affine.shift
