"""How is a channels-last pool lowered? As the pool; nothing is transposed."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from onnxloom.conversion.onnx_to_loom.builder import KernelBuilder
from onnxloom.conversion.onnx_to_loom.channels_last.pooling import build_pool_channels_last
from onnxloom.conversion.onnx_to_loom.elementwise.body_operands import program_values
from onnxloom.conversion.onnx_to_loom.registry import FusedOpKindLowering
from onnxloom.dialects.onnx import FusedOp
from onnxloom.transforms.fusion.kinds.pool_channels_last import PoolChannelsLastFusion


class PoolChannelsLastLowering(FusedOpKindLowering[PoolChannelsLastFusion]):
    """Lowers `onnx.pool_channels_last`."""

    helper = PoolChannelsLastFusion

    def lower_verified(
        self,
        fused_op: FusedOp,
        helper: PoolChannelsLastFusion,
        inputs: Sequence[SSAValue],
        builder: KernelBuilder,
    ) -> Sequence[SSAValue]:
        body = helper.retrieve_ops_and_output_values(fused_op)
        before, pool, _ = body.ops
        source = program_values(fused_op, inputs, builder)[before.operands[0]]
        return [build_pool_channels_last(builder, pool, source, fused_op.results[0].type)]
