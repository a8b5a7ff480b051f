"""How is a tensor quantized over its own range? Extremes of blocks, the scale, each element's level.

Three kernels, so that the first and the last one can be shared out; the order of extremes does not matter.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith
from xdsl.dialects import math as xmath
from xdsl.dialects.builtin import DYNAMIC_INDEX, IntegerType, Signedness, TensorType, f32, i8
from xdsl.ir import SSAValue

from onnxloom.conversion.onnx_to_loom.builder import KernelBuilder, shape_of
from onnxloom.dialects.onnx.semantics.conversion import float_to_int
from onnxloom.dialects.onnx.semantics.scalars import Scalar, Scalars

LEVELS = 255
BLOCK = 4096
"""Elements that are a task."""

UNSIGNED_BYTE = IntegerType(8, Signedness.UNSIGNED)


def build_dynamic_quantization(builder: KernelBuilder, x: SSAValue) -> tuple[SSAValue, SSAValue, SSAValue]:
    """Levels, scale and zero point of a tensor of f32; the scale of nothing but zeros is 1.

    Raises:
        Declined: the tensor has no known rank.
    """
    dims = builder.dims(x)
    count = builder.multiply(dims)
    lows, highs, blocks = _extremes(builder, x, count)
    scale, zero_point = _parameters(builder, lows, highs, blocks)
    type_ = TensorType(UNSIGNED_BYTE, shape_of(x))
    k = builder.kernel("quantize_by_scale", [x, scale, zero_point], [type_], 1)
    s, block = k.scalars, k.index(BLOCK)
    step = k.load(k.ins[1], k.index(0))
    zero = s.int_to_float(k.load(k.ins[2], k.index(0)), f32, unsigned=True)
    with k.tasks(s.emit(arith.CeilDivSIOp(k.sizes[0], block))) as number:
        begin = k.mul(number, block)
        with k.loop(s.minimum(block, k.sub(k.sizes[0], begin)), parallel=True) as j:
            at = k.add(begin, j)
            level = s.unary(xmath.RoundEvenOp, s.divf(k.load(k.ins[0], at), step))
            k.store(float_to_int(s, _clamped(s, s.add(level, zero)), i8, True), k.outs[0], at)
    (levels,) = builder.launch(k, [x, scale, zero_point], [builder.empty(type_, dims)], [count])
    return levels, scale, zero_point


def _extremes(builder: KernelBuilder, x: SSAValue, count: SSAValue) -> tuple[SSAValue, SSAValue, SSAValue]:
    """Least and greatest element (or 0) of each block, and how many blocks there are."""
    blocks = builder.insert(arith.CeilDivSIOp(count, builder.index(BLOCK))).results[0]
    type_ = TensorType(f32, [DYNAMIC_INDEX])
    k = builder.kernel("block_extremes", [x], [type_, type_], 2)
    s, block = k.scalars, k.index(BLOCK)
    size, number_of_blocks = k.sizes
    zero = s.const(0.0, f32)
    with k.tasks(number_of_blocks) as number:
        begin = k.mul(number, block)

        def wider(j: Scalar, acc: Sequence[Scalar]) -> Sequence[Scalar]:
            value = k.load(k.ins[0], k.add(begin, j))
            return [s.minimum(acc[0], value), s.maximum(acc[1], value)]

        found = k.reduce(s.minimum(block, k.sub(size, begin)), [zero, zero], wider)
        for value, buffer in zip(found, k.outs, strict=True):
            k.store(value, buffer, number)
    outs = [builder.empty(type_, [blocks]) for _ in range(2)]
    lows, highs = builder.launch(k, [x], outs, [count, blocks])
    return lows, highs, blocks


def _parameters(
    builder: KernelBuilder, lows: SSAValue, highs: SSAValue, blocks: SSAValue
) -> tuple[SSAValue, SSAValue]:
    """Scale and zero point for a range that holds all blocks and 0."""
    types = [TensorType(f32, []), TensorType(UNSIGNED_BYTE, [])]
    k = builder.kernel("scale_of_extremes", [lows, highs], types, 1)
    s = k.scalars
    zero, first = s.const(0.0, f32), k.index(0)

    def wider(j: Scalar, acc: Sequence[Scalar]) -> Sequence[Scalar]:
        return [s.minimum(acc[0], k.load(k.ins[0], j)), s.maximum(acc[1], k.load(k.ins[1], j))]

    low, high = k.reduce(k.sizes[0], [zero, zero], wider)
    span = s.sub(high, low)
    flat = s.cmp("eq", span, zero)
    scale = s.select(flat, s.const(1.0, f32), s.divf(span, s.const(LEVELS, f32)))
    zero_point = _clamped(s, s.unary(xmath.RoundEvenOp, s.divf(s.neg(low), scale)))
    k.store(scale, k.outs[0], first)
    k.store(float_to_int(s, zero_point, i8, True), k.outs[1], first)
    scale_of_x, zero_of_x = builder.launch(
        k, [lows, highs], [builder.empty(type_, []) for type_ in types], [blocks]
    )
    return scale_of_x, zero_of_x


def _clamped(s: Scalars, x: Scalar) -> Scalar:
    """Within the levels; NaN is the lowest."""
    lowest, highest = s.const(0.0, f32), s.const(LEVELS, f32)
    x = s.select(s.cmp("gt", x, lowest), x, lowest)
    return s.select(s.cmp("lt", x, highest), x, highest)
