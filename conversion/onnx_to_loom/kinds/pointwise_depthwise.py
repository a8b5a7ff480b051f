"""How is `onnx.pointwise_depthwise` lowered? As one kernel, strip by strip."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from onnxloom.conversion.onnx_to_loom.builder import KernelBuilder
from onnxloom.conversion.onnx_to_loom.channels_last.bottleneck_form import lower_bottleneck
from onnxloom.conversion.onnx_to_loom.registry import FusedOpKindLowering
from onnxloom.dialects.onnx import FusedOp
from onnxloom.transforms.fusion.kinds.pointwise_depthwise import PointwiseDepthwiseFusion


class PointwiseDepthwiseLowering(FusedOpKindLowering[PointwiseDepthwiseFusion]):
    """Lowers `onnx.pointwise_depthwise`."""

    helper = PointwiseDepthwiseFusion

    def lower_verified(
        self,
        fused_op: FusedOp,
        helper: PointwiseDepthwiseFusion,
        inputs: Sequence[SSAValue],
        builder: KernelBuilder,
    ) -> Sequence[SSAValue]:
        return [lower_bottleneck(fused_op, helper, inputs, builder)]
