"""What is the form of a product that works channels-last? Transpose, the op, Transpose: one kernel."""

from __future__ import annotations

from typing import Final

from xdsl.ir import Block, Operation

from onnxloom.dialects import onnx
from onnxloom.transforms.layout.axes import last_type, layout_rank, makes_first, makes_last, to_first, to_last
from onnxloom.transforms.layout.editor import LayoutEditor

PRODUCTS: Final = (onnx.ConvOp, onnx.MaxPoolOp, onnx.AveragePoolOp)
"""Ops that take this form."""


def is_triple(op: Operation, block: Block) -> bool:
    """Whether an op reads and gives channels-last by Transposes of its own, one before and one behind it."""
    before = op.operands[0].owner
    if not isinstance(before, onnx.TransposeOp) or not makes_first(before) or before.parent is not block:
        return False
    uses = [*op.results[0].uses]
    if len(uses) != 1 or before.transposed.has_more_than_one_use():
        return False
    after = uses[0].operation
    return after.parent is block and makes_last(after)


def make_triple(editor: LayoutEditor, op: Operation) -> None:
    """The op between two Transposes of its own; operand 0 and result 0 have a layout."""
    value, result = op.operands[0], op.results[0]
    rank = layout_rank(value)
    assert rank is not None
    twin = editor.last(value)
    first = editor.make(onnx.TransposeOp, [twin], [value.type], perm=to_first(rank)).transposed
    product = editor.like(op, [first, *op.operands[1:]], [r.type for r in op.results]).results[0]
    last = editor.make(onnx.TransposeOp, [product], [last_type(result)], perm=to_last(rank)).transposed
    editor.give(result, last)
