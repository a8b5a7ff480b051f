"""Squeeze and Unsqueeze of constant axes: the axes move.

The smaller tensor has a layout of its own when images and channels are among what it has; where they are
not, the rest must come out in the order it had.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from xdsl.ir import Operation, SSAValue

from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.access import is_none
from onnxloom.transforms.layout.axes import Order, layout_rank, moved, order_without
from onnxloom.transforms.layout.editor import LayoutEditor, known_array
from onnxloom.transforms.layout.rule import Follow, LayoutRule
from onnxloom.transforms.miss import Miss
from onnxloom.transforms.rewriting.graph_index import GraphIndex


class SqueezeRule(LayoutRule):
    """Takes away dims of 1."""

    ops: ClassVar[tuple[type[Operation], ...]] = (onnx.SqueezeOp,)

    def follow(self, graph: GraphIndex, op: Operation) -> Follow | Miss:
        assert isinstance(op, onnx.SqueezeOp)
        order = _order(op.data, op.axes)
        if isinstance(order, Miss):
            return order
        return Follow((op.data,), (op.squeezed,) if order is Order.LAST else ())

    def rewrite(self, editor: LayoutEditor, op: Operation, follow: Follow) -> None:
        assert isinstance(op, onnx.SqueezeOp)
        operands = [editor.last(op.data), _moved(editor, op.axes, op.data)]
        types = None if follow.gives else [op.squeezed.type]
        fresh = editor.like(op, operands, types).squeezed
        (editor.give if follow.gives else editor.replace)(op.squeezed, fresh)


class UnsqueezeRule(LayoutRule):
    """Puts in dims of 1."""

    ops: ClassVar[tuple[type[Operation], ...]] = (onnx.UnsqueezeOp,)

    def follow(self, graph: GraphIndex, op: Operation) -> Follow | Miss:
        assert isinstance(op, onnx.UnsqueezeOp)
        order = _order(op.expanded, op.axes)
        if isinstance(order, Miss):
            return order
        return Follow((op.data,) if order is Order.LAST else (), (op.expanded,))

    def rewrite(self, editor: LayoutEditor, op: Operation, follow: Follow) -> None:
        assert isinstance(op, onnx.UnsqueezeOp)
        data = editor.last(op.data) if follow.reads else op.data
        fresh = editor.like(op, [data, _moved(editor, op.axes, op.expanded)])
        editor.give(op.expanded, fresh.expanded)


def _order(larger: SSAValue, axes: SSAValue) -> Order | Miss:
    """The order of the smaller tensor when the larger one is channels-last."""
    rank = layout_rank(larger)
    if rank is None:
        return Miss("the larger tensor is none of rank 3 to 5")
    known = None if is_none(axes) else known_array(axes)
    if known is None:
        return Miss("the axes are not constant")
    order = order_without({int(axis) % rank for axis in known.reshape(-1)}, rank)
    return Miss("the smaller tensor has an order of its own") if order is Order.OTHER else order


def _moved(editor: LayoutEditor, axes: SSAValue, larger: SSAValue) -> SSAValue:
    rank, known = layout_rank(larger), known_array(axes)
    assert rank is not None and known is not None
    return editor.constant(np.array(sorted(moved(int(axis), rank) for axis in known.reshape(-1)), np.int64))


RULES = (SqueezeRule(), UnsqueezeRule())
