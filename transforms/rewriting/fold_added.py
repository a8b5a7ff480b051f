"""Which of the ops that a round has introduced are constant? They are computed at once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Operation, SSAValue

from onnxloom.dialects.onnx import ConstantOp, constant_value, make_constant
from onnxloom.dialects.onnx.access import is_none
from onnxloom.dialects.onnx.annotations import FOLDED, OVERRIDABLE
from onnxloom.transforms.miss import Miss
from onnxloom.transforms.rewriting.budget import may_rewrite
from onnxloom.transforms.rewriting.edits import Edits
from onnxloom.transforms.rewriting.graph_index import GraphIndex
from onnxloom.transforms.rewriting.run import Run


def fold_added(added: Sequence[Operation], edits: Edits, run: Run) -> None:
    """Replaces each op of `added` that has only constant inputs by constants."""
    if run.options.fold is None:
        return
    index = edits.index
    # In block order, so that what one op makes constant is there for those that read it.
    ops = sorted([op for op in added if op.parent is index.block], key=index.position)
    if not any(_is_ready(op, index) for op in ops):
        return
    with run.batch("fold-added"):
        for op in ops:
            if _is_ready(op, index):
                _fold(op, edits, run)


def _is_ready(op: Operation, index: GraphIndex) -> bool:
    """Whether there are inputs, all of them constants that nobody may override, and the op may go."""
    if index.is_kept(op):
        return False
    given = [operand for operand in op.operands if not is_none(operand)]
    return bool(given) and all(
        isinstance(value.owner, ConstantOp) and OVERRIDABLE not in value.owner.attributes for value in given
    )


def _fold(op: Operation, edits: Edits, run: Run) -> None:
    from onnxloom.transforms.folding.fold_op import fold_op

    arrays = fold_op(op, [constant_value(v) for v in op.operands], evaluator=run.options.fold)
    if isinstance(arrays, Miss):
        return
    if not may_rewrite("fold-added", "fold", op):
        run.is_stopped = True
        return
    values: dict[SSAValue, SSAValue] = {}
    constants: list[Operation] = []
    for array, result in zip(arrays, op.results, strict=True):
        if array is None:
            continue
        constant = make_constant(np.asarray(array))
        constant.attributes[FOLDED] = StringAttr("rewrite-patterns")
        constants.append(constant)
        values[result] = constant.output
    edits.insert(constants, op)
    edits.replace(values, constants)
    edits.erase(op)
