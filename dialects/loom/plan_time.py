"""Plan-time ops: `index` values computed from shapes and known values, once per shape key.

Each op class has `evaluate`, a pure function from what is known of the operands to the results. The
plan filler calls it; kernels never see these ops.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import ArrayAttr, BoolAttr, IndexType, IntegerAttr
from xdsl.ir import SSAValue
from xdsl.irdl import (
    AnyAttr,
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.traits import Pure

from onnxloom.dialects.loom.spaces import broadcast_space, reshape_sizes


@dataclass(frozen=True)
class PlanTensor:
    """What the plan filler knows of a tensor: always its shape, sometimes its values."""

    shape: tuple[int, ...]
    value: npt.NDArray[Any] | None = None


class NeedValue(Exception):
    """Raised by `evaluate` when it needs the values of operand `index`, which are not known."""

    def __init__(self, index: int):
        super().__init__(f"the values of operand {index} are not known at plan time")
        self.index = index


def known(operand: PlanTensor | int, index: int) -> npt.NDArray[Any]:
    """The values of a tensor operand.

    Raises:
        NeedValue: the values are not known at plan time.
    """
    assert isinstance(operand, PlanTensor)
    if operand.value is None:
        raise NeedValue(index)
    return operand.value


def _int(value: int) -> IntegerAttr:
    return IntegerAttr(value, 64)


class PlanTimeOp(IRDLOperation, ABC):
    """Base of ops the plan filler evaluates; results are all of type `index`."""

    @abstractmethod
    def evaluate(self, operands: Sequence[PlanTensor | int]) -> Sequence[int]:
        """The results, given the operands. Raises NeedValue, or ValueError with a readable reason."""


@irdl_op_definition
class DimOp(PlanTimeOp):
    """One dim of a tensor."""

    name = "loom.dim"
    axis = prop_def(IntegerAttr)
    source = operand_def(AnyAttr())
    result = result_def(IndexType())
    traits = traits_def(Pure())

    def __init__(self, source: SSAValue, axis: int):
        super().__init__(operands=[source], properties={"axis": _int(axis)}, result_types=[IndexType()])

    def evaluate(self, operands: Sequence[PlanTensor | int]) -> Sequence[int]:
        (source,) = operands
        assert isinstance(source, PlanTensor)
        return [source.shape[self.axis.value.data]]


@irdl_op_definition
class WorkersOp(PlanTimeOp):
    """How many workers run the kernels of a plan: each needs its own part of temporary memory."""

    name = "loom.workers"
    result = result_def(IndexType())
    traits = traits_def(Pure())

    def __init__(self):
        super().__init__(result_types=[IndexType()])

    def evaluate(self, operands: Sequence[PlanTensor | int]) -> Sequence[int]:
        """One: a plan filler that has more of them says so itself."""
        return [1]


@irdl_op_definition
class ExtractOp(PlanTimeOp):
    """One element (row-major position) of an integer tensor whose values are known at plan time."""

    name = "loom.extract"
    position = prop_def(IntegerAttr)
    source = operand_def(AnyAttr())
    result = result_def(IndexType())
    traits = traits_def(Pure())

    def __init__(self, source: SSAValue, position: int):
        super().__init__(
            operands=[source], properties={"position": _int(position)}, result_types=[IndexType()]
        )

    def evaluate(self, operands: Sequence[PlanTensor | int]) -> Sequence[int]:
        flat = known(operands[0], 0).reshape(-1)
        if self.position.value.data >= flat.size:
            raise ValueError(f"element {self.position.value.data} of a tensor of {flat.size} elements")
        return [int(flat[self.position.value.data])]


@irdl_op_definition
class BroadcastSpaceOp(PlanTimeOp):
    """The iteration space of a broadcast: `rank` sizes, then `rank` strides per operand.

    The numpy broadcast of the operand shapes with adjacent dims merged wherever every operand's
    strides allow it, padded in front with dims of size 1. Strides count elements of row-major
    operands and are 0 along broadcast dims.
    """

    name = "loom.broadcast_space"
    rank = prop_def(IntegerAttr)
    args = var_operand_def(AnyAttr())
    results_ = var_result_def(IndexType())
    traits = traits_def(Pure())

    def __init__(self, args: Sequence[SSAValue], rank: int):
        super().__init__(
            operands=[args],
            properties={"rank": _int(rank)},
            result_types=[[IndexType()] * (rank * (1 + len(args)))],
        )

    def evaluate(self, operands: Sequence[PlanTensor | int]) -> Sequence[int]:
        shapes = [o.shape for o in operands if isinstance(o, PlanTensor)]
        sizes, strides = broadcast_space(shapes, self.rank.value.data)
        return [*sizes, *(s for row in strides for s in row)]


@irdl_op_definition
class BroadcastDimsOp(PlanTimeOp):
    """The dims of the numpy broadcast of the operands, `rank` of them (not merged)."""

    name = "loom.broadcast_dims"
    args = var_operand_def(AnyAttr())
    results_ = var_result_def(IndexType())
    traits = traits_def(Pure())

    def __init__(self, args: Sequence[SSAValue], rank: int):
        super().__init__(operands=[args], result_types=[[IndexType()] * rank])

    def evaluate(self, operands: Sequence[PlanTensor | int]) -> Sequence[int]:
        dims = np.broadcast_shapes(*(o.shape for o in operands if isinstance(o, PlanTensor)))
        return [1] * (len(self.results_) - len(dims)) + list(dims)


@irdl_op_definition
class DimsEqualOp(PlanTimeOp):
    """1 if dims of the operands are equal as required, else 0.

    `conditions` holds `[i, a, j, b]` rows: dim `a` of operand `i` equals dim `b` of operand `j`.
    """

    name = "loom.dims_equal"
    conditions = prop_def(ArrayAttr[ArrayAttr[IntegerAttr]])
    args = var_operand_def(AnyAttr())
    result = result_def(IndexType())
    traits = traits_def(Pure())

    def __init__(self, args: Sequence[SSAValue], conditions: Sequence[tuple[int, int, int, int]]):
        rows = ArrayAttr([ArrayAttr([_int(v) for v in row]) for row in conditions])
        super().__init__(operands=[args], properties={"conditions": rows}, result_types=[IndexType()])

    def evaluate(self, operands: Sequence[PlanTensor | int]) -> Sequence[int]:
        shapes = [o.shape for o in operands if isinstance(o, PlanTensor)]
        rows = [[v.value.data for v in row.data] for row in self.conditions.data]
        return [int(all(shapes[i][a] == shapes[j][b] for i, a, j, b in rows))]


@irdl_op_definition
class ReshapeSizesOp(PlanTimeOp):
    """The result dims of Reshape(data, shape): 0 copies a dim unless `allowzero`, -1 is inferred."""

    name = "loom.reshape_sizes"
    allowzero = prop_def(BoolAttr)
    data = operand_def(AnyAttr())
    shape = operand_def(AnyAttr())
    results_ = var_result_def(IndexType())
    traits = traits_def(Pure())

    def __init__(self, data: SSAValue, shape: SSAValue, rank: int, allowzero: bool):
        super().__init__(
            operands=[data, shape],
            properties={"allowzero": BoolAttr.from_bool(allowzero)},
            result_types=[[IndexType()] * rank],
        )

    def evaluate(self, operands: Sequence[PlanTensor | int]) -> Sequence[int]:
        data, shape = operands
        assert isinstance(data, PlanTensor)
        target = [int(d) for d in known(shape, 1).reshape(-1)]
        return reshape_sizes(data.shape, target, bool(self.allowzero))
