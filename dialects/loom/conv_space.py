"""`loom.image_space` and `loom.conv_space`: sizes of convolutions.

A convolution reads its input from a *padded image*: per channel plane the rows that some window touches,
borders included, each row split by the column stride into phases, so that the columns a window tap reads for
neighbouring outputs are neighbours: `[planes, *leading rows, phase, column]`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from xdsl.dialects.builtin import ArrayAttr, BoolAttr, IndexType, IntegerAttr, StringAttr, UnitAttr, i64
from xdsl.ir import SSAValue
from xdsl.irdl import (
    AnyAttr,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.traits import Pure

from onnxloom.dialects.loom.plan_time import PlanTensor, PlanTimeOp
from onnxloom.dialects.loom.window_space import window_dim

Shape = tuple[int, ...]


@dataclass(frozen=True)
class Window:
    """A sliding window as ONNX describes it; one entry per spatial dim, `pads` begins then ends."""

    kernel: Shape
    strides: Shape
    dilations: Shape
    pads: Shape
    auto_pad: str = "NOTSET"
    ceil: bool = False
    clips: bool = False
    """Whether the end of one that is too long by less than a stride is cut off, as pools do."""

    @property
    def rank(self) -> int:
        """Number of spatial dims."""
        return len(self.kernel)

    @property
    def extents(self) -> Shape:
        """Input elements a window spans per dim."""
        return tuple((k - 1) * d + 1 for k, d in zip(self.kernel, self.dilations, strict=True))

    def places(self, sizes: Sequence[int]) -> list[tuple[int, int, int]]:
        """Per spatial dim of an input of these sizes: result dim, border before, border after.

        Raises:
            ValueError: the window does not fit the padded input.
        """
        pads = zip(self.pads[: self.rank], self.pads[self.rank :], strict=True)
        rows = zip(sizes, self.kernel, self.strides, self.dilations, pads, strict=True)
        return [
            window_dim(size, k, s, d, pad, self.auto_pad, self.ceil, self.clips)
            for size, k, s, d, pad in rows
        ]

    def image(self, outputs: Sequence[int]) -> tuple[list[int], int]:
        """Rows per leading dim of the padded image, and columns per phase."""
        rows = [
            (out - 1) * stride + extent if out else 0
            for out, stride, extent in zip(outputs, self.strides, self.extents, strict=True)
        ][:-1]
        reach = (self.kernel[-1] - 1) * self.dilations[-1] // self.strides[-1]
        return rows, outputs[-1] + reach if outputs[-1] else 0


def operand_strides(shape: Shape, result: Shape) -> tuple[int, int, int]:
    """Strides of an epilogue operand along batch, channels and flattened spatial dims of `result`.

    Raises:
        ValueError: it broadcasts along some spatial dims but not along all.
    """
    padded = (1,) * (len(result) - len(shape)) + shape
    if np.broadcast_shapes(padded, result) != result or len(padded) != len(result):
        raise ValueError(f"an operand of shape {list(shape)} does not fit the result {list(result)}")
    spatial = padded[2:]
    points = math.prod(spatial)
    if spatial != result[2:] and points != 1:
        raise ValueError(f"an operand of shape {list(shape)} broadcasts along some spatial dims only")
    batch = 0 if padded[0] == 1 else padded[1] * points
    channel = 0 if padded[1] == 1 else points
    return batch, channel, 0 if points == 1 else 1


def conv_space(x: Shape, w: Shape, others: Sequence[Shape], window: Window, group: int) -> list[int]:
    """The integers `loom.conv_space` results in; see there.

    Raises:
        ValueError: input, weights and operands do not fit each other.
    """
    batch, channels, *sizes = x
    if channels != w[1] * group or w[0] % group:
        raise ValueError(f"{channels} channels do not fit weights {list(w)} in {group} groups")
    outputs = [out for out, _, _ in window.places(sizes)]
    points, rows, depth = math.prod(outputs), w[0] // group, math.prod(w[1:])
    leading, columns = window.image(outputs)
    row = window.strides[-1] * columns
    plane = math.prod(leading) * row
    result = (batch, w[0], *outputs)
    strides = [operand_strides(shape, result) for shape in others]
    lines = [0, rows * depth, depth, channels * plane, w[1] * plane, 0, w[0] * points, rows * points, points]
    for n, c, _ in strides:
        lines += [n, rows * c, c]
    inner = [math.prod(leading[i + 1 :]) * row for i in range(len(leading))]
    return [
        *(batch, group, rows, points, depth),
        *lines,
        *(1, 0, 1),
        *(by_column for _, _, by_column in strides),
        *(plane, outputs[-1], *outputs[:-1], *inner, columns),
    ]


class WindowOp(PlanTimeOp):
    """Properties of an op that slides a window."""

    kernel = prop_def(ArrayAttr[IntegerAttr])
    strides = prop_def(ArrayAttr[IntegerAttr])
    dilations = prop_def(ArrayAttr[IntegerAttr])
    pads = prop_def(ArrayAttr[IntegerAttr])
    auto_pad = prop_def(StringAttr)
    ceil = prop_def(BoolAttr)
    clips = opt_prop_def(UnitAttr)

    @property
    def window(self) -> Window:
        """The window."""
        kernel, strides, dilations, pads = (
            tuple(i.value.data for i in attr.data)
            for attr in (self.kernel, self.strides, self.dilations, self.pads)
        )
        clips = self.clips is not None
        return Window(kernel, strides, dilations, pads, self.auto_pad.data, bool(self.ceil), clips)


def window_properties(
    window: Window,
) -> dict[str, ArrayAttr[IntegerAttr] | StringAttr | BoolAttr | UnitAttr]:
    """A window as the properties of a `WindowOp`."""

    def ints(values: Shape) -> ArrayAttr[IntegerAttr]:
        return ArrayAttr([IntegerAttr(v, i64) for v in values])

    return {
        "kernel": ints(window.kernel),
        "strides": ints(window.strides),
        "dilations": ints(window.dilations),
        "pads": ints(window.pads),
        "auto_pad": StringAttr(window.auto_pad),
        "ceil": BoolAttr.from_bool(window.ceil),
        **({"clips": UnitAttr()} if window.clips else {}),
    }


@irdl_op_definition
class ImageSpaceOp(WindowOp):
    """Sizes of a window over `source` (`[N, C, *spatial]`), for D spatial dims.

    Results, in order: D result dims, D borders before each dim, D - 1 leading dims of the padded image,
    its columns per phase.
    """

    name = "loom.image_space"
    source = operand_def(AnyAttr())
    results_ = var_result_def(IndexType())
    traits = traits_def(Pure())

    def __init__(self, source: SSAValue, window: Window):
        super().__init__(
            operands=[source],
            properties=dict(window_properties(window)),
            result_types=[[IndexType()] * (3 * window.rank)],
        )

    def evaluate(self, operands: Sequence[PlanTensor | int]) -> Sequence[int]:
        (source,) = operands
        assert isinstance(source, PlanTensor)
        places = self.window.places(source.shape[2:])
        outputs = [out for out, _, _ in places]
        leading, columns = self.window.image(outputs)
        return [*outputs, *(begin for _, begin, _ in places), *leading, columns]


@irdl_op_definition
class ConvSpaceOp(WindowOp):
    """Sizes and strides of a convolution as a matrix product over the padded image.

    Per image and group, `weights [rows, depth] @ taps [depth, points]`. Results, in order, are those of
    `loom.matmul_space` of rank 2 (batch: images, groups), then: elements of one plane of the padded
    image, result columns, leading result dims, element strides of the image's leading dims, columns per
    phase.
    """

    name = "loom.conv_space"
    group = prop_def(IntegerAttr)
    source = operand_def(AnyAttr())
    weights = operand_def(AnyAttr())
    others = var_operand_def(AnyAttr())
    results_ = var_result_def(IndexType())
    traits = traits_def(Pure())

    def __init__(
        self, source: SSAValue, weights: SSAValue, others: Sequence[SSAValue], window: Window, group: int
    ):
        count = 5 + 9 + 3 * len(others) + 3 + len(others) + 2 * window.rank + 1
        super().__init__(
            operands=[source, weights, others],
            properties={**window_properties(window), "group": IntegerAttr(group, i64)},
            result_types=[[IndexType()] * count],
        )

    def evaluate(self, operands: Sequence[PlanTensor | int]) -> Sequence[int]:
        x, w, *others = (o.shape for o in operands if isinstance(o, PlanTensor))
        return conv_space(x, w, others, self.window, self.group.value.data)
