"""DynamicQuantizeLinear as one kernel."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Operation, SSAValue

from onnxloom.conversion.onnx_to_loom.builder import KernelBuilder
from onnxloom.conversion.onnx_to_loom.quantized.dynamic_quantization import build_dynamic_quantization
from onnxloom.conversion.onnx_to_loom.registry import Inputs, lowering
from onnxloom.dialects import onnx


@lowering(onnx.DynamicQuantizeLinearOp)
def lower_dynamic_quantize_linear(
    op: Operation, inputs: Inputs, builder: KernelBuilder
) -> Sequence[SSAValue]:
    """Levels, scale and zero point."""
    (x,) = inputs
    assert x is not None
    return build_dynamic_quantization(builder, x)
