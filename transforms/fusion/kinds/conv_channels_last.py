"""`onnx.conv_channels_last`: a convolution of tensors whose last axis is the channels, with its epilogue.

    Transpose(NHWC to NCHW) ──► Conv(bias) ──► Transpose(NCHW to NHWC) ──► HardSwish ──► Add(residual) ──► y

One kernel reads and writes channels last; nothing is transposed. An operand of the epilogue is one
number per channel, image or both, or has all points of the result.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from xdsl.ir import Operation

from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.access import ints_attr, is_none
from onnxloom.transforms.fusion.epilogue import Core, EpilogueFusion, only_reader
from onnxloom.transforms.fusion.kinds.conv_epilogue import ConvEpilogueFusion, point_axes
from onnxloom.transforms.fusion.match import Miss
from onnxloom.transforms.fusion.spaces import Read, Space, Spaces, shape_of


class ConvChannelsLastFusion(EpilogueFusion):
    """A Conv between the two Transposes that make it one of channels last, and the epilogue."""

    kind: ClassVar[str] = "onnx.conv_channels_last"
    anchors: ClassVar[tuple[type[Operation], ...]] = (onnx.ConvOp,)
    benefit: ClassVar[int] = 110

    @classmethod
    def unfit_product(cls, op: Operation) -> Miss | None:
        return ConvEpilogueFusion.unfit_product(op)

    @classmethod
    def core_of(cls, product: Operation) -> Core | Miss:
        rank = len(shape_of(product.results[0]) or ())
        before, after = product.operands[0].owner, only_reader(product.results[0])
        if not _permutes(before, (0, rank - 1, *range(1, rank - 1))):
            return Miss("the input of the convolution is no Transpose from channels last")
        if not _permutes(after, (0, *range(2, rank), 1)):
            return Miss("the result of the convolution is not read by one Transpose to channels last alone")
        assert isinstance(before, Operation) and after is not None
        if only_reader(before.results[0]) is not product:
            return Miss("the transposed input of the convolution is read elsewhere")
        if before.parent is not product.parent or after.parent is not product.parent:
            return Miss("a Transpose of the convolution is in another block")
        if len(shape_of(before.operands[0]) or ()) != rank:
            return Miss("the rank of the input of the convolution is not known")
        return Core(product, (before,), (after,))

    @classmethod
    def product_space(cls, product: Operation, spaces: Spaces) -> Space:
        before, _, after = _core(cls, product)
        image, result, weights = (
            spaces.input(value) for value in (before.operands[0], after.results[0], product.operands[1])
        )
        assert image is not None and weights is not None and result is not None
        # Axes go from the last to the first: channels, then the points.
        points = point_axes(product, image[1:-1], result[1:-1])
        return (weights[-1], *points, image[-1])

    @classmethod
    def addend_reads(cls, product: Operation) -> Sequence[Read]:
        return tuple(Read(bias, 0) for bias in product.operands[2:] if not is_none(bias))

    @classmethod
    def unfit_operand(cls, product: Operation, read: Read) -> str | None:
        if read.trailing:
            return "a vector along an axis that is not the last"
        result = shape_of(_core(cls, product)[-1].results[0])
        assert result is not None
        points = result[1:-1]
        own = (*(1 for _ in points), *(shape_of(read.value) or (1,)))[-1 - len(points) : -1]
        if any(d == 1 and full != 1 for d, full in zip(own, points, strict=True)) and set(own) != {1}:
            return "an operand that broadcasts along some spatial dims only"
        return None


def _core(kind: type[ConvChannelsLastFusion], product: Operation) -> tuple[Operation, ...]:
    core = kind.core_of(product)
    assert isinstance(core, Core)
    return core.ops


def _permutes(op: object, perm: tuple[int, ...]) -> bool:
    return isinstance(op, onnx.TransposeOp) and ints_attr(op, "perm") == perm
