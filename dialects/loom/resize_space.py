"""The plan-time op of Resize: how long is each resampled axis, and by which factor does it grow?"""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence

from xdsl.dialects.builtin import ArrayAttr, IndexType, IntegerAttr, StringAttr
from xdsl.ir import SSAValue
from xdsl.irdl import AnyAttr, irdl_op_definition, operand_def, prop_def, traits_def, var_result_def
from xdsl.traits import Pure

from onnxloom.dialects.loom.plan_time import PlanTensor, PlanTimeOp, known

RESULTS_PER_AXIS = 4


@irdl_op_definition
class ResizeSpaceOp(PlanTimeOp):
    """Four results for each of `axes`: the size, the factor, the taps and whether anything changes.

    `target` holds a size or, if its elements are floats, a factor for each axis. `policy` is ONNX's
    `keep_aspect_ratio_policy`. The factor is passed as the bits of an f64. `reach` is how far a filter
    reaches to either side where the factor is at least 1; filters that suppress aliasing are stretched by
    factors below 1, and the taps are the elements of the source they cover.
    """

    name = "loom.resize_space"
    axes = prop_def(ArrayAttr[IntegerAttr])
    policy = prop_def(StringAttr)
    reach = prop_def(IntegerAttr)
    data = operand_def(AnyAttr())
    target = operand_def(AnyAttr())
    results_ = var_result_def(IndexType())
    traits = traits_def(Pure())

    @staticmethod
    def make(
        data: SSAValue, target: SSAValue, axes: Sequence[int], policy: str = "stretch", reach: int = 1
    ) -> ResizeSpaceOp:
        """The op with four results per axis."""
        return ResizeSpaceOp.create(
            operands=[data, target],
            result_types=[IndexType()] * (RESULTS_PER_AXIS * len(axes)),
            properties={
                "axes": ArrayAttr([IntegerAttr(a, 64) for a in axes]),
                "policy": StringAttr(policy),
                "reach": IntegerAttr(reach, 64),
            },
        )

    def evaluate(self, operands: Sequence[PlanTensor | int]) -> Sequence[int]:
        data = operands[0]
        assert isinstance(data, PlanTensor)
        dims = [data.shape[a.value.data] for a in self.axes.data]
        target = known(operands[1], 1).reshape(-1)
        if len(target) != len(dims):
            raise ValueError(f"{len(target)} sizes or scales for {len(dims)} axes")
        if target.dtype.kind == "f":
            factors = [_factor(float(scale)) for scale in target]
            sizes = [math.floor(dim * factor) for dim, factor in zip(dims, factors, strict=True)]
        else:
            sizes, factors = self._from_sizes(dims, [int(size) for size in target])
        results: list[int] = []
        for dim, size, factor in zip(dims, sizes, factors, strict=True):
            taps = filter_taps(self.reach.value.data, factor if size else 1.0)
            changes = size != dim or not math.isclose(factor, 1.0)
            results += [size, float_bits(factor), taps, int(changes)]
        return results

    def _from_sizes(self, dims: Sequence[int], sizes: list[int]) -> tuple[list[int], list[float]]:
        if any(size < 0 for size in sizes):
            raise ValueError(f"a size of {min(sizes)}")
        # A dim of 0 has no factor: it is refused unless nothing is to be made of it.
        factors = [size / dim if dim else 1.0 for dim, size in zip(dims, sizes, strict=True)]
        if self.policy.data == "stretch" or not factors:
            return sizes, factors
        factor = (min if self.policy.data == "not_larger" else max)(factors)
        return [math.floor(dim * factor + 0.5) for dim in dims], [factor] * len(dims)


def _factor(scale: float) -> float:
    if not 0.0 < scale < math.inf:
        raise ValueError(f"a scale of {scale}")
    return scale


def filter_taps(reach: int, factor: float) -> int:
    """How many elements a filter that is stretched by factors below 1 covers; an even number."""
    return 2 - 2 * (math.floor(-reach / min(factor, 1.0)) + 1)


def float_bits(value: float) -> int:
    """An f64 as the signed number with its bits."""
    return struct.unpack("<q", struct.pack("<d", value))[0]
