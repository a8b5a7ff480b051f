"""Ops along one axis that an attribute names: Concat, Split, Softmax, LpNormalization and the like.

The axis moves, all operands and results are permuted.
"""

from __future__ import annotations

from typing import ClassVar

from xdsl.ir import Operation, SSAValue

from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.access import int_attr
from onnxloom.transforms.layout.axes import layout_rank, moved
from onnxloom.transforms.layout.editor import LayoutEditor
from onnxloom.transforms.layout.rule import Follow, LayoutRule
from onnxloom.transforms.miss import Miss
from onnxloom.transforms.rewriting.graph_index import GraphIndex


class AxisRule(LayoutRule):
    """An op along one axis; of Split, the sizes of the parts stay."""

    ops: ClassVar[tuple[type[Operation], ...]] = (
        onnx.ConcatOp,
        onnx.SplitOp,
        onnx.SoftmaxOp,
        onnx.LogSoftmaxOp,
        onnx.HardmaxOp,
        onnx.LpNormalizationOp,
    )

    def follow(self, graph: GraphIndex, op: Operation) -> Follow | Miss:
        reads = _tensors(op)
        rank = layout_rank(reads[0])
        if rank is None or any(layout_rank(value) != rank for value in (*reads, *op.results)):
            return Miss("not all of its tensors are known to have one rank from 3 to 5")
        return Follow(reads, tuple(op.results))

    def rewrite(self, editor: LayoutEditor, op: Operation, follow: Follow) -> None:
        tensors = _tensors(op)
        rank = layout_rank(tensors[0])
        assert rank is not None
        operands = [*map(editor.last, tensors), *op.operands[len(tensors) :]]
        fresh = editor.like(op, operands, axis=moved(int_attr(op, "axis"), rank))
        for result, twin in zip(op.results, fresh.results, strict=True):
            editor.give(result, twin)


def _tensors(op: Operation) -> tuple[SSAValue, ...]:
    """The operands that have a layout."""
    return tuple(op.operands) if isinstance(op, onnx.ConcatOp) else (op.operands[0],)


RULES = (AxisRule(),)
