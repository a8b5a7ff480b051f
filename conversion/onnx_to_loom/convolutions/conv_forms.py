"""What does a Conv op slide over its input? Shared by the single op and the fused kind."""

from __future__ import annotations

from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.ir import Operation, SSAValue

from onnxloom.conversion.onnx_to_loom.builder import KernelBuilder, rank_of, shape_of
from onnxloom.conversion.onnx_to_loom.convolutions.convolution import Convolution
from onnxloom.conversion.onnx_to_loom.decline import Declined
from onnxloom.dialects.loom.conv_space import Window
from onnxloom.dialects.onnx.access import int_attr, ints_attr, is_none, str_attr
from onnxloom.dialects.onnx.semantics.scalars import Scalar, Scalars


def conv_window(op: Operation, weights: SSAValue) -> Window:
    """The window of a Conv.

    Raises:
        Declined: the kernel's dims are not known.
    """
    kernel = tuple(shape_of(weights)[2:])
    if DYNAMIC_INDEX in kernel:
        raise Declined("the dims of the convolution window are not known")
    rank = len(kernel)
    strides = ints_attr(op, "strides") or (1,) * rank
    dilations = ints_attr(op, "dilations") or (1,) * rank
    pads = ints_attr(op, "pads") or (0,) * (2 * rank)
    auto_pad = str_attr(op, "auto_pad")
    if auto_pad not in ("", "NOTSET"):
        pads = (0,) * (2 * rank)
    if any(p < 0 for p in pads):
        raise Declined("negative pads of a convolution have no kernel")
    return Window(kernel, strides, dilations, pads, auto_pad or "NOTSET")


def conv_form(op: Operation, builder: KernelBuilder, source: SSAValue, weights: SSAValue) -> Convolution:
    """A Conv without its bias. Raises Declined."""
    if rank_of(source) != rank_of(weights):
        raise Declined("input and weights of a convolution differ in rank")
    window = conv_window(op, weights)
    return Convolution(source, weights, window, int_attr(op, "group"), op.results[0].type)


def conv_bias(op: Operation) -> SSAValue | None:
    """The bias operand of a Conv, None where it is omitted."""
    return op.operands[2] if len(op.operands) > 2 and not is_none(op.operands[2]) else None


def add_bias(s: Scalars, value: Scalar, bias: Scalar | None) -> Scalar:
    """A sum of products with its channel's bias."""
    assert bias is not None
    return s.add(value, s.widen(bias))


def channel_operand(builder: KernelBuilder, value: SSAValue, spatial: int) -> SSAValue:
    """A vector of one entry per channel as an operand that broadcasts to `[N, C, *spatial]`."""
    (channels,) = builder.dims(value)
    return builder.view(value, [channels, *[builder.index(1)] * spatial])
