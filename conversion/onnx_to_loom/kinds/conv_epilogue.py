"""How is a convolution with its epilogue lowered? As the convolution; the epilogue runs on each tile."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from xdsl.ir import SSAValue

from onnxloom.conversion.onnx_to_loom.builder import KernelBuilder
from onnxloom.conversion.onnx_to_loom.convolutions.conv_forms import add_bias, conv_bias, conv_form
from onnxloom.conversion.onnx_to_loom.convolutions.select_convolution import build_convolution
from onnxloom.conversion.onnx_to_loom.elementwise.body_operands import program_values
from onnxloom.conversion.onnx_to_loom.elementwise.epilogues import Addend, body_epilogue
from onnxloom.conversion.onnx_to_loom.registry import FusedOpKindLowering
from onnxloom.dialects.onnx import FusedOp
from onnxloom.transforms.fusion.kinds.conv_epilogue import ConvEpilogueFusion


class ConvEpilogueLowering(FusedOpKindLowering[ConvEpilogueFusion]):
    """Lowers `onnx.conv_epilogue`."""

    helper = ConvEpilogueFusion

    def lower_verified(
        self,
        fused_op: FusedOp,
        helper: ConvEpilogueFusion,
        inputs: Sequence[SSAValue],
        builder: KernelBuilder,
    ) -> Sequence[SSAValue]:
        body = helper.retrieve_ops_and_output_values(fused_op)
        program = program_values(fused_op, inputs, builder)
        product = body.ops[0]
        source, weights = (program[v] for v in product.operands[:2])
        form = conv_form(product, builder, source, weights)
        bias = conv_bias(product)
        addend = None if bias is None else Addend(bias, form.window.rank)
        others, epilogue = body_epilogue(body, program, builder, addend, None if bias is None else add_bias)
        conv = replace(form, result_type=fused_op.results[0].type)
        return [build_convolution(builder, "conv_epilogue", conv.with_epilogue(others, epilogue))]
