"""How are reduced rows with the elementwise ops around them lowered? One kernel, row by row."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import f32
from xdsl.ir import SSAValue

from onnxloom.conversion.onnx_to_loom.builder import KernelBuilder, buffer_element, ranked
from onnxloom.conversion.onnx_to_loom.decline import Declined
from onnxloom.conversion.onnx_to_loom.elementwise.body_operands import program_values
from onnxloom.conversion.onnx_to_loom.ops.normalization import norm_rule
from onnxloom.conversion.onnx_to_loom.ops.softmax import log_softmax_rule, softmax_rule
from onnxloom.conversion.onnx_to_loom.reductions.fused_rows import FusedRows
from onnxloom.conversion.onnx_to_loom.reductions.normalizing import Normalization
from onnxloom.conversion.onnx_to_loom.reductions.reductions import reduction
from onnxloom.conversion.onnx_to_loom.registry import FusedOpKindLowering
from onnxloom.dialects import onnx
from onnxloom.dialects.onnx import FusedOp
from onnxloom.dialects.onnx.access import float_attr, is_none
from onnxloom.transforms.fusion.kinds.reduction import ReductionFusion
from onnxloom.transforms.fusion.match import Miss
from onnxloom.transforms.fusion.reduced_rows import Rows, rows_of


class ReductionLowering(FusedOpKindLowering[ReductionFusion]):
    """Lowers `onnx.reduction`."""

    helper = ReductionFusion

    def lower_verified(
        self, fused_op: FusedOp, helper: ReductionFusion, inputs: Sequence[SSAValue], builder: KernelBuilder
    ) -> Sequence[SSAValue]:
        body = helper.retrieve_ops_and_output_values(fused_op)
        rows = rows_of(body.ops[helper.lead_count])
        if isinstance(rows, Miss):
            raise Declined(rows.reason)
        lead, trail = body.ops[: helper.lead_count], body.ops[helper.lead_count + 1 :]
        parameters = [v for v in rows.op.operands[1:] if rows.keeps_rows and not is_none(v)]
        program = program_values(fused_op, inputs, builder)
        loops = FusedRows(builder, rows, lead, trail, program, parameters)
        last = body.ops[-1].results[0]
        keep = bool(lead) and rows.data in body.results
        if isinstance(rows.op, onnx.SoftmaxOp) and buffer_element(last.type) == f32:
            made = loops.softmax(last, keep=keep)
        elif rows.keeps_rows:
            rule = _normalization(rows, len(parameters))
            made = loops.normalize(rule, last, keep=keep)
        else:
            element = ranked(rows.data.type, "the data").element_type
            rule = reduction(rows.op.name.removeprefix("onnx."), element)
            made = loops.reduce(rule, last, keep=keep)
        by_value = dict(zip([last, *([rows.data] if keep else [])], made, strict=True))
        return [by_value[value] for value in body.results]


def _normalization(rows: Rows, parameters: int) -> Normalization:
    op = rows.op
    storage = buffer_element(rows.data.type)
    if isinstance(op, onnx.SoftmaxOp):
        return softmax_rule(storage)
    if isinstance(op, onnx.LogSoftmaxOp):
        return log_softmax_rule(storage)
    centered = isinstance(op, onnx.LayerNormalizationOp)
    name = "layer_norm" if centered else "rms_norm"
    return norm_rule(name, storage, storage, float_attr(op, "epsilon", 1e-5), centered, parameters)
