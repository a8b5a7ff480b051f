"""How are 8-bit integers laid out where bytes are multiplied four by four? As they are, four in a word.

The left factor is unsigned and the right one signed; numbers of the other sign are moved by 128. With
`u` and `v` such bytes and `x`, `y` the zero points, moved likewise,

    sum (u - x) (v - y)  =  sum u v  -  x * sum (v - y)  -  y * sum u

so that zero points cost one sum per column, known at plan time, and one per row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from xdsl.dialects import arith
from xdsl.dialects.builtin import DYNAMIC_INDEX, IntegerAttr, TensorType, i8, i32, i64
from xdsl.ir import Attribute, SSAValue

from onnxloom.conversion.onnx_to_loom.builder import (
    KernelBuilder,
    index_value,
    program_constant,
    shape_of,
)
from onnxloom.conversion.onnx_to_loom.kernel_body import KernelBody
from onnxloom.conversion.onnx_to_loom.plan_known import is_plan_known
from onnxloom.conversion.onnx_to_loom.quantized.pair_words import Array, Factor, check_fit, wide, zero_points
from onnxloom.dialects import loom
from onnxloom.dialects.onnx.semantics.scalars import Scalar, Scalars

ROWS = 4096
"""Rows of few bytes that one task makes words of."""

FLIP = 128
"""Moves unsigned bytes to signed ones and back."""


@dataclass(frozen=True)
class Quads:
    """The words of two factors, and what corrects the sums of their products."""

    lhs: SSAValue
    rhs: SSAValue
    others: Sequence[SSAValue]
    """Operands of the correction: a number per column that is added; the zero points of the left factor where
    they are not known, and column sums; zero points of the right factor, and row sums."""
    factor: Factor
    """The left factor."""
    has_addend: bool
    has_columns: bool
    has_rows: bool

    def correct(self, s: Scalars, value: Scalar, operands: Sequence[Scalar]) -> Scalar:
        """The sum of products of numbers minus their zero points, and the bias."""
        loaded = iter(operands)
        if self.has_addend:
            value = s.add(value, next(loaded))
        if self.has_columns:
            zero = wide(s, next(loaded), self.factor)
            zero = zero if self.factor.unsigned else s.add(zero, s.const(FLIP, i32))
            value = s.sub(value, s.mul(zero, next(loaded)))
        if self.has_rows:
            value = s.sub(value, s.mul(next(loaded), next(loaded)))
        return value


def quad_factors(
    builder: KernelBuilder, lhs: Factor, rhs: Factor, bias: SSAValue | None = None, trans_rhs: bool = False
) -> Quads | None:
    """Two matrices as words, None where pairs must do; `bias` is a constant with a number per column.

    Raises:
        Declined: a factor has no known rank or no 8 bits.
    """
    lhs.check()
    rhs.check()
    weights, right_zero = program_constant(rhs.value), zero_points(rhs.zero)
    if not builder.kernels.target.dot_bytes or weights is None or right_zero is None:
        return None
    if len(shape_of(lhs.value)) < 2 or weights.ndim < 2 or right_zero.ndim > 1:
        return None
    check_fit(right_zero, [1, weights.shape[-2 if trans_rhs else -1]])
    known = zero_points(lhs.zero)
    left_zero = None
    if known is not None and (known == known.flat[0]).all():
        left_zero = int(known.flat[0]) + (0 if lhs.unsigned else FLIP)
    zero_operand = None if left_zero is not None else _by_row(builder, lhs.zero)
    if left_zero is None and zero_operand is None:
        return None
    moved = right_zero - (FLIP if rhs.unsigned else 0)
    has_rows = bool(moved.any())
    words, row_sums = _left_quads(builder, lhs, has_rows)
    matrix = np.swapaxes(weights, -1, -2) if trans_rhs else weights
    addend = None if bias is None else program_constant(bias)
    assert bias is None or addend is not None
    if left_zero:
        sums = _column_sums(matrix, right_zero) * np.int32(-left_zero)
        addend = sums if addend is None else sums + addend
    others: list[SSAValue] = [] if addend is None else [builder.constant(addend.astype(np.int32))]
    if zero_operand is not None:
        others += [zero_operand, builder.constant(_column_sums(matrix, right_zero))]
    if row_sums is not None:
        others += [builder.constant(moved.astype(np.int32)), row_sums]
    quads = _right_quads(builder, rhs, weights, -1 if trans_rhs else -2)
    return Quads(words, quads, others, lhs, addend is not None, zero_operand is not None, has_rows)


@dataclass(frozen=True)
class ConvolutionQuads:
    """Input and weights of a convolution as words; the bytes of the input are the unsigned ones."""

    source: SSAValue
    weights: SSAValue
    border: int
    """The word of zero points."""
    addend: Array | None
    """What is missing in the sums of each output channel, None if nothing."""


def convolution_quads(
    builder: KernelBuilder, image: Factor, weights: Factor, group: int
) -> ConvolutionQuads | None:
    """The factors of a convolution as words along the channels, None where pairs must do.

    Only for signed weights without zero point: one of them would cost a sum per place of the window.
    """
    parts = _weight_quads(builder, image, weights)
    if parts is None:
        return None
    depth = shape_of(weights.value)[1]
    return replace(parts, source=_image_quads(builder, image, group, depth))


def channels_last_quads(
    builder: KernelBuilder, image: Factor, weights: Factor, group: int
) -> ConvolutionQuads | None:
    """The same for an image whose last dim is the channels; a group is whole words or the only one."""
    if group > 1 and shape_of(weights.value)[1] % 4:
        return None
    parts = _weight_quads(builder, image, weights)
    return None if parts is None else replace(parts, source=_left_quads(builder, image, False)[0])


def _weight_quads(builder: KernelBuilder, image: Factor, weights: Factor) -> ConvolutionQuads | None:
    """All but the words of the image."""
    image.check()
    weights.check()
    array, zeros, known = program_constant(weights.value), zero_points(weights.zero), zero_points(image.zero)
    if not builder.kernels.target.dot_bytes or weights.unsigned or array is None:
        return None
    if zeros is None or zeros.any() or known is None:
        return None
    zero = int(known.flat[0]) + (0 if image.unsigned else FLIP)
    rows, depth, *taps = array.shape
    params: dict[str, Attribute] = {"axis": IntegerAttr(1, i64), "flip": IntegerAttr(0, i64)}
    type_ = TensorType(i32, [rows, -(-depth // 4), *taps])
    words = builder.insert(loom.PackOp(weights.value, "quad_words", params, type_)).results[0]
    addend = None
    if zero:
        addend = array.sum(axis=tuple(range(1, array.ndim)), dtype=np.int32) * np.int32(-zero)
    return ConvolutionQuads(image.value, words, _word_of(zero), addend)


def _word_of(byte: int) -> int:
    """The signed word of four equal bytes."""
    word = byte * 0x01010101
    return word - (1 << 32) if word >= 1 << 31 else word


def _image_quads(builder: KernelBuilder, image: Factor, group: int, depth: int) -> SSAValue:
    """`[N, group * depth, *points]` as `[N, group * ceil(depth / 4), *points]`.

    What fills up the last words is multiplied by weights that are zero.
    """
    batch, _, *spatial = builder.dims(image.value)
    words = -(-depth // 4)
    dims = [batch, builder.index(group * words), *spatial]
    type_ = TensorType(i32, [_static(d) for d in dims])
    k = builder.kernel("image_quads", [image.value], [type_], 3)
    planes, length, points = k.sizes
    s, four, last = k.scalars, k.index(4), k.sub(length, k.index(1))
    width = s.emit(arith.CeilDivSIOp(length, four))
    with k.task_nest(planes, width) as (plane, word):
        rows = [s.minimum(k.add(k.mul(word, four), k.index(part)), last) for part in range(4)]
        sources = [k.mul(k.add(k.mul(plane, length), row), points) for row in rows]
        target = k.mul(k.add(k.mul(plane, width), word), points)
        with k.loop(points, parallel=True) as j:
            value = _byte(k, image, k.add(sources[0], j))
            for part in range(1, 4):
                value = s.or_(value, _shifted(s, _byte(k, image, k.add(sources[part], j)), part))
            k.store(value, k.outs[0], k.add(target, j))
    sizes = [builder.multiply([batch, builder.index(group)]), builder.index(depth), builder.multiply(spatial)]
    return builder.launch(k, [image.value], [builder.empty(type_, dims)], sizes)[0]


def _by_row(builder: KernelBuilder, zero: SSAValue | None) -> SSAValue | None:
    """Zero points of the left factor as they broadcast to the product, None for unknown forms."""
    assert zero is not None
    shape = shape_of(zero)
    if DYNAMIC_INDEX in shape or len(shape) > 1:
        return None
    if all(d == 1 for d in shape):
        return builder.view(zero, [])
    return builder.view(zero, [builder.index(shape[0]), builder.index(1)])


def _right_quads(builder: KernelBuilder, rhs: Factor, weights: Array, axis: int) -> SSAValue:
    shape = list(weights.shape)
    shape[axis] = -(-shape[axis] // 4)
    params: dict[str, Attribute] = {
        "axis": IntegerAttr(axis, i64),
        "flip": IntegerAttr(FLIP if rhs.unsigned else 0, i64),
    }
    return builder.insert(loom.PackOp(rhs.value, "quad_words", params, TensorType(i32, shape))).results[0]


def _column_sums(weights: Array, zeros: Array) -> Array:
    """Sums along the rows of `[..., K, N]` minus zero points: `[..., 1, N]`."""
    sums = weights.sum(axis=-2, keepdims=True, dtype=np.int32)
    return sums - (zeros * weights.shape[-2]).astype(np.int32)


def _left_quads(builder: KernelBuilder, lhs: Factor, with_sums: bool) -> tuple[SSAValue, SSAValue | None]:
    """`[..., M, K]` as `[..., M, ceil(K / 4)]`, and the sum of the bytes of each row if wanted.

    Rows of whole words are read where they are. What fills up the last word of a row is multiplied by a right
    factor of zeros.
    """
    if lhs.unsigned and not with_sums and not is_plan_known(lhs.value):
        depth = shape_of(lhs.value)[-1]
        if depth % 4 == 0 and depth != DYNAMIC_INDEX:
            *leading, _ = builder.dims(lhs.value)
            type_ = TensorType(i32, [*shape_of(lhs.value)[:-1], depth // 4])
            return builder.view(lhs.value, [*leading, builder.index(depth // 4)], type_), None
    if not with_sums and 0 < shape_of(lhs.value)[-1] < 4:
        return _single_words(builder, lhs), None
    *leading, depth = builder.dims(lhs.value)
    words = _quarter(builder, depth)
    dims = [[*leading, words], [*leading, builder.index(1)]][: 1 + with_sums]
    types = [TensorType(i32, [_static(d) for d in each]) for each in dims]
    k = builder.kernel("left_quads", [lhs.value], types, 3)
    s = k.scalars
    rows, length, width = k.sizes
    whole = s.emit(arith.DivSIOp(length, k.index(4)))
    with k.tasks(rows) as row:
        base, target = k.mul(row, length), k.mul(row, width)
        with k.loop(whole, parallel=True) as j:
            at = k.add(base, k.mul(j, k.index(4)))
            word = _byte(k, lhs, at)
            for part in range(1, 4):
                word = s.or_(word, _shifted(s, _byte(k, lhs, k.add(at, k.index(part))), part))
            k.store(word, k.outs[0], k.add(target, j))
        with k.loop(width, start=whole) as j:
            first = k.mul(j, k.index(4))
            word = _byte(k, lhs, k.add(base, first))
            for part in range(1, 4):
                place = s.minimum(k.add(first, k.index(part)), k.sub(length, k.index(1)))
                word = s.or_(word, _shifted(s, _byte(k, lhs, k.add(base, place)), part))
            k.store(word, k.outs[0], k.add(target, j))
        if with_sums:

            def step(j: Scalar, acc: Sequence[Scalar]) -> Sequence[Scalar]:
                return [s.add(acc[0], _byte(k, lhs, k.add(base, j)))]

            k.store(k.reduce(length, [s.const(0, i32)], step)[0], k.outs[1], row)
    outs = [builder.empty(type_, each) for type_, each in zip(types, dims, strict=True)]
    results = builder.launch(k, [lhs.value], outs, [builder.multiply(leading), depth, words])
    return results[0], results[1] if with_sums else None


def _single_words(builder: KernelBuilder, lhs: Factor) -> SSAValue:
    """`[..., M, K]` of fewer than four bytes per row as `[..., M, 1]`, filled up with zeros."""
    *leading, _ = builder.dims(lhs.value)
    depth = shape_of(lhs.value)[-1]
    dims = [*leading, builder.index(1)]
    type_ = TensorType(i32, [_static(d) for d in dims])
    k = builder.kernel("single_words", [lhs.value], [type_], 1)
    s, (rows,), block = k.scalars, k.sizes, k.index(ROWS)
    with k.tasks(s.emit(arith.CeilDivSIOp(rows, block))) as task:
        first = k.mul(task, block)
        with k.loop(s.minimum(rows, k.add(first, block)), start=first, parallel=True) as row:
            at = k.mul(row, k.index(depth))
            word = _byte(k, lhs, at)
            for part in range(1, depth):
                word = s.or_(word, _shifted(s, _byte(k, lhs, k.add(at, k.index(part))), part))
            k.store(word, k.outs[0], row)
    return builder.launch(k, [lhs.value], [builder.empty(type_, dims)], [builder.multiply(leading)])[0]


def _byte(k: KernelBody, factor: Factor, at: Scalar) -> Scalar:
    """A number as an unsigned byte in 32 bits."""
    s, value = k.scalars, k.load(k.ins[0], at)
    return s.int_to_int(value if factor.unsigned else s.xor(value, s.const(FLIP, i8)), i32, True)


def _shifted(s: Scalars, byte: Scalar, part: int) -> Scalar:
    return s.emit(arith.ShLIOp(byte, s.const(8 * part, i32)))


def _quarter(builder: KernelBuilder, size: SSAValue) -> SSAValue:
    """A quarter of a size, rounded up."""
    value = index_value(size)
    if value is not None:
        return builder.index(-(-value // 4))
    return builder.divide(builder.insert(arith.AddiOp(size, builder.index(3))).results[0], 4)


def _static(size: SSAValue) -> int:
    value = index_value(size)
    return DYNAMIC_INDEX if value is None else value
