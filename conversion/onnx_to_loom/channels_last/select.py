"""Which kernel computes a convolution of channels-last tensors?"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from xdsl.ir import SSAValue

from onnxloom.conversion.onnx_to_loom.builder import KernelBuilder
from onnxloom.conversion.onnx_to_loom.channels_last.depthwise import build_depthwise_channels_last
from onnxloom.conversion.onnx_to_loom.channels_last.implicit_gemm import build_implicit_gemm
from onnxloom.conversion.onnx_to_loom.channels_last.winograd import build_winograd, prefers_winograd
from onnxloom.conversion.onnx_to_loom.convolutions.convolution import Convolution
from onnxloom.conversion.onnx_to_loom.convolutions.depthwise import is_depthwise

Build: TypeAlias = Callable[[KernelBuilder, str, Convolution], SSAValue]


def select_channels_last_convolution(builder: KernelBuilder, conv: Convolution) -> Build:
    """The function that writes the kernels of `conv`; source, result and operands are channels-last."""
    if conv.parts == 1 and is_depthwise(conv):
        return build_depthwise_channels_last
    if prefers_winograd(builder, conv):
        return build_winograd
    return build_implicit_gemm
