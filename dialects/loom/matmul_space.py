"""`loom.matmul_space`: sizes and strides of a batched matrix product with an epilogue."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.dialects.builtin import BoolAttr, IndexType, IntegerAttr
from xdsl.ir import SSAValue
from xdsl.irdl import (
    AnyAttr,
    irdl_op_definition,
    operand_def,
    prop_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.traits import Pure

from onnxloom.dialects.loom.plan_time import PlanTensor, PlanTimeOp
from onnxloom.dialects.loom.spaces import broadcast_strides, merge_dims, pad_front, row_major_strides

Shape = tuple[int, ...]


def _matrix(shape: Shape, transposed: bool, left: bool) -> tuple[Shape, int, int, int, int]:
    """Batch dims, rows, columns, row stride and column stride of one operand, vectors made matrices."""
    if len(shape) == 1:
        return ((), 1, shape[0], shape[0], 1) if left else ((), shape[0], 1, 1, 1)
    *batch, rows, columns = shape
    if transposed:
        return tuple(batch), columns, rows, 1, columns
    return tuple(batch), rows, columns, columns, 1


def matmul_space(
    lhs: Shape, rhs: Shape, others: Sequence[Shape], trans_lhs: bool, trans_rhs: bool, rank: int
) -> list[int]:
    """The integers `loom.matmul_space` results in; see there.

    Raises:
        ValueError: the operands do not multiply, or an epilogue operand does not fit the product.
    """
    lhs_batch, m, k, a_m, a_k = _matrix(lhs, trans_lhs, left=True)
    rhs_batch, k2, n, b_k, b_n = _matrix(rhs, trans_rhs, left=False)
    if k != k2:
        raise ValueError(f"cannot multiply {list(lhs)} by {list(rhs)}: {k} columns against {k2} rows")
    batch = np.broadcast_shapes(lhs_batch, rhs_batch)
    result = (*batch, *(() if len(lhs) == 1 else (m,)), *(() if len(rhs) == 1 else (n,)))
    for shape in others:
        if np.broadcast_shapes(shape, result) != result:
            raise ValueError(
                f"an epilogue operand of shape {list(shape)} does not fit the product {list(result)}"
            )
    if len(lhs) == 1 or len(rhs) == 1:
        others = [_as_matrix(shape, result, len(lhs) == 1, len(rhs) == 1) for shape in others]
    full = (*batch, m, n)
    tensors = [(lhs_batch, m * k), (rhs_batch, k * n)]
    by_batch = [[s * size for s in broadcast_strides(dims, batch)] for dims, size in tensors]
    by_batch.append(row_major_strides(full)[:-2])
    rest = [broadcast_strides(shape, full) for shape in others]
    by_batch += [r[:-2] for r in rest]
    by_row = [a_m, 0, n, *(r[-2] for r in rest)]
    if 0 in full:
        sizes, by_batch, m = [0] * rank, [[0] * rank for _ in by_batch], 0
    else:
        sizes, by_batch = merge_dims(batch, by_batch)
        m, by_row = _merge_rows(sizes, by_batch, m, by_row)
        sizes, by_batch = pad_front(sizes, by_batch, rank)
    lines = (x for line, row in zip(by_batch, by_row, strict=True) for x in (*line, row))
    return [*sizes, m, n, k, *lines, a_k, b_k, b_n, *(r[-1] for r in rest)]


def _merge_rows(
    sizes: list[int], by_batch: list[list[int]], m: int, by_row: list[int]
) -> tuple[int, list[int]]:
    """Moves trailing batch dims into the rows where every tensor allows it; returns M and its strides."""
    if m == 1 and sizes and by_batch[1][-1] == 0:
        m = sizes.pop()
        by_row = [strides.pop() for strides in by_batch]
    while sizes and all(s[-1] == stride * m for s, stride in zip(by_batch, by_row, strict=True)):
        m *= sizes.pop()
        for strides in by_batch:
            strides.pop()
    return m, by_row


def _as_matrix(shape: Shape, result: Shape, no_rows: bool, no_columns: bool) -> Shape:
    """An epilogue operand's shape with the dims of size 1 that a vector operand lacks in the result."""
    padded = (1,) * (len(result) - len(shape)) + shape
    if no_rows and no_columns:
        return (*padded, 1, 1)
    if no_columns:
        return (*padded, 1)
    return (*padded[:-1], 1, padded[-1])


