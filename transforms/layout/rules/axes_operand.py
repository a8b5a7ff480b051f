"""Slice, Pad, Resize: which axes are meant is an operand or attribute; the amounts stay in their order.

Where no axes are named, all are: the channels-last op names them in the order of the amounts.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from xdsl.ir import Operation, SSAValue

from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.access import ints_attr, is_none, str_attr
from onnxloom.transforms.fusion.spaces import shape_of
from onnxloom.transforms.layout.axes import layout_rank, moved
from onnxloom.transforms.layout.editor import LayoutEditor, known_array
from onnxloom.transforms.layout.rule import Follow, LayoutRule
from onnxloom.transforms.miss import Miss
from onnxloom.transforms.rewriting.graph_index import GraphIndex


class SliceRule(LayoutRule):
    """A Slice along constant axes."""

    ops: ClassVar[tuple[type[Operation], ...]] = (onnx.SliceOp,)

    def follow(self, graph: GraphIndex, op: Operation) -> Follow | Miss:
        assert isinstance(op, onnx.SliceOp)
        if is_none(op.axes) and any(dim < 0 for dim in shape_of(op.starts) or (-1,)):
            return Miss("how many axes are sliced is not known")
        if not is_none(op.axes) and known_array(op.axes) is None:
            return Miss("the axes are not constant")
        return Follow((op.data,), (op.output,))

    def rewrite(self, editor: LayoutEditor, op: Operation, follow: Follow) -> None:
        assert isinstance(op, onnx.SliceOp)
        axes = range((shape_of(op.starts) or (0,))[0]) if is_none(op.axes) else None
        named = _moved_axes(editor, op.data, op.axes, axes or ())
        operands = [editor.last(op.data), op.starts, op.ends, named, op.steps]
        editor.give(op.output, editor.like(op, operands).output)


class PadRule(LayoutRule):
    """A Pad along constant axes."""

    ops: ClassVar[tuple[type[Operation], ...]] = (onnx.PadOp,)
    min_opset: ClassVar[int] = 18

    def follow(self, graph: GraphIndex, op: Operation) -> Follow | Miss:
        assert isinstance(op, onnx.PadOp)
        if not is_none(op.axes) and known_array(op.axes) is None:
            return Miss("the axes are not constant")
        return Follow((op.data,), (op.output,))

    def rewrite(self, editor: LayoutEditor, op: Operation, follow: Follow) -> None:
        assert isinstance(op, onnx.PadOp)
        rank = layout_rank(op.data)
        assert rank is not None
        pads, named = op.pads, op.axes
        amounts = known_array(pads)
        if amounts is not None and is_none(op.axes):
            order = [axis for _, axis in sorted((moved(axis, rank), axis) for axis in range(rank))]
            pads = editor.constant(amounts.reshape(2, rank)[:, order].reshape(-1))
        else:
            named = _moved_axes(editor, op.data, op.axes, range(rank))
        operands = [editor.last(op.data), pads, op.constant_value, named]
        editor.give(op.output, editor.like(op, operands).output)


class ResizeRule(LayoutRule):
    """A Resize that crops nothing."""

    ops: ClassVar[tuple[type[Operation], ...]] = (onnx.ResizeOp,)
    min_opset: ClassVar[int] = 18

    def follow(self, graph: GraphIndex, op: Operation) -> Follow | Miss:
        assert isinstance(op, onnx.ResizeOp)
        if str_attr(op, "coordinate_transformation_mode") == "tf_crop_and_resize":
            return Miss("it crops by a region that names all axes in their order")
        return Follow((op.X,), (op.Y,))

    def rewrite(self, editor: LayoutEditor, op: Operation, follow: Follow) -> None:
        assert isinstance(op, onnx.ResizeOp)
        rank = layout_rank(op.X)
        assert rank is not None
        axes = [moved(axis, rank) for axis in ints_attr(op, "axes") or range(rank)]
        fresh = editor.like(op, [editor.last(op.X), *op.operands[1:]], axes=axes)
        editor.give(op.Y, fresh.Y)


def _moved_axes(editor: LayoutEditor, data: SSAValue, axes: SSAValue, default: Sequence[int]) -> SSAValue:
    """The axes, in their order, where they are in the channels-last tensor."""
    rank = layout_rank(data)
    assert rank is not None
    known = None if is_none(axes) else known_array(axes)
    given = default if known is None else known.reshape(-1).tolist()
    dtype = np.int64 if known is None else known.dtype
    return editor.constant(np.array([moved(int(axis), rank) for axis in given], dtype))


RULES = (SliceRule(), PadRule(), ResizeRule())
