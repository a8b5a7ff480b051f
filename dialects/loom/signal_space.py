"""Plan-time ops of spectral transforms: how long are they, and how many?"""

from __future__ import annotations

import math
from collections.abc import Sequence

from xdsl.dialects.builtin import BoolAttr, IndexType, IntegerAttr
from xdsl.ir import SSAValue
from xdsl.irdl import AnyAttr, irdl_op_definition, prop_def, traits_def, var_operand_def, var_result_def
from xdsl.traits import Pure

from onnxloom.dialects.loom.plan_time import PlanTensor, PlanTimeOp, known


def _scalar(operand: PlanTensor | int, index: int) -> int:
    values = known(operand, index).reshape(-1)
    if values.size != 1:
        raise ValueError(f"operand {index} has {values.size} elements; expected 1")
    return int(values[0])


@irdl_op_definition
class DftSpaceOp(PlanTimeOp):
    """Dims of the result of DFT(data, length, axis), then what a kernel goes by.

    These are the elements before the axis, along it and after it (the last dim, of real and imaginary
    parts, left out), the length of the transform, and the elements of the result along the axis.
    `onesided` keeps half of a spectrum; with `inverse` half of one is what is given.
    """

    name = "loom.dft_space"
    inverse = prop_def(BoolAttr)
    onesided = prop_def(BoolAttr)
    has_length = prop_def(BoolAttr)
    parts = prop_def(IntegerAttr)
    args = var_operand_def(AnyAttr())
    results_ = var_result_def(IndexType())
    traits = traits_def(Pure())

    @staticmethod
    def make(
        data: SSAValue,
        length: SSAValue | None,
        axis: SSAValue | None,
        rank: int,
        inverse: bool,
        onesided: bool,
    ) -> DftSpaceOp:
        """The op with `rank + 5` results; without `axis` it is the last but one."""
        return DftSpaceOp.create(
            operands=[v for v in (data, length, axis) if v is not None],
            result_types=[IndexType()] * (rank + 5),
            properties={
                "inverse": BoolAttr.from_bool(inverse),
                "onesided": BoolAttr.from_bool(onesided),
                "has_length": BoolAttr.from_bool(length is not None),
                "parts": IntegerAttr(1 if inverse and onesided else 2, 64),
            },
        )

    def evaluate(self, operands: Sequence[PlanTensor | int]) -> Sequence[int]:
        data, has_length = operands[0], bool(self.has_length)
        assert isinstance(data, PlanTensor)
        shape, rank = data.shape, len(data.shape)
        place = 2 if has_length else 1
        axis = _scalar(operands[place], place) if len(operands) > place else -2
        if not -rank <= axis < rank or axis % rank == rank - 1:
            raise ValueError(f"axis {axis} of a signal of {rank} dims, the last of which holds its parts")
        axis %= rank
        half_given = bool(self.inverse) and bool(self.onesided)
        length = 2 * (shape[axis] - 1) if half_given else shape[axis]
        if has_length:
            length = _scalar(operands[1], 1)
        if length < 1:
            raise ValueError(f"a transform of length {length}")
        kept = length // 2 + 1 if bool(self.onesided) and not half_given else length
        dims = [*shape[:axis], kept, *shape[axis + 1 : -1], self.parts.value.data]
        return [*dims, math.prod(shape[:axis]), shape[axis], math.prod(shape[axis + 1 : -1]), length, kept]


@irdl_op_definition
class StftSpaceOp(PlanTimeOp):
    """Of STFT(signal, step, window, length): the step, the length of a frame, frames, kept frequencies."""

    name = "loom.stft_space"
    onesided = prop_def(BoolAttr)
    has_window = prop_def(BoolAttr)
    args = var_operand_def(AnyAttr())
    results_ = var_result_def(IndexType())
    traits = traits_def(Pure())

    @staticmethod
    def make(
        signal: SSAValue, step: SSAValue, window: SSAValue | None, length: SSAValue | None, onesided: bool
    ) -> StftSpaceOp:
        """Four results."""
        return StftSpaceOp.create(
            operands=[v for v in (signal, step, window, length) if v is not None],
            result_types=[IndexType()] * 4,
            properties={
                "onesided": BoolAttr.from_bool(onesided),
                "has_window": BoolAttr.from_bool(window is not None),
            },
        )

    def evaluate(self, operands: Sequence[PlanTensor | int]) -> Sequence[int]:
        signal, step, *rest = operands
        assert isinstance(signal, PlanTensor)
        size, hop, length = signal.shape[1], _scalar(step, 1), signal.shape[1]
        if bool(self.has_window):
            window = rest.pop(0)
            assert isinstance(window, PlanTensor)
            (length,) = window.shape
        if rest:
            length = _scalar(rest[0], len(operands) - 1)
        if length < 1 or hop < 1:
            raise ValueError(f"frames of length {length}, every {hop} elements")
        frames = max((size - length) // hop + 1, 0)
        return [hop, length, frames, length // 2 + 1 if bool(self.onesided) else length]
