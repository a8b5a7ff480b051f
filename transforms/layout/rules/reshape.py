"""Reshape and Flatten that leave images and channels alone, or all of whose input is one place.

    Reshape([N,C,H,W] -> [N,C,H*W])   ->   Reshape([N,H,W,C] -> [N,H*W,C])
    Reshape([N,C,1,1] -> any shape)   ->   Reshape([N,1,1,C] -> any shape)

The dims asked for are numbers, but for the number of images and one more.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from xdsl.ir import Operation, SSAValue

from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.access import bool_attr, int_attr
from onnxloom.transforms.fusion.spaces import shape_of
from onnxloom.transforms.layout.axes import last_type, to_last
from onnxloom.transforms.layout.editor import LayoutEditor
from onnxloom.transforms.layout.rule import Follow, LayoutRule
from onnxloom.transforms.miss import Miss
from onnxloom.transforms.rewriting.graph_index import GraphIndex


class MergedPlacesRule(LayoutRule):
    """A Reshape of the spatial dims."""

    ops: ClassVar[tuple[type[Operation], ...]] = (onnx.ReshapeOp,)

    def follow(self, graph: GraphIndex, op: Operation) -> Follow | Miss:
        assert isinstance(op, onnx.ReshapeOp)
        if not all(graph.same_dim(op.data, axis, op.reshaped, axis) for axis in (0, 1)):
            return Miss("images and channels do not stay what they are")
        if not _are_known(graph, op):
            return Miss("dims of the result are not known, more than the shape's -1 stands for")
        return Follow((op.data,), (op.reshaped,))

    def rewrite(self, editor: LayoutEditor, op: Operation, follow: Follow) -> None:
        assert isinstance(op, onnx.ReshapeOp)
        sizes = _dims(op.reshaped)
        asked = [0, *(max(sizes[axis], -1) for axis in to_last(len(sizes))[1:])]
        shape = editor.constant(np.array(asked, np.int64))
        types = [last_type(op.reshaped)]
        fresh = editor.make(onnx.ReshapeOp, [editor.last(op.data), shape], types, name_from=op)
        editor.give(op.reshaped, fresh.reshaped)


class SinglePlaceRule(LayoutRule):
    """A Reshape or Flatten of a tensor whose spatial dims are 1: its elements lie alike in both orders."""

    ops: ClassVar[tuple[type[Operation], ...]] = (onnx.ReshapeOp, onnx.FlattenOp)

    def follow(self, graph: GraphIndex, op: Operation) -> Follow | Miss:
        shape = shape_of(op.operands[0]) or ()
        if any(dim != 1 for dim in shape[2:]):
            return Miss("images and channels do not stay what they are, and there is more than one place")
        if isinstance(op, onnx.FlattenOp) and int_attr(op, "axis") not in (0, 1, len(shape), 1 - len(shape)):
            return Miss("it parts the channels from the images")
        if isinstance(op, onnx.ReshapeOp) and _copies_dims(graph, op):
            return Miss("dims of its input are asked for by their place")
        return Follow((op.operands[0],), ())

    def rewrite(self, editor: LayoutEditor, op: Operation, follow: Follow) -> None:
        operands = [editor.last(op.operands[0]), *op.operands[1:]]
        fresh = editor.like(op, operands, [op.results[0].type])
        editor.replace(op.results[0], fresh.results[0])


def _are_known(graph: GraphIndex, op: onnx.ReshapeOp) -> bool:
    """Whether the dims behind the images are numbers, but for one that a constant shape leaves open.

    Where it is not the model that does so, an empty tensor may have a shape that -1 cannot stand for.
    """
    shape = shape_of(op.reshaped)
    if shape is None:
        return False
    unknown = sum(dim < 0 for dim in shape[1:])
    return 0 not in shape[1:] and unknown <= graph.is_constant(op.shape)


def _dims(value: SSAValue) -> tuple[int, ...]:
    shape = shape_of(value)
    assert shape is not None
    return shape


def _copies_dims(graph: GraphIndex, op: onnx.ReshapeOp) -> bool:
    """Whether a 0 behind the first place may ask for a dim of the input."""
    sizes = graph.constant_ints(op.shape)
    return not bool_attr(op, "allowzero") and (sizes is None or 0 in sizes[1:])


RULES = (MergedPlacesRule(), SinglePlaceRule())
