"""Plan-time ops for axes that are operands: which dims does an op with such axes give or split?"""

from __future__ import annotations

import math
from collections.abc import Sequence

from xdsl.dialects.builtin import BoolAttr, IndexType
from xdsl.ir import SSAValue
from xdsl.irdl import (
    AnyAttr,
    irdl_op_definition,
    operand_def,
    prop_def,
    traits_def,
    var_result_def,
)
from xdsl.traits import Pure

from onnxloom.dialects.loom.plan_time import PlanTensor, PlanTimeOp, known


@irdl_op_definition
class AxisSplitOp(PlanTimeOp):
    """The number of elements before an axis, along it and after it; `axis` is a tensor of one integer."""

    name = "loom.axis_split"
    data = operand_def(AnyAttr())
    axis = operand_def(AnyAttr())
    results_ = var_result_def(IndexType())
    traits = traits_def(Pure())

    @staticmethod
    def make(data: SSAValue, axis: SSAValue) -> AxisSplitOp:
        """Three results."""
        return AxisSplitOp.create(operands=[data, axis], result_types=[IndexType()] * 3)

    def evaluate(self, operands: Sequence[PlanTensor | int]) -> Sequence[int]:
        data = operands[0]
        assert isinstance(data, PlanTensor)
        axis, rank = int(known(operands[1], 1).reshape(-1)[0]), len(data.shape)
        if not -rank <= axis < rank:
            raise ValueError(f"axis {axis} of a tensor of {rank} dims")
        axis %= rank
        return [math.prod(data.shape[:axis]), data.shape[axis], math.prod(data.shape[axis + 1 :])]


@irdl_op_definition
class SqueezeDimsOp(PlanTimeOp):
    """The dims of Squeeze(data, axes), or of Unsqueeze(data, axes) if `insert`.

    Squeeze without axes removes all dims of 1.
    """

    name = "loom.squeeze_dims"
    insert = prop_def(BoolAttr)
    data = operand_def(AnyAttr())
    axes = operand_def(AnyAttr())
    results_ = var_result_def(IndexType())
    traits = traits_def(Pure())

    @staticmethod
    def make(data: SSAValue, axes: SSAValue, rank: int, insert: bool) -> SqueezeDimsOp:
        """`rank` results."""
        return SqueezeDimsOp.create(
            operands=[data, axes],
            result_types=[IndexType()] * rank,
            properties={"insert": BoolAttr.from_bool(insert)},
        )

    def evaluate(self, operands: Sequence[PlanTensor | int]) -> Sequence[int]:
        data = operands[0]
        assert isinstance(data, PlanTensor)
        axes = [int(a) for a in known(operands[1], 1).reshape(-1)]
        insert = bool(self.insert)
        rank = len(data.shape) + (len(axes) if insert else 0)
        places = {a % rank for a in axes if -rank <= a < rank}
        if len(places) != len(axes):
            raise ValueError(f"axes {axes} for a tensor of {rank} dims")
        if insert:
            rest = iter(data.shape)
            dims = [1 if i in places else next(rest) for i in range(rank)]
        else:
            if any(data.shape[i] != 1 for i in places):
                raise ValueError(f"cannot remove axes {axes} of {list(data.shape)}")
            dims = [d for i, d in enumerate(data.shape) if i not in places]
        if len(dims) != len(self.results_):
            raise ValueError(f"axes {axes} give {len(dims)} dims and not {len(self.results_)}")
        return dims
