"""x * cos + Concat(Neg(x[half:]), x[:half]) * sin -> RotaryEmbedding(x, cos[:half], sin[:half]).

x is `[batch, head, row, column]`, its heads and columns static; cos and sin are `[batch, 1, row, column]`
tables that hold the same numbers in both halves of their columns (`angle_cache.py`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Final

from xdsl.dialects.builtin import bf16, f16, f32
from xdsl.ir import Operation, SSAValue

from onnxloom.dialects import onnx
from onnxloom.transforms.patterns.attention.angle_cache import HalfTable, build_half, half_table
from onnxloom.transforms.patterns.attention.rotated_halves import Halves, rotated_halves
from onnxloom.transforms.patterns.operands import other_operand, static_dim
from onnxloom.transforms.rewriting.graph_index import GraphIndex
from onnxloom.transforms.rewriting.pattern import (
    MatchResult,
    Miss,
    Numerics,
    PatternOptimization,
    Replacement,
    no_match,
)

_FLOATS: Final = (f32, f16, bf16)


@dataclass(frozen=True)
class _Found:
    value: SSAValue
    cosines: HalfTable
    sines: HalfTable


@dataclass(frozen=True)
class _Products:
    """`halves.value * cosines` and `rotated * sines`."""

    halves: Halves
    plain: onnx.MulOp
    rotated: onnx.MulOp
    cosines: SSAValue
    sines: SSAValue


class RotaryEmbeddingPattern(PatternOptimization):
    """A decomposed rotary embedding becomes the op."""

    min_opset: ClassVar[int] = 23
    start_ops: ClassVar[tuple[type[Operation], ...]] = (onnx.AddOp,)
    numerics: ClassVar[Numerics] = Numerics.TOLERANCE
    adds_ops: ClassVar[str] = "the halves of both tables are computed, once for all rotations that share them"

    def match(self, graph: GraphIndex, op: Operation) -> MatchResult | Miss:
        assert isinstance(op, onnx.AddOp)
        found = _products(graph, op)
        if found is None:
            return no_match(op, "no sum of a value and its rotated halves, each times a table")
        x = found.halves.value
        if graph.element_type(x) not in _FLOATS:
            return no_match(op, "the op has no such element type")
        if graph.rank(x) != 4 or static_dim(graph, x, 1) is None:
            return no_match(op, "the value has not rank 4 and a known number of heads")
        for table in (found.cosines, found.sines):
            if not all(graph.same_dim(x, axis, table, axis) for axis in (0, 2, 3)):
                return no_match(op, "a table may be broadcast along batch, rows or columns")
        if not all(graph.is_private(mul.C) for mul in (found.plain, found.rotated)):
            return no_match(op, "something else reads the products")
        cosines, sines = half_table(graph, found.cosines), half_table(graph, found.sines)
        if cosines is None or sines is None:
            return no_match(op, "the halves of a table may differ")
        steps = found.halves.ops
        claimed = (found.plain, found.rotated, op)
        return MatchResult(claimed, steps, data=_Found(x, cosines, sines))

    def apply(self, graph: GraphIndex, match: MatchResult) -> Replacement:
        found: _Found = match.data
        add = match.ops[-1]
        assert isinstance(add, onnx.AddOp)
        cosine_ops, cosines = build_half(graph, found.cosines)
        sine_ops, sines = build_half(graph, found.sines)
        rotary = graph.make(
            onnx.RotaryEmbeddingOp,
            [found.value, cosines, sines],
            result_types=[add.C.type],
            name_from=add,
        )
        return Replacement([*cosine_ops, *sine_ops, rotary], {add.C: rotary.Y})


def _products(graph: GraphIndex, op: onnx.AddOp) -> _Products | None:
    for plain, rotated in ((op.A, op.B), (op.B, op.A)):
        left, right = graph.producer_of(plain, onnx.MulOp), graph.producer_of(rotated, onnx.MulOp)
        if left is None or right is None:
            continue
        for side in right.operands:
            halves = rotated_halves(graph, side)
            if halves is None or halves.value not in left.operands:
                continue
            cosines, sines = other_operand(left, halves.value), other_operand(right, side)
            if cosines is not None and sines is not None:
                return _Products(halves, left, right, cosines, sines)
    return None