def _count(rank: int, others: int) -> int:
    return rank + 3 + (rank + 1) * (3 + others) + 3 + others


@irdl_op_definition
class MatmulSpaceOp(PlanTimeOp):
    """Sizes and strides of `lhs @ rhs` with broadcast batch dims and epilogue operands.

    Batch dims are merged where all strides allow it, with the rows too where the right operand is
    shared, and padded in front to `rank`. Results, in order:

    - `rank` batch sizes, then M, N, K;
    - per tensor (lhs, rhs, result, epilogue operands): `rank` batch strides, then the stride along M;
    - the strides of lhs along K, of rhs along K, of rhs along N;
    - per epilogue operand: the stride along N.

    Strides count elements of row-major operands; `trans_lhs`, `trans_rhs` swap an operand's last two
    dims; rank-1 operands are a row (left) or a column (right), as in numpy.
    """

    name = "loom.matmul_space"
    rank = prop_def(IntegerAttr)
    trans_lhs = prop_def(BoolAttr)
    trans_rhs = prop_def(BoolAttr)
    lhs = operand_def(AnyAttr())
    rhs = operand_def(AnyAttr())
    others = var_operand_def(AnyAttr())
    results_ = var_result_def(IndexType())
    traits = traits_def(Pure())

    def __init__(
        self,
        lhs: SSAValue,
        rhs: SSAValue,
        others: Sequence[SSAValue],
        *,
        rank: int,
        trans_lhs: bool = False,
        trans_rhs: bool = False,
    ):
        super().__init__(
            operands=[lhs, rhs, others],
            properties={
                "rank": IntegerAttr(rank, 64),
                "trans_lhs": BoolAttr.from_bool(trans_lhs),
                "trans_rhs": BoolAttr.from_bool(trans_rhs),
            },
            result_types=[[IndexType()] * _count(rank, len(others))],
        )

    def evaluate(self, operands: Sequence[PlanTensor | int]) -> Sequence[int]:
        lhs, rhs, *others = (o.shape for o in operands if isinstance(o, PlanTensor))
        return matmul_space(
            lhs, rhs, others, bool(self.trans_lhs), bool(self.trans_rhs), self.rank.value.data
        )


@irdl_op_definition
class MatmulDimsOp(PlanTimeOp):
    """The `rank` dims of `lhs @ rhs` as numpy.matmul gives them (after the optional transposes)."""

    name = "loom.matmul_dims"
    trans_lhs = prop_def(BoolAttr)
    trans_rhs = prop_def(BoolAttr)
    lhs = operand_def(AnyAttr())
    rhs = operand_def(AnyAttr())
    results_ = var_result_def(IndexType())
    traits = traits_def(Pure())

    def __init__(
        self, lhs: SSAValue, rhs: SSAValue, *, rank: int, trans_lhs: bool = False, trans_rhs: bool = False
    ):
        super().__init__(
            operands=[lhs, rhs],
            properties={
                "trans_lhs": BoolAttr.from_bool(trans_lhs),
                "trans_rhs": BoolAttr.from_bool(trans_rhs),
            },
            result_types=[[IndexType()] * rank],
        )

    def evaluate(self, operands: Sequence[PlanTensor | int]) -> Sequence[int]:
        lhs, rhs = (o.shape for o in operands if isinstance(o, PlanTensor))
        lhs_batch, m, k, _, _ = _matrix(lhs, bool(self.trans_lhs), left=True)
        rhs_batch, k2, n, _, _ = _matrix(rhs, bool(self.trans_rhs), left=False)
        if k != k2:
            raise ValueError(f"cannot multiply {list(lhs)} by {list(rhs)}: {k} columns against {k2} rows")
        batch = np.broadcast_shapes(lhs_batch, rhs_batch)
        return [*batch, *(() if len(lhs) == 1 else (m,)), *(() if len(rhs) == 1 else (n,))]
