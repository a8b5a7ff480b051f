"""Pass `adjust-dimensions`: ops around a shape that is known become a plain Reshape, or nothing.

    Reshape, Expand, Squeeze, Unsqueeze, Flatten (x)  ->  x                        the shape stays the same
    Reshape(x, computed)                              ->  Reshape(x, [0, -1, 64])  constants can say it
    Expand(x, ...)                                    ->  Reshape(x, ...)          adds dims of 1 in front
    Squeeze(x), Squeeze(x, computed)                  ->  Reshape(x, ...)
    Unsqueeze(x, computed)                            ->  Reshape(x, ...)

A target that holds no number for a dim copies it from `x` (0) or leaves it to be inferred (-1); the latter
only where all other dims are above 0, for with an empty tensor nothing can be inferred.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, cast

import numpy as np
from xdsl.dialects.builtin import DYNAMIC_INDEX, ModuleOp
from xdsl.ir import Operation

from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.access import int_attr, is_none, make
from onnxloom.dialects.onnx.narrow import is_ranked
from onnxloom.transforms.dim_analysis import DimAnalysis, DimExpr
from onnxloom.transforms.dim_analysis.facts import Shape
from onnxloom.transforms.dim_analysis.rules.common import computed_from_dims
from onnxloom.transforms.folding.fold_op import opted_out
from onnxloom.transforms.folding.folding import Fold, Rule, is_constant
from onnxloom.transforms.folding.folding_pass import FoldingPass
from onnxloom.transforms.miss import Miss

_OPS: Final = (onnx.ReshapeOp, onnx.ExpandOp, onnx.SqueezeOp, onnx.UnsqueezeOp, onnx.FlattenOp)


@dataclass(frozen=True)
class AdjustDimensionsPass(FoldingPass):
    """Reshape, Expand, Squeeze, Unsqueeze and Flatten become a Reshape by a constant, or nothing.

    One sweep; a module whose types leave nothing to adjust costs one look at each op.
    """

    name = "adjust-dimensions"

    def rule(self, module: ModuleOp) -> Rule | None:
        if not any(isinstance(op, _OPS) and _may_adjust(op) for op in module.walk()):
            return None
        dims = DimAnalysis.of(module)
        return lambda op: adjust_op(op, dims)


def _may_adjust(op: Operation) -> bool:
    """Whether types alone do not say that there is nothing to do."""
    if any(not is_constant(value) for value in op.operands[1:]):
        return True
    if isinstance(op, onnx.ExpandOp) or (isinstance(op, onnx.SqueezeOp) and is_none(op.operands[1])):
        return True
    before, after = op.operands[0].type, op.results[0].type
    if not is_ranked(before) or not is_ranked(after):
        return True
    old, new = before.get_shape(), after.get_shape()
    return len(old) == len(new) and all(
        a == b or DYNAMIC_INDEX in (a, b) for a, b in zip(old, new, strict=True)
    )


def adjust_op(op: Operation, dims: DimAnalysis) -> Fold | Miss | None:
    """What an op is by what is known of shapes; None when it is no candidate or stays as it is."""
    if not isinstance(op, _OPS):
        return None
    data, result = op.operands[0], op.results[0]
    if dims.same_shape(data, result):
        return opted_out(op) or Fold([data], what="nothing")
    target = _target(op, dims)
    if target is None:
        return None
    return opted_out(op) or _reshape(op, target, dims)


def _reshape(op: Operation, target: Sequence[int], dims: DimAnalysis) -> Fold:
    data, result = op.operands[0], op.results[0]
    constant = onnx.make_constant(np.array(target, np.int64))
    reshape = make(onnx.ReshapeOp, [data, constant.output], [result.type], attributes={**op.attributes})
    dims.transfer(result, reshape.results[0])
    return Fold([reshape.results[0]], (constant, reshape), "plain Reshape")


def _target(op: Operation, dims: DimAnalysis) -> Sequence[int] | None:
    """The constant target of the Reshape an op is; None when there is none, or the op says it as well."""
    before, after = dims.shape(op.operands[0]), dims.shape(op.results[0])
    if after is None:
        return None
    if isinstance(op, onnx.ReshapeOp):
        return None if is_constant(op.operands[1]) else _target_of_reshape(op, before, dims)
    if isinstance(op, onnx.ExpandOp):
        return target_of_shapes(before, after) if _only_adds_ones(before, after) else None
    if isinstance(op, onnx.FlattenOp) or (not is_none(op.operands[1]) and is_constant(op.operands[1])):
        return None
    return target_of_shapes(before, after)


def _only_adds_ones(before: Shape | None, after: Shape) -> bool:
    if before is None:
        return False
    added = len(after) - len(before)
    return after[added:] == before and all(dim.is_one() for dim in after[:added])


def target_of_shapes(before: Shape | None, after: Shape) -> Sequence[int] | None:
    """A constant Reshape target that turns a tensor of one shape into the other, whatever the dims are."""
    target = [_entry(dim, axis, before) for axis, dim in enumerate(after)]
    if any(dim.constant == 0 for dim in after) or target.count(-1) > 1:
        return None
    return None if -1 in target and 0 in target else target


def _entry(dim: DimExpr, axis: int, before: Shape | None) -> int:
    if dim.constant is not None:
        return dim.constant
    return 0 if before is not None and axis < len(before) and before[axis] == dim else -1


def _target_of_reshape(op: Operation, before: Shape | None, dims: DimAnalysis) -> Sequence[int] | None:
    """The target as constants: what it holds for a dim of its input, 0 copies; one other may be inferred."""
    elements = dims.known_value(op.operands[1])
    if elements is None:
        return None
    wanted = cast(list[DimExpr], elements.reshape(-1).tolist())
    if not all(map(computed_from_dims, wanted)):
        return None
    target = [_entry(dim, axis, before) for axis, dim in enumerate(wanted)]
    if int_attr(op, "allowzero") != 0 and 0 in target:
        return None
    inferred = [axis for axis, entry in enumerate(target) if entry == -1]
    if len(inferred) > 1:
        return None
    # A -1 that the target held from the start leaves an empty tensor where it was.
    is_own = all(wanted[axis].constant == -1 for axis in inferred)
    return None if inferred and 0 in target and not is_own else target
