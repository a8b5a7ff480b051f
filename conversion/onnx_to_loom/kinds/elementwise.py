"""How is a fused chain of elementwise ops lowered? One kernel, one pass over memory."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from onnxloom.conversion.onnx_to_loom.builder import KernelBuilder
from onnxloom.conversion.onnx_to_loom.elementwise.body_operands import program_values
from onnxloom.conversion.onnx_to_loom.elementwise.single_elementwise import lower_body
from onnxloom.conversion.onnx_to_loom.registry import FusedOpKindLowering
from onnxloom.dialects.onnx import FusedOp
from onnxloom.transforms.fusion.kinds.elementwise import ElementwiseFusion


class ElementwiseLowering(FusedOpKindLowering[ElementwiseFusion]):
    """Lowers `onnx.elementwise`."""

    helper = ElementwiseFusion

    def relies_on_dim_conditions(self, fused_op: FusedOp, helper: ElementwiseFusion) -> bool:
        # A broadcast is right for all sizes; only that all results have its dims is not checked.
        return len(fused_op.results) > 1

    def lower_verified(
        self, fused_op: FusedOp, helper: ElementwiseFusion, inputs: Sequence[SSAValue], builder: KernelBuilder
    ) -> Sequence[SSAValue]:
        body = helper.retrieve_ops_and_output_values(fused_op)
        values = program_values(fused_op, inputs, builder)
        return lower_body(body.ops, body.results, values, builder)
