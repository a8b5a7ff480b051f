"""How is attention with what moves its heads lowered? As the attention kernel, by other strides."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.dialects import arith
from xdsl.ir import SSAValue

from onnxloom.conversion.onnx_to_loom.builder import KernelBuilder
from onnxloom.conversion.onnx_to_loom.elementwise.body_operands import program_values
from onnxloom.conversion.onnx_to_loom.moving.copying import copy_rows, scatter_copy
from onnxloom.conversion.onnx_to_loom.ops.attention import (
    Heads,
    attend,
    attention_tile,
    heads_apart,
    heads_side_by_side,
)
from onnxloom.conversion.onnx_to_loom.registry import FusedOpKindLowering
from onnxloom.conversion.onnx_to_loom.value_checks import refuse_where
from onnxloom.dialects import onnx
from onnxloom.dialects.onnx import FusedOp
from onnxloom.dialects.onnx.access import is_none
from onnxloom.transforms.fusion.attention_sides import Side, sides_of
from onnxloom.transforms.fusion.kinds.attention import AttentionFusion


class AttentionLowering(FusedOpKindLowering[AttentionFusion]):
    """Lowers `onnx.attention`."""

    helper = AttentionFusion

    def lower_verified(
        self, fused_op: FusedOp, helper: AttentionFusion, inputs: Sequence[SSAValue], builder: KernelBuilder
    ) -> Sequence[SSAValue]:
        body = helper.retrieve_ops_and_output_values(fused_op)
        op = next(op for op in body.ops if isinstance(op, onnx.AttentionOp))
        sides, program = sides_of(op), program_values(fused_op, inputs, builder)
        tile = attention_tile(op, builder, op.operands[:3])
        made: dict[SSAValue, SSAValue] = {}
        q, k, v = (_heads(side, program, made, builder) for side in sides.inputs)
        sizes = [q.batch, q.heads, q.rows, v.columns]
        if sides.after is None:
            y = heads_apart(builder, builder.empty(sides.result.type, sizes), sizes)
        else:
            dims = [q.batch, q.rows, q.heads, v.columns]
            y = heads_side_by_side(builder, builder.empty(sides.result.type, dims), sizes)
        mask = None if is_none(op.attn_mask) else program[op.attn_mask]
        # Keys in front of the new ones are not `past_key`: the first query stands at the first key.
        made[sides.result] = attend(op, builder, tile, (q, k, v, y), mask, builder.index(0))
        return [made[value] for value in body.results]


def _heads(
    side: Side, program: Mapping[SSAValue, SSAValue], made: dict[SSAValue, SSAValue], builder: KernelBuilder
) -> Heads:
    value = program[side.source]
    if not side.ops:
        return heads_apart(builder, value, builder.dims(value))
    new = _side_by_side(side, value, builder)
    if side.past is None or side.joined is None:
        return new
    past = program[side.past]
    rows = builder.insert(arith.AddiOp(builder.dim(past, 2), new.rows)).results[0]
    sizes = [new.batch, new.heads, rows, new.columns]
    if side.joined not in made:
        target = builder.empty(side.joined.type, sizes)
        made[side.joined] = _join(builder, past, new, heads_apart(builder, target, sizes))
    return heads_apart(builder, made[side.joined], sizes)


def _side_by_side(side: Side, value: SSAValue, builder: KernelBuilder) -> Heads:
    if side.part is None:
        batch, rows, heads, columns = builder.dims(value)
        return heads_side_by_side(builder, value, [batch, heads, rows, columns])
    batch, rows, parts, heads, columns = builder.dims(value)
    count = builder.static_size(parts, "the number of parts")
    skipped = builder.multiply([builder.index(side.part), heads, columns])
    whole = builder.multiply(builder.dims(value))
    # An empty tensor has no place to skip to.
    skipped = builder.insert(arith.MinSIOp(skipped, whole)).results[0]
    rest = builder.insert(arith.SubiOp(whole, skipped)).results[0]
    part = builder.view(value, [rest], offset=skipped)
    return heads_side_by_side(builder, part, [batch, heads, rows, columns], count)


def _join(builder: KernelBuilder, past: SSAValue, new: Heads, joined: Heads) -> SSAValue:
    """The past keys or values, then the new ones."""
    for axis, size in ((0, new.batch), (1, new.heads), (3, new.columns)):
        message = f"past keys or values differ from the new ones in dim {axis}"
        refuse_where(builder, builder.dim(past, axis), "ne", size, message)
    zero, one = builder.index(0), builder.index(1)
    outer = builder.multiply([joined.batch, joined.heads])
    length = builder.multiply([builder.dim(past, 2), joined.columns])
    row = joined.strides[1]
    target = copy_rows(builder, past, joined.value, outer, length, (length, zero), (row, zero))
    # Heads first: the first dim is the tasks.
    sizes = [new.heads, new.batch, new.rows, new.columns]
    reads, writes = ([s.strides[1], s.strides[0], s.strides[2], one] for s in (new, joined))
    return scatter_copy(builder, new.value, target, sizes, reads, writes, zero, length)
