"""The plan-time op of reductions whose axes are not known when the kernel is written."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import BoolAttr, IndexType, IntegerAttr, UnitAttr
from xdsl.ir import SSAValue
from xdsl.irdl import (
    AnyAttr,
    irdl_op_definition,
    opt_prop_def,
    prop_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.traits import Pure

from onnxloom.dialects.loom.plan_time import PlanTensor, PlanTimeOp, known
from onnxloom.dialects.loom.spaces import merge_dims, pad_front, row_major_strides


@irdl_op_definition
class ReductionSpaceOp(PlanTimeOp):
    """Kept and reduced dims of a reduction of `data` over `axes`, merged and padded to `rank` each.

    Results: the dims of the result (`out_rank`), kept sizes, kept strides, reduced sizes, reduced
    strides. No axes, or an empty list, mean all dims; an empty list means none if `noop`.
    """

    name = "loom.reduction_space"
    rank = prop_def(IntegerAttr)
    out_rank = prop_def(IntegerAttr)
    keepdims = prop_def(BoolAttr)
    noop = opt_prop_def(UnitAttr)
    args = var_operand_def(AnyAttr())
    results_ = var_result_def(IndexType())
    traits = traits_def(Pure())

    @staticmethod
    def make(
        data: SSAValue,
        axes: SSAValue | None,
        rank: int,
        out_rank: int,
        keepdims: bool,
        noop: bool = False,
    ) -> ReductionSpaceOp:
        """The op with `out_rank + 4 * rank` results."""
        return ReductionSpaceOp.create(
            operands=[data] + ([] if axes is None else [axes]),
            result_types=[IndexType()] * (out_rank + 4 * rank),
            properties={
                "rank": IntegerAttr(rank, 64),
                "out_rank": IntegerAttr(out_rank, 64),
                "keepdims": BoolAttr.from_bool(keepdims),
                **({"noop": UnitAttr()} if noop else {}),
            },
        )

    def evaluate(self, operands: Sequence[PlanTensor | int]) -> Sequence[int]:
        data = operands[0]
        assert isinstance(data, PlanTensor)
        shape = data.shape
        axes = [int(a) for a in known(operands[1], 1).reshape(-1)] if len(operands) > 1 else []
        for axis in axes:
            if not -max(len(shape), 1) <= axis < max(len(shape), 1):
                raise ValueError(f"axis {axis} is out of range for a tensor of {len(shape)} dims")
        listed = axes or self.noop is not None
        reduced = {a % len(shape) for a in axes} if listed and shape else set(range(len(shape)))
        keep = bool(self.keepdims)
        dims = [1 if d in reduced else size for d, size in enumerate(shape) if keep or d not in reduced]
        if len(dims) != self.out_rank.value.data:
            raise ValueError(f"a reduction over axes {axes} does not have {self.out_rank.value.data} dims")
        strides = row_major_strides(shape)
        result = list(dims)
        for members in (False, True):
            part = [d for d in range(len(shape)) if (d in reduced) is members]
            sizes, rows = merge_dims([shape[d] for d in part], [[strides[d] for d in part]])
            if 0 in sizes:
                sizes, rows = [0], [[0]]
            padded, padded_rows = pad_front(sizes, rows, self.rank.value.data)
            result += [*padded, *padded_rows[0]]
        return result
