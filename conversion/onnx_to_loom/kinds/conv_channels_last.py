"""How is a channels-last convolution with its epilogue lowered? As the convolution; nothing is transposed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from xdsl.ir import SSAValue

from onnxloom.conversion.onnx_to_loom.builder import KernelBuilder
from onnxloom.conversion.onnx_to_loom.channels_last.select import select_channels_last_convolution
from onnxloom.conversion.onnx_to_loom.convolutions.conv_forms import add_bias, conv_bias, conv_form
from onnxloom.conversion.onnx_to_loom.elementwise.body_operands import program_values
from onnxloom.conversion.onnx_to_loom.elementwise.epilogues import Addend, body_epilogue
from onnxloom.conversion.onnx_to_loom.registry import FusedOpKindLowering
from onnxloom.dialects.onnx import FusedOp
from onnxloom.transforms.fusion.kinds.conv_channels_last import ConvChannelsLastFusion


class ConvChannelsLastLowering(FusedOpKindLowering[ConvChannelsLastFusion]):
    """Lowers `onnx.conv_channels_last`."""

    helper = ConvChannelsLastFusion

    def lower_verified(
        self,
        fused_op: FusedOp,
        helper: ConvChannelsLastFusion,
        inputs: Sequence[SSAValue],
        builder: KernelBuilder,
    ) -> Sequence[SSAValue]:
        body = helper.retrieve_ops_and_output_values(fused_op)
        program = program_values(fused_op, inputs, builder)
        before, product, _ = body.ops[:3]
        source, weights = program[before.operands[0]], program[product.operands[1]]
        form = replace(conv_form(product, builder, source, weights), result_type=fused_op.results[0].type)
        bias = conv_bias(product)
        if bias is None and len(body.ops) == 3:
            conv = form
        else:
            addend = None if bias is None else Addend(bias, 0)
            finish = None if bias is None else add_bias
            # What the epilogue starts from is the result of the last Transpose.
            behind = replace(body, ops=body.ops[2:])
            conv = form.with_epilogue(*body_epilogue(behind, program, builder, addend, finish))
        build = select_channels_last_convolution(builder, conv)
        return [build(builder, "conv_channels_last", conv)]
