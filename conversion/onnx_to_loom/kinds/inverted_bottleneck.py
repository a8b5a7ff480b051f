"""How is `onnx.inverted_bottleneck` lowered? As one kernel, strip by strip."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from onnxloom.conversion.onnx_to_loom.builder import KernelBuilder
from onnxloom.conversion.onnx_to_loom.channels_last.bottleneck_form import lower_bottleneck
from onnxloom.conversion.onnx_to_loom.registry import FusedOpKindLowering
from onnxloom.dialects.onnx import FusedOp
from onnxloom.transforms.fusion.kinds.inverted_bottleneck import InvertedBottleneckFusion


class InvertedBottleneckLowering(FusedOpKindLowering[InvertedBottleneckFusion]):
    """Lowers `onnx.inverted_bottleneck`."""

    helper = InvertedBottleneckFusion

    def lower_verified(
        self,
        fused_op: FusedOp,
        helper: InvertedBottleneckFusion,
        inputs: Sequence[SSAValue],
        builder: KernelBuilder,
    ) -> Sequence[SSAValue]:
        return [lower_bottleneck(fused_op, helper, inputs, builder)]
