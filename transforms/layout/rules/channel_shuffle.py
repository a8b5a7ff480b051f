"""A channel shuffle: Reshape to groups, Transpose, Reshape back.

    [N,C,H,W] -> [N,g,c,H,W] -> [N,c,g,H,W] -> [N,C,H,W]    becomes
    [N,H,W,C] -> [N,H,W,g,c] -> [N,H,W,c,g] -> [N,H,W,C]

The spatial dims may be merged in between. The number of channels is known.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Operation, SSAValue

from onnxloom.dialects import onnx
from onnxloom.transforms.dim_analysis.facts import element_type
from onnxloom.transforms.fusion.spaces import shape_of
from onnxloom.transforms.layout.axes import last_type, layout_rank, permutation
from onnxloom.transforms.layout.editor import LayoutEditor
from onnxloom.transforms.layout.rule import Follow, LayoutRule
from onnxloom.transforms.miss import Miss
from onnxloom.transforms.rewriting.graph_index import GraphIndex


class ChannelShuffleRule(LayoutRule):
    """Anchored at the last Reshape."""

    ops: ClassVar[tuple[type[Operation], ...]] = (onnx.ReshapeOp,)

    def follow(self, graph: GraphIndex, op: Operation) -> Follow | Miss:
        assert isinstance(op, onnx.ReshapeOp)
        transpose = graph.producer_of(op.data, onnx.TransposeOp)
        split = None if transpose is None else graph.producer_of(transpose.data, onnx.ReshapeOp)
        if transpose is None or split is None:
            return Miss("it does not undo another Reshape")
        if not graph.is_private(transpose.transposed) or not graph.is_private(split.reshaped):
            return Miss("what is between is read elsewhere")
        perm = permutation(transpose) or ()
        if perm[:3] != (0, 2, 1) or perm[3:] != tuple(range(3, len(perm))):
            return Miss("not the two dims behind the images are exchanged")
        if layout_rank(split.data) is None or not graph.same_shape(split.data, op.reshaped):
            return Miss("the shape is not what it was before the other Reshape")
        channels, groups = _dims(split.data)[1], _dims(split.reshaped)[1:3]
        if min(channels, *groups) <= 0 or groups[0] * groups[1] != channels:
            return Miss("not the channels alone are split")
        if not graph.same_dim(split.data, 0, split.reshaped, 0):
            return Miss("the images are split, too")
        return Follow((split.data,), (op.reshaped,), absorbs=(split, transpose))

    def rewrite(self, editor: LayoutEditor, op: Operation, follow: Follow) -> None:
        assert isinstance(op, onnx.ReshapeOp)
        split = follow.absorbs[0]
        assert isinstance(split, onnx.ReshapeOp)
        source, groups = editor.last(split.data), _dims(split.reshaped)[1:3]
        element = element_type(source.type)
        assert element is not None
        leading = _dims(source)[:-1]
        count = len(leading)
        parts = TensorType(element, (*leading, *groups))
        swapped = TensorType(element, (*leading, *reversed(groups)))
        copied = [0] * count
        shape = editor.constant(np.array([*copied, *groups], np.int64))
        value = editor.make(onnx.ReshapeOp, [source, shape], [parts]).reshaped
        perm = [*range(count), count + 1, count]
        value = editor.make(onnx.TransposeOp, [value], [swapped], perm=perm).transposed
        back = editor.constant(np.array([*copied, groups[0] * groups[1]], np.int64))
        types = [last_type(op.reshaped)]
        editor.give(op.reshaped, editor.make(onnx.ReshapeOp, [value, back], types, name_from=op).reshaped)


def _dims(value: SSAValue) -> tuple[int, ...]:
    shape = shape_of(value)
    assert shape is not None
    return shape


RULES = (ChannelShuffleRule(),)
