"""What do the ops of a fused chain of convolutions compute? The chain as its kernel takes it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from xdsl.ir import SSAValue

from onnxloom.conversion.onnx_to_loom.builder import KernelBuilder
from onnxloom.conversion.onnx_to_loom.channels_last.bottleneck import Bottleneck, Stage, build_bottleneck
from onnxloom.conversion.onnx_to_loom.convolutions.conv_forms import add_bias, conv_bias, conv_window
from onnxloom.conversion.onnx_to_loom.decline import Declined
from onnxloom.conversion.onnx_to_loom.elementwise.body_operands import program_values
from onnxloom.conversion.onnx_to_loom.elementwise.epilogues import Addend, body_epilogue
from onnxloom.dialects.onnx import FusedOp
from onnxloom.transforms.fusion.bottleneck import BottleneckFusion, Role
from onnxloom.transforms.fusion.match import Body, Miss


def lower_bottleneck(
    fused_op: FusedOp, helper: BottleneckFusion, inputs: Sequence[SSAValue], builder: KernelBuilder
) -> SSAValue:
    """The result of a fused chain.

    Raises:
        Declined: there is no kernel for this form.
    """
    body = helper.retrieve_ops_and_output_values(fused_op)
    program = program_values(fused_op, inputs, builder)
    links = helper.links_of(body)
    if isinstance(links, Miss):
        raise Declined(links.reason)
    stages = [_stage(link, program, builder) for link in links]
    place = helper.roles.index(Role.DEPTHWISE)
    depthwise = links[place].ops[1]
    chain = Bottleneck(
        program[links[0].ops[0].operands[0]],
        stages[0] if place else None,
        stages[place],
        conv_window(depthwise, stages[place].weights),
        stages[-1] if place < len(stages) - 1 else None,
    )
    return build_bottleneck(builder, helper.kind.removeprefix("onnx."), chain)


def _stage(link: Body, program: Mapping[SSAValue, SSAValue], builder: KernelBuilder) -> Stage:
    conv = link.ops[1]
    weights, bias = program[conv.operands[1]], conv_bias(conv)
    type_ = link.results[0].type
    if bias is None and len(link.ops) == 3:
        return Stage(weights, type_, (), None)
    addend = None if bias is None else Addend(bias, 0)
    # What the epilogue starts from is the result of the last Transpose.
    behind = replace(link, ops=link.ops[2:])
    finish = None if bias is None else add_bias
    return Stage(weights, type_, *body_epilogue(behind, program, builder, addend, finish))
