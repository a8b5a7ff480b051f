"""Which kernel computes a convolution? One function, for the single op and the fused kind."""

from __future__ import annotations

from xdsl.ir import SSAValue

from onnxloom.conversion.onnx_to_loom.builder import KernelBuilder, buffer_element
from onnxloom.conversion.onnx_to_loom.convolutions.convolution import (
    Convolution,
    build_pointwise,
    build_tap_product,
    column_strides,
    is_pointwise,
)
from onnxloom.conversion.onnx_to_loom.convolutions.depthwise import build_depthwise, is_depthwise
from onnxloom.conversion.onnx_to_loom.decline import Declined

MAX_SPATIAL = 3


def build_convolution(builder: KernelBuilder, name: str, conv: Convolution) -> SSAValue:
    """Writes the kernels and their launches; gives the result.

    Raises:
        Declined: there is no kernel for this form.
    """
    if not 1 <= conv.window.rank <= MAX_SPATIAL:
        raise Declined(f"a convolution over {conv.window.rank} spatial dims has no kernel")
    if buffer_element(conv.source.type) != buffer_element(conv.weights.type):
        raise Declined("input and weights have different element types")
    strides = column_strides(conv)
    if is_pointwise(conv):
        return build_pointwise(builder, name, conv)
    if is_depthwise(conv) and conv.parts == 1:
        return build_depthwise(builder, f"depthwise_{name}", conv, strides)
    return build_tap_product(builder, name, conv, strides)
