"""`onnx.conv_epilogue`: a convolution and the elementwise ops on its result, tile by tile.

    Conv(bias) ──► BatchNormalization ──► HardSwish ──► Add(residual) ──► y

An operand of the epilogue is one number per channel, image or both, or has all points of the result:
the points are one loop.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final

from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.ir import Operation

from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.access import ints_attr, is_none, str_attr
from onnxloom.transforms.fusion.epilogue import EpilogueFusion, unfit_factors
from onnxloom.transforms.fusion.match import Miss
from onnxloom.transforms.fusion.spaces import Axis, Read, Space, Spaces, shape_of

MAX_SPATIAL: Final = 3
"""Spatial dims a convolution kernel slides over."""


class ConvEpilogueFusion(EpilogueFusion):
    """A Conv with its epilogue."""

    kind: ClassVar[str] = "onnx.conv_epilogue"
    anchors: ClassVar[tuple[type[Operation], ...]] = (onnx.ConvOp,)

    @classmethod
    def unfit_product(cls, op: Operation) -> Miss | None:
        if not isinstance(op, onnx.ConvOp):
            return Miss(f"{op.name} is not a convolution")
        problem = unfit_factors(op, least_rank=3)
        if problem is not None:
            return problem
        problem = unfit_window(op)
        if problem is not None:
            return problem
        if any(len(shape_of(read.value) or ()) != 1 for read in cls.addend_reads(op)):
            return Miss("the bias of a convolution is no vector")
        return None

    @classmethod
    def product_space(cls, product: Operation, spaces: Spaces) -> Space:
        image, weights, result = (
            spaces.input(value) for value in (*product.operands[:2], product.results[0])
        )
        assert image is not None and weights is not None and result is not None
        return (*point_axes(product, image[:-2], result[:-2]), weights[-1], image[-1])

    @classmethod
    def addend_reads(cls, product: Operation) -> Sequence[Read]:
        rank = len(shape_of(product.results[0]) or ())
        return tuple(Read(bias, rank - 2) for bias in product.operands[2:] if not is_none(bias))

    @classmethod
    def unfit_operand(cls, product: Operation, read: Read) -> str | None:
        result = shape_of(product.results[0])
        assert result is not None
        points = result[2:]
        shape = (*(1 for _ in points), *(shape_of(read.value) or ()), *(1 for _ in range(read.trailing)))
        own = shape[-len(points) :]
        if any(d == 1 and full != 1 for d, full in zip(own, points, strict=True)) and set(own) != {1}:
            return "an operand that broadcasts along some spatial dims only"
        return None


def unfit_window(op: Operation) -> Miss | None:
    """Why a convolution slides over its input as no kernel does."""
    image, weights, result = (shape_of(v) or () for v in (*op.operands[:2], op.results[0]))
    if not len(image) == len(weights) == len(result):
        return Miss("input, weights and result of a convolution differ in rank")
    spatial = len(image) - 2
    if spatial > MAX_SPATIAL:
        return Miss(f"a convolution over {spatial} spatial dims has no kernel")
    if DYNAMIC_INDEX in weights[2:]:
        return Miss("the dims of the convolution window are not known")
    for name, count in (("strides", spatial), ("dilations", spatial), ("pads", 2 * spatial)):
        given = ints_attr(op, name)
        if given and len(given) != count:
            return Miss(f"{name} of a convolution has {len(given)} entries; expected {count}")
    if _is_explicit(op) and any(pad < 0 for pad in ints_attr(op, "pads") or ()):
        return Miss("negative pads of a convolution have no kernel")
    return None


def point_axes(product: Operation, image: Sequence[Axis], result: Sequence[Axis]) -> list[Axis]:
    """The spatial axes of a convolution, given those of its input and of its result, last one first."""
    points: list[Axis] = []
    for axis, (own, made) in enumerate(zip(image, result, strict=True)):
        index = len(image) - 1 - axis
        # A dim that only the sizes tell stands for itself.
        kept = (shape_of(product.results[0]) or ())[2 + index] == DYNAMIC_INDEX
        points.append(own if kept and _keeps_size(product, index) else made)
    return points


def _is_explicit(op: Operation) -> bool:
    """Whether `pads` counts."""
    return str_attr(op, "auto_pad") in ("", "NOTSET")


def _keeps_size(op: Operation, index: int) -> bool:
    """Whether the result has as many places along a spatial dim as the input, whatever that is."""
    kernel = (shape_of(op.operands[1]) or ())[2:]
    rank = len(kernel)
    strides, dilations, pads = (ints_attr(op, name) for name in ("strides", "dilations", "pads"))
    if strides and strides[index] != 1:
        return False
    border = (kernel[index] - 1) * (dilations[index] if dilations else 1)
    if _is_explicit(op):
        return (pads[index] + pads[rank + index] if pads else 0) == border
    return border == 0 or str_attr(op, "auto_pad").startswith("SAME")
