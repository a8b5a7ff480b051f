"""How does a sum of integers become what follows a product of dequantized tensors?

It is scaled by both scales. Where the next op quantizes it again, after a Relu at most, its scale goes into
the same factor: the sum is multiplied once, rounded half to even, and saturated, as QLinearConv has it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from xdsl.dialects.builtin import f32
from xdsl.ir import Operation, SSAValue

from onnxloom.conversion.onnx_to_loom.builder import KernelBuilder, program_constant, ranked, shape_of
from onnxloom.conversion.onnx_to_loom.convolutions.conv_forms import channel_operand
from onnxloom.conversion.onnx_to_loom.elementwise.body_operands import body_operands
from onnxloom.conversion.onnx_to_loom.products.product_loops import Epilogue
from onnxloom.conversion.onnx_to_loom.quantized.levels import Levels
from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.access import is_none
from onnxloom.dialects.onnx.semantics.quantized_levels import level_limits, to_level
from onnxloom.dialects.onnx.semantics.scalars import Scalar, Scalars, as_integer
from onnxloom.transforms.fusion.epilogue import Core
from onnxloom.transforms.fusion.match import Body


@dataclass(frozen=True)
class Scaling:
    """What makes floats of sums; program-level tensors."""

    left: SSAValue
    right: SSAValue
    """One scale, or a vector with one per column."""
    bias: SSAValue | None
    """Floats that are added, one or one per column."""
    spatial: int
    """How many dims of the result follow that of the columns."""


def scaled_epilogue(
    core: Core, body: Body, program: Mapping[SSAValue, SSAValue], builder: KernelBuilder, scaling: Scaling
) -> tuple[Sequence[SSAValue], Epilogue]:
    """Operands and epilogue of a body whose core is a product of dequantized tensors.

    Raises:
        Declined: an op has no scalar semantics.
    """
    rest = list(body.ops[len(core.ops) :])
    head = None if scaling.bias is not None else _requantization(rest, program)
    relus = [] if head is None else rest[: rest.index(head)]
    if head is not None:
        rest = rest[len(relus) + 1 :]
    made = core.output if head is None else head.y
    scales = [scaling.left, scaling.right, *([] if head is None else [program[head.y_scale]])]
    own = [_scale(builder, scales, scaling.spatial)]
    if scaling.bias is not None:
        own.append(_along_columns(builder, scaling.bias, scaling.spatial))
    if head is not None and not is_none(head.y_zero_point):
        own.append(builder.view(program[head.y_zero_point], []))
    reads = body_operands(rest, program, builder, made=[made], share=True)

    def epilogue(s: Scalars, value: Scalar, operands: Sequence[Scalar]) -> Scalar:
        scale, *more = operands[: len(own)]
        values = reads.scalars(s, operands[len(own) :])
        scaled = s.mul(s.int_to_float(value, f32, unsigned=False), scale)
        levels = Levels(builder, body.results)
        if head is None:
            values[made] = s.add(scaled, more[0]) if more else scaled
        else:
            target = as_integer(ranked(head.y.type, "a quantized tensor").element_type)
            assert target is not None
            if relus:
                scaled = s.maximum(scaled, s.const(0, f32))
            zero = more[0] if more else None
            if zero is not None:
                values[head.y_zero_point] = zero
            levels.keep(s, head, to_level(s, scaled, level_limits(s, zero, target)), values)
        levels.apply(s, rest, values)
        return values[body.results[0]]

    return [*own, *reads.operands], epilogue


def _requantization(
    rest: Sequence[Operation], program: Mapping[SSAValue, SSAValue]
) -> onnx.QuantizeLinearOp | None:
    """The op that quantizes the product, or a Relu of it, with one known positive scale to 8 bits."""
    for op in rest:
        if isinstance(op, onnx.ReluOp):
            continue
        if not isinstance(op, onnx.QuantizeLinearOp):
            return None
        scale = program_constant(program[op.y_scale])
        integer = as_integer(ranked(op.y.type, "a quantized tensor").element_type)
        if scale is None or scale.size != 1 or not scale.item() > 0 or integer is None:
            return None
        return op if integer.width.data == 8 else None
    return None


def _scale(builder: KernelBuilder, scales: Sequence[SSAValue], spatial: int) -> SSAValue:
    """`left * right`, over the scale of the result if there is one: multiplied in this order in f32."""
    arrays = [program_constant(scale) for scale in scales]
    known = [array for array in arrays if array is not None]
    if len(known) == len(scales):
        value = known[0].reshape(-1) * known[1].reshape(-1)
        if len(known) == 3:
            value = value / known[2].reshape(-1)
        return _along_columns(builder, builder.constant(value.astype(np.float32)), spatial)
    flat = [
        scale if len(shape_of(scale)) == 1 else builder.view(scale, [builder.index(1)]) for scale in scales
    ]

    def combined(s: Scalars, x: Sequence[Scalar]) -> Sequence[Scalar]:
        value = s.mul(x[0], x[1])
        return [value if len(x) == 2 else s.divf(value, x[2])]

    longest = max(flat, key=lambda v: shape_of(v)[0] != 1)
    value = builder.map("scale_of_product", flat, [longest.type], combined)[0]
    return _along_columns(builder, value, spatial)


def _along_columns(builder: KernelBuilder, value: SSAValue, spatial: int) -> SSAValue:
    """One number, or a vector along the columns, as it broadcasts to the result."""
    if all(d == 1 for d in shape_of(value)):
        return builder.view(value, [])
    return channel_operand(builder, value, spatial)
