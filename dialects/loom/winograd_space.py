"""`loom.winograd_space`: sizes of a 3x3 convolution by tiles of results."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.dialects.builtin import IndexType
from xdsl.ir import SSAValue
from xdsl.irdl import AnyAttr, irdl_op_definition, operand_def, traits_def, var_operand_def, var_result_def
from xdsl.traits import Pure

from onnxloom.dialects.loom.conv_space import Window, WindowOp, window_properties
from onnxloom.dialects.loom.plan_time import PlanTensor
from onnxloom.dialects.loom.spaces import broadcast_strides
from onnxloom.dialects.loom.winograd_filter import TILE


def winograd_space(
    x: tuple[int, ...], w: tuple[int, ...], others: Sequence[tuple[int, ...]], window: Window
) -> list[int]:
    """The integers `loom.winograd_space` results in; see there.

    Raises:
        ValueError: input, weights and operands do not fit each other.
    """
    batch, height, width, channels = x
    rows = w[0]
    if channels != w[1]:
        raise ValueError(f"{channels} channels do not fit weights {list(w)}")
    (out_height, top, _), (out_width, left, _) = window.places([height, width])
    down, across = -(-out_height // TILE), -(-out_width // TILE)
    result = (batch, out_height, out_width, rows)
    strides: list[int] = []
    for shape in others:
        if np.broadcast_shapes(shape, result) != result:
            raise ValueError(f"an operand of shape {list(shape)} does not fit the result {list(result)}")
        strides += broadcast_strides(shape, result)
    return [*x, out_height, out_width, rows, top, left, down, across, batch * down * across, *strides]


@irdl_op_definition
class WinogradSpaceOp(WindowOp):
    """Sizes of a 3x3 convolution of `[N, H, W, C]` by tiles of 4x4 results.

    Results, in order: N, H, W, C; H and W of the result, its channels; borders before H and W; tiles along H
    and along W, tiles in all; per epilogue operand its strides along N, H, W and channels of the result.
    """

    name = "loom.winograd_space"
    source = operand_def(AnyAttr())
    weights = operand_def(AnyAttr())
    others = var_operand_def(AnyAttr())
    results_ = var_result_def(IndexType())
    traits = traits_def(Pure())

    def __init__(self, source: SSAValue, weights: SSAValue, others: Sequence[SSAValue], window: Window):
        super().__init__(
            operands=[source, weights, others],
            properties=dict(window_properties(window)),
            result_types=[[IndexType()] * (12 + 4 * len(others))],
        )

    def evaluate(self, operands: Sequence[PlanTensor | int]) -> Sequence[int]:
        x, w, *others = (o.shape for o in operands if isinstance(o, PlanTensor))
        return winograd_space(x, w, others, self.window)
