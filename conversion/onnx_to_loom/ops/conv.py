"""Conv as kernels."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Operation, SSAValue

from onnxloom.conversion.onnx_to_loom.builder import KernelBuilder, buffer_element
from onnxloom.conversion.onnx_to_loom.convolutions.conv_forms import add_bias, channel_operand, conv_form
from onnxloom.conversion.onnx_to_loom.convolutions.select_convolution import build_convolution
from onnxloom.conversion.onnx_to_loom.registry import Inputs, lowering
from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.semantics.scalars import Scalar, Scalars


@lowering(onnx.ConvOp)
def lower_conv(op: Operation, inputs: Inputs, builder: KernelBuilder) -> Sequence[SSAValue]:
    """Conv with its bias."""
    source, weights, *rest = inputs
    assert source is not None and weights is not None
    bias = rest[0] if rest else None
    target = buffer_element(op.results[0].type)

    def epilogue(s: Scalars, value: Scalar, others: Sequence[Scalar]) -> Scalar:
        return s.float_to(add_bias(s, value, others[0]), target)

    form = conv_form(op, builder, source, weights)
    others = [] if bias is None else [channel_operand(builder, bias, form.window.rank)]
    return [build_convolution(builder, "conv", form.with_epilogue(others, epilogue if others else None))]
