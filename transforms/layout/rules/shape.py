"""Shape(x; start, end) -> Gather(Shape(x channels-last), places of these axes)."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from xdsl.dialects.builtin import TensorType, i64
from xdsl.ir import Operation

from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.access import int_attr, opt_int_attr
from onnxloom.transforms.layout.axes import layout_rank, moved
from onnxloom.transforms.layout.editor import LayoutEditor
from onnxloom.transforms.layout.rule import Follow, LayoutRule
from onnxloom.transforms.rewriting.graph_index import GraphIndex


class ShapeRule(LayoutRule):
    """The dims of a value are known in either order."""

    ops: ClassVar[tuple[type[Operation], ...]] = (onnx.ShapeOp,)

    def follow(self, graph: GraphIndex, op: Operation) -> Follow:
        assert isinstance(op, onnx.ShapeOp)
        return Follow((op.data,), ())

    def rewrite(self, editor: LayoutEditor, op: Operation, follow: Follow) -> None:
        assert isinstance(op, onnx.ShapeOp)
        rank = layout_rank(op.data)
        assert rank is not None
        axes = range(rank)[slice(int_attr(op, "start"), opt_int_attr(op, "end"))]
        places = editor.constant(np.array([moved(axis, rank) for axis in axes], np.int64))
        dims = editor.make(onnx.ShapeOp, [editor.last(op.data)], [TensorType(i64, [rank])]).shape
        fresh = editor.make(onnx.GatherOp, [dims, places], [op.shape.type], name_from=op)
        editor.replace(op.shape, fresh.output)


RULES = (ShapeRule(),)
