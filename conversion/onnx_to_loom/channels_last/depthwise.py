"""How is a depthwise convolution of channels-last images lowered? By vectors of channels.

The weights lie tap by tap, `[taps, channels]`. Sums stay in registers until the epilogue has run on them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xdsl.dialects import arith
from xdsl.dialects.builtin import DYNAMIC_INDEX, IntegerAttr, TensorType, f32, i64
from xdsl.dialects.utils import FastMathFlag
from xdsl.ir import Attribute, SSAValue

from onnxloom.conversion.onnx_to_loom.builder import (
    KernelBuilder,
    buffer_element,
    index_value,
    program_constant,
    ranked,
    shape_of,
)
from onnxloom.conversion.onnx_to_loom.channels_last.operand_strides import channel_stride
from onnxloom.conversion.onnx_to_loom.channels_last.tile_shapes import tile_shape, window_sizes
from onnxloom.conversion.onnx_to_loom.channels_last.windows import Point, Reduction, WindowTiles
from onnxloom.conversion.onnx_to_loom.convolutions.convolution import Convolution
from onnxloom.conversion.onnx_to_loom.decline import Declined
from onnxloom.conversion.onnx_to_loom.kernel_body import KernelBody
from onnxloom.conversion.onnx_to_loom.products.widening import is_half
from onnxloom.dialects import loom
from onnxloom.dialects.onnx.semantics.scalars import (
    Scalar,
    compute_type,
    is_float,
)

CONTRACT = arith.FastMathFlagsAttr([FastMathFlag.ALLOW_CONTRACT])


def build_depthwise_channels_last(builder: KernelBuilder, name: str, conv: Convolution) -> SSAValue:
    """Writes the kernel and its launch; gives the result.

    Raises:
        Declined: the number of channels is not known, or the input has another one.
    """
    channels = shape_of(conv.weights)[0]
    if channels == DYNAMIC_INDEX or channels == 0 or channels % conv.group:
        raise Declined("the channels of a depthwise convolution are not known, or not those of its groups")
    _check_channels(builder, conv)
    result_type = ranked(conv.result_type, "the result")
    sizes = window_sizes(builder, conv.source, conv.window)
    weights, tap_strides = weights_by_tap(builder, conv.weights)
    dims = [sizes.batch, *sizes.places, builder.index(channels)]
    strides = list(builder.insert(loom.BroadcastStridesOp(conv.others, dims)).results) if conv.others else []
    arguments = [*sizes.arguments, *strides]
    ins = [conv.source, weights, *conv.others]
    kernel = builder.kernel(name, ins, [result_type], len(arguments))
    element = compute_type(buffer_element(conv.source.type))
    target = builder.kernels.target
    shape = tile_shape(conv.window, sizes, channels, channels // conv.group, element, target)
    count = len(sizes.arguments)
    tiles = WindowTiles(kernel, conv.window, kernel.sizes[:count], shape)
    sums = DepthwiseSums(kernel, element, kernel.ins[1], tap_strides)
    tiles.write(sums.reduction(_Epilogue(kernel, conv, kernel.sizes[count:]).finish))
    return builder.launch(kernel, ins, [builder.empty(result_type, dims)], arguments)[0]


def _check_channels(builder: KernelBuilder, conv: Convolution) -> None:
    """Compares the channels of the input with the groups, now or when the plan is made."""
    given = builder.dim(conv.source, -1)
    if index_value(given) is None:
        wrong = builder.insert(arith.SubiOp(given, builder.index(conv.group))).results[0]
        message = f"a convolution of {conv.group} channels reads an input that has {{0}} more"
        builder.insert(loom.CheckOp(wrong, message))
    elif index_value(given) != conv.group:
        raise Declined(f"a convolution of {conv.group} channels reads an input of {index_value(given)}")


def weights_by_tap(builder: KernelBuilder, weights: SSAValue) -> tuple[SSAValue, tuple[int, int]]:
    """The weights and their strides along taps and channels; constants tap by tap, others as they are."""
    type_ = ranked(weights.type, "the weights")
    channels, *window = type_.get_shape()
    taps = 1
    for size in window:
        taps *= size
    if program_constant(weights) is None and not isinstance(weights.owner, loom.PackOp):
        return weights, (1, taps)
    single = is_half(type_.element_type)
    params: dict[str, Attribute] = {"single": IntegerAttr(1, i64)} if single else {}
    packed = TensorType(f32 if single else type_.element_type, [taps, channels])
    return builder.insert(loom.PackOp(weights, "transposed_rows", params, packed)).results[0], (channels, 1)


@dataclass(frozen=True)
class DepthwiseSums:
    """The sums of products of a depthwise convolution; `weights` as `weights_by_tap` gives them."""

    kernel: KernelBody
    element: Attribute
    """Of the sums."""
    weights: SSAValue
    tap_strides: tuple[int, int]

    def reduction(self, finish: Callable[[Point, Scalar], Scalar]) -> Reduction:
        """The same with what becomes of a sum."""
        zero = self.kernel.scalars.const(0.0, self.element)
        return Reduction(lambda: zero, lambda: zero, self._weight, self._product, finish)

    def _weight(self, tap: Scalar, channel: Scalar) -> Scalar:
        k = self.kernel
        by_tap, by_channel = (k.index(stride) for stride in self.tap_strides)
        return k.scalars.widen(k.load(self.weights, k.add(k.mul(tap, by_tap), k.mul(channel, by_channel))))

    def _product(self, total: Scalar, factor: Scalar | None, value: Scalar) -> Scalar:
        s = self.kernel.scalars
        assert factor is not None
        if not is_float(total.type):
            return s.add(total, s.mul(factor, value))
        return s.emit(arith.AddfOp(total, s.emit(arith.MulfOp(factor, value, CONTRACT)), CONTRACT))


class _Epilogue:
    """What is done with a sum."""

    def __init__(self, kernel: KernelBody, conv: Convolution, strides: Sequence[Scalar]):
        """`strides`: of every epilogue operand, along every dim of the result."""
        self.kernel, self.conv = kernel, conv
        rank = conv.window.rank + 2
        self.strides = [strides[i * rank : (i + 1) * rank] for i in range(len(conv.others))]
        channels = shape_of(conv.weights)[0]
        self.channel_strides = [channel_stride(other, channels) for other in conv.others]
        self.others = kernel.ins[2:]

    def finish(self, point: Point, value: Scalar) -> Scalar:
        """A sum as an element of the result."""
        s, conv = self.kernel.scalars, self.conv
        if conv.epilogue is not None:
            return conv.epilogue(s, value, self._operands(point))
        target = buffer_element(conv.result_type)
        return s.float_to(value, target) if is_float(value.type) and value.type != target else value

    def _operands(self, point: Point) -> list[Scalar]:
        """The epilogue operands at one place."""
        k = self.kernel
        result: list[Scalar] = []
        for buffer, strides, known in zip(self.others, self.strides, self.channel_strides, strict=True):
            at = k.index(0)
            for index, stride in zip((*point.line.index, point.place), strides[:-1], strict=True):
                at = k.add(at, k.mul(index, stride))
            step = strides[-1] if known is None else k.index(known)
            result.append(k.load(buffer, k.add(at, k.mul(point.channel, step))))
        return result
