"""Transpose(x, p) -> Transpose(x channels-last, q): any other order is as easy to make from either one."""

from __future__ import annotations

from typing import ClassVar

from xdsl.ir import Operation

from onnxloom.dialects import onnx
from onnxloom.transforms.layout.axes import makes_first, makes_last, moved, permutation
from onnxloom.transforms.layout.editor import LayoutEditor
from onnxloom.transforms.layout.rule import Follow, LayoutRule
from onnxloom.transforms.miss import Miss
from onnxloom.transforms.rewriting.graph_index import GraphIndex


class TransposeRule(LayoutRule):
    """A Transpose that is no conversion between layouts."""

    ops: ClassVar[tuple[type[Operation], ...]] = (onnx.TransposeOp,)

    def follow(self, graph: GraphIndex, op: Operation) -> Follow | Miss:
        assert isinstance(op, onnx.TransposeOp)
        if makes_last(op) or makes_first(op):
            return Miss("it converts between layouts")
        return Follow((op.data,), ())

    def rewrite(self, editor: LayoutEditor, op: Operation, follow: Follow) -> None:
        assert isinstance(op, onnx.TransposeOp)
        perm = permutation(op)
        assert perm is not None
        composed = [moved(axis, len(perm)) for axis in perm]
        fresh = editor.like(op, [editor.last(op.data)], [op.transposed.type], perm=composed)
        editor.replace(op.transposed, fresh.transposed)


RULES = (TransposeRule(),)
