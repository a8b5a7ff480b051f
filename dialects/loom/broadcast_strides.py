"""The plan-time op of operands that broadcast to a result, dim by dim."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import IndexType
from xdsl.ir import SSAValue
from xdsl.irdl import (
    AnyAttr,
    AttrSizedOperandSegments,
    irdl_op_definition,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.traits import Pure

from onnxloom.dialects.loom.plan_time import PlanTensor, PlanTimeOp
from onnxloom.dialects.loom.spaces import broadcast_strides


@irdl_op_definition
class BroadcastStridesOp(PlanTimeOp):
    """Per tensor of `args` its element strides along every dim of a result of these `dims`.

    They are 0 along the dims it broadcasts in. Unlike in `loom.broadcast_space`, dims stay as they are.
    """

    name = "loom.broadcast_strides"
    args = var_operand_def(AnyAttr())
    dims = var_operand_def(IndexType())
    results_ = var_result_def(IndexType())
    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(Pure())

    def __init__(self, args: Sequence[SSAValue], dims: Sequence[SSAValue]):
        count = len(args) * len(dims)
        super().__init__(operands=[args, dims], result_types=[[IndexType()] * count])

    def evaluate(self, operands: Sequence[PlanTensor | int]) -> Sequence[int]:
        shapes = [o.shape for o in operands if isinstance(o, PlanTensor)]
        dims = [o for o in operands if isinstance(o, int)]
        strides: list[int] = []
        for shape in shapes:
            tail = dims[len(dims) - len(shape) :]
            if len(shape) > len(dims) or any(d not in (1, t) for d, t in zip(shape, tail, strict=True)):
                raise ValueError(f"an operand of shape {list(shape)} does not fit the result {dims}")
            strides += broadcast_strides(shape, dims)
        return strides
