"""How is a rotary embedding with Transposes of heads lowered? As the rotary kernel, by other strides."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from onnxloom.conversion.onnx_to_loom.builder import KernelBuilder
from onnxloom.conversion.onnx_to_loom.elementwise.body_operands import program_values
from onnxloom.conversion.onnx_to_loom.ops.attention import heads_apart, heads_side_by_side
from onnxloom.conversion.onnx_to_loom.ops.rotary_embedding import turned
from onnxloom.conversion.onnx_to_loom.registry import FusedOpKindLowering
from onnxloom.dialects import onnx
from onnxloom.dialects.onnx import FusedOp
from onnxloom.transforms.fusion.kinds.rotary_embedding import RotaryEmbeddingFusion, turned_heads


class RotaryEmbeddingLowering(FusedOpKindLowering[RotaryEmbeddingFusion]):
    """Lowers `onnx.rotary_embedding`."""

    helper = RotaryEmbeddingFusion

    def lower_verified(
        self,
        fused_op: FusedOp,
        helper: RotaryEmbeddingFusion,
        inputs: Sequence[SSAValue],
        builder: KernelBuilder,
    ) -> Sequence[SSAValue]:
        body = helper.retrieve_ops_and_output_values(fused_op)
        rotary = next(op for op in body.ops if isinstance(op, onnx.RotaryEmbeddingOp))
        found, program = turned_heads(rotary), program_values(fused_op, inputs, builder)
        value = program[found.source]
        sizes = builder.dims(value)
        if found.before is not None:
            sizes = [sizes[axis] for axis in (0, 2, 1, 3)]
        batch, heads, rows, columns = sizes
        dims = sizes if found.after is None else [batch, rows, heads, columns]
        empty = builder.empty(found.result.type, dims)
        x, y = (
            (heads_apart if transpose is None else heads_side_by_side)(builder, tensor, sizes)
            for tensor, transpose in ((value, found.before), (empty, found.after))
        )
        made = turned(rotary, builder, x, [program[rotary.cos_cache], program[rotary.sin_cache]], y)
        return [made for _ in body.results]
