"""How is `onnx.depthwise_pointwise` lowered? As one kernel, strip by strip."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from onnxloom.conversion.onnx_to_loom.builder import KernelBuilder
from onnxloom.conversion.onnx_to_loom.channels_last.bottleneck_form import lower_bottleneck
from onnxloom.conversion.onnx_to_loom.registry import FusedOpKindLowering
from onnxloom.dialects.onnx import FusedOp
from onnxloom.transforms.fusion.kinds.depthwise_pointwise import DepthwisePointwiseFusion


class DepthwisePointwiseLowering(FusedOpKindLowering[DepthwisePointwiseFusion]):
    """Lowers `onnx.depthwise_pointwise`."""

    helper = DepthwisePointwiseFusion

    def lower_verified(
        self,
        fused_op: FusedOp,
        helper: DepthwisePointwiseFusion,
        inputs: Sequence[SSAValue],
        builder: KernelBuilder,
    ) -> Sequence[SSAValue]:
        return [lower_bottleneck(fused_op, helper, inputs, builder)]
