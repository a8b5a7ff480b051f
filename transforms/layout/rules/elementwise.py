"""Elementwise ops read operands whose dims are permuted as those of the result are.

A constant is permuted at once ([C,1,1] becomes [C]), an operand of one element stays, one of lower rank gets
the missing dims and is transposed. An `axis` of scales moves.
"""

from __future__ import annotations

from typing import ClassVar

from xdsl.ir import Operation, SSAValue

from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.access import int_attr, is_none
from onnxloom.dialects.onnx.semantics import scalar_semantics, semantics_table
from onnxloom.transforms.fusion.spaces import shape_of
from onnxloom.transforms.layout.axes import layout_rank, moved
from onnxloom.transforms.layout.editor import LayoutEditor, known_array
from onnxloom.transforms.layout.rule import Follow, LayoutRule
from onnxloom.transforms.miss import Miss
from onnxloom.transforms.rewriting.graph_index import GraphIndex


class ElementwiseRule(LayoutRule):
    """Any op with scalar semantics but those whose parameters lie along axis 1 whatever they say."""

    ops: ClassVar[tuple[type[Operation], ...]] = tuple(
        op_class for op_class in semantics_table() if op_class is not onnx.BatchNormalizationOp
    )

    def follow(self, graph: GraphIndex, op: Operation) -> Follow | Miss:
        if scalar_semantics(op) is None:
            return Miss("this form of it is not elementwise")
        rank = layout_rank(op.results[0])
        if rank is None:
            return Miss("the result is no tensor of rank 3 to 5")
        broadcast = _broadcast_operands(op)
        if any(shape_of(value) is None for value in broadcast):
            return Miss("the rank of an operand is not known")
        reads = tuple(value for value in broadcast if _has_layout(value, rank))
        return Follow(reads, (op.results[0],))

    def rewrite(self, editor: LayoutEditor, op: Operation, follow: Follow) -> None:
        result = op.results[0]
        rank = layout_rank(result)
        assert rank is not None
        broadcast = _broadcast_operands(op)
        operands: list[SSAValue] = []
        for value in op.operands:
            if value in follow.reads:
                operands.append(editor.last(value))
            elif value in broadcast:
                operands.append(editor.broadcast(value, rank, gives_rank=not follow.reads))
            else:
                operands.append(value)
        has_axis = isinstance(op, onnx.QuantizeLinearOp | onnx.DequantizeLinearOp)
        axis = moved(int_attr(op, "axis"), rank) if has_axis else None
        fresh = editor.like(op, operands, axis=axis)
        editor.give(result, fresh.results[0])


def _broadcast_operands(op: Operation) -> tuple[SSAValue, ...]:
    """The operands whose dims meet those of the result; others are types, or lie along an axis."""
    semantics = scalar_semantics(op)
    assert semantics is not None
    return tuple(
        op.operands[index]
        for index in semantics.reads(op)
        if semantics.axis(op, index) is None and not is_none(op.operands[index])
    )


def _has_layout(value: SSAValue, rank: int) -> bool:
    """Whether the operand has all dims of the result, and is not broadcast along all of them."""
    shape = shape_of(value)
    assert shape is not None
    return len(shape) == rank and known_array(value) is None and any(dim != 1 for dim in shape)


RULES = (ElementwiseRule(),)
