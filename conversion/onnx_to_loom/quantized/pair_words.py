"""How are 8-bit integers laid out as factors? Two neighbours along K in one 32-bit word.

Each half of a word is a number minus its zero point, which 16 bits hold for every type of 8 bits. The sum
of both products of two words is one step of a register tile, exact in 32 bits. An odd K ends in a half
that is zero, and so is a border of words.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from xdsl.dialects import arith
from xdsl.dialects.builtin import DYNAMIC_INDEX, IntegerAttr, TensorType, i32, i64
from xdsl.ir import SSAValue

from onnxloom.conversion.onnx_to_loom.builder import (
    KernelBuilder,
    index_value,
    program_constant,
    ranked,
    shape_of,
)
from onnxloom.conversion.onnx_to_loom.decline import Declined
from onnxloom.conversion.onnx_to_loom.kernel_body import KernelBody
from onnxloom.conversion.onnx_to_loom.value_checks import refuse_neither
from onnxloom.dialects import loom
from onnxloom.dialects.loom.packing import pair_up
from onnxloom.dialects.onnx.semantics.scalars import Scalar, Scalars, as_integer, is_unsigned

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Factor:
    """8-bit integers and the zero points that are subtracted from them; program-level tensors."""

    value: SSAValue
    zero: SSAValue | None

    @property
    def unsigned(self) -> bool:
        """Whether the numbers are unsigned."""
        return is_unsigned(ranked(self.value.type, "a factor").element_type)

    def check(self) -> None:
        """Raises Declined unless these are integers of 8 bits."""
        integer = as_integer(ranked(self.value.type, "a factor").element_type)
        if integer is None or integer.width.data != 8:
            raise Declined(f"a factor of type {self.value.type} holds no integers of 8 bits")


def left_words(builder: KernelBuilder, factor: Factor) -> SSAValue:
    """`[..., M, K]` as `[..., M, ceil(K / 2)]`; zero points are one, or one per row.

    Raises:
        Declined: the zero points have another shape.
    """
    factor.check()
    *leading, depth = builder.dims(factor.value)
    zero = None if is_zero(factor.zero) else factor.zero
    if zero is not None and len(shape_of(zero)) > 1:
        raise Declined("zero points of rows that differ between matrices have no kernel")
    words = _half(builder, depth)
    k, ins, outs = _kernel(builder, "left_words", factor, zero, [*leading, words], 4)
    rows, length, width, count = k.sizes
    s = k.scalars
    pairs = s.emit(arith.DivSIOp(length, k.index(2)))
    with k.tasks(rows) as row:
        base, target = k.mul(row, length), k.mul(row, width)
        offset = None if zero is None else wide(s, k.load(k.ins[1], k.remainder(row, count)), factor)
        with k.loop(pairs, parallel=True) as j:
            at = k.add(base, k.mul(j, k.index(2)))
            low, high = (_number(k, factor, a, offset) for a in (at, k.add(at, k.index(1))))
            k.store(_word(s, low, high), k.outs[0], k.add(target, j))
        with k.loop(width, start=pairs) as j:
            low = _number(k, factor, k.add(base, k.mul(j, k.index(2))), offset)
            k.store(_word(s, low, s.const(0, i32)), k.outs[0], k.add(target, j))
    rows_of_matrix = leading[-1] if leading else builder.index(1)
    sizes = [builder.multiply(leading), depth, words, _count(builder, zero, rows_of_matrix)]
    return builder.launch(k, ins, outs, sizes)[0]


def right_words(builder: KernelBuilder, factor: Factor) -> SSAValue:
    """`[..., K, N]` as `[..., ceil(K / 2), N]`; zero points are one, or one per column.

    Raises:
        Declined: the zero points have another shape.
    """
    factor.check()
    if len(shape_of(factor.value)) == 1:
        return left_words(builder, factor)
    constant = _constant_words(builder, factor, -2, None)
    if constant is not None:
        return constant
    *leading, depth, points = builder.dims(factor.value)
    if factor.zero is not None and len(shape_of(factor.zero)) > 1:
        raise Declined("zero points of columns that differ between matrices have no kernel")
    dims = [*leading, _half(builder, depth), points]
    return _plane_words(builder, factor, _Planes(builder.multiply(leading), depth, points, dims), "column")


def image_words(builder: KernelBuilder, factor: Factor, group: int, depth: SSAValue) -> SSAValue:
    """`[N, group * depth, *points]` as `[N, group * ceil(depth / 2), *points]`; one zero point."""
    factor.check()
    batch, _, *spatial = builder.dims(factor.value)
    groups = builder.index(group)
    dims = [batch, builder.multiply([groups, _half(builder, depth)]), *spatial]
    planes = builder.multiply([batch, groups])
    return _plane_words(builder, factor, _Planes(planes, depth, builder.multiply(spatial), dims), "one")


def weight_words(builder: KernelBuilder, factor: Factor) -> SSAValue:
    """`[M, depth, *taps]` as `[M, ceil(depth / 2), *taps]`; zero points are one, or one per row."""
    factor.check()
    constant = _constant_words(builder, factor, 1, len(shape_of(factor.value)) - 1)
    if constant is not None:
        return constant
    rows, depth, *taps = builder.dims(factor.value)
    dims = [rows, _half(builder, depth), *taps]
    return _plane_words(builder, factor, _Planes(rows, depth, builder.multiply(taps), dims), "plane")


def plain_words(builder: KernelBuilder, factor: Factor, by_row: bool) -> SSAValue:
    """Each number minus its zero point as a 32-bit integer; zero points are one, or one per first dim."""
    factor.check()
    type_ = TensorType(i32, shape_of(factor.value))
    if is_zero(factor.zero):
        return builder.map("plain_words", [factor.value], [type_], lambda s, x: [wide(s, x[0], factor)])[0]
    zero = factor.zero
    assert zero is not None
    if by_row and len(shape_of(zero)) == 1:
        ones = [builder.index(1)] * (len(shape_of(factor.value)) - 1)
        zero = builder.view(zero, [builder.dim(zero, 0), *ones])

    def difference(s: Scalars, x: Sequence[Scalar]) -> Sequence[Scalar]:
        return [s.sub(wide(s, x[0], factor), wide(s, x[1], factor))]

    return builder.map("plain_words", [factor.value, zero], [type_], difference)[0]


@dataclass(frozen=True)
class _Planes:
    """`[count, depth, points]`, and the dims of the words."""

    count: SSAValue
    depth: SSAValue
    points: SSAValue
    dims: Sequence[SSAValue]


def _plane_words(builder: KernelBuilder, factor: Factor, planes: _Planes, per: str) -> SSAValue:
    """Rows 2 i and 2 i + 1 of each plane as row i of words; a zero point per plane, per column, or one."""
    zero = None if is_zero(factor.zero) else factor.zero
    k, ins, outs = _kernel(builder, f"words_per_{per}", factor, zero, planes.dims, 4)
    count, depth, points, zeros = k.sizes
    s = k.scalars
    one, two = k.index(1), k.index(2)
    words = s.emit(arith.CeilDivSIOp(depth, two))

    def row(source: Scalar, target: Scalar, has_high: Scalar, fixed: Scalar | None) -> None:
        last = s.select(has_high, points, k.index(0))
        with k.loop(points, parallel=True) as j:
            offset = wide(s, k.load(k.ins[1], j), factor) if zero is not None and fixed is None else fixed
            low = _number(k, factor, k.add(source, j), offset)
            high = _number(k, factor, k.add(k.add(source, last), j), offset)
            high = s.select(has_high, high, s.const(0, i32))
            k.store(_word(s, low, high), k.outs[0], k.add(target, j))

    with k.task_nest(count, words) as (plane, word):
        source = k.mul(k.add(k.mul(plane, depth), k.mul(word, two)), points)
        target = k.mul(k.add(k.mul(plane, words), word), points)
        has_high = s.cmp("lt", k.add(k.mul(word, two), one), depth)
        if zero is None:
            row(source, target, has_high, None)
        elif per == "column":
            with k.branch(s.cmp("eq", zeros, one)) as (single, several):
                with k.inside(single):
                    row(source, target, has_high, wide(s, k.load(k.ins[1], k.index(0)), factor))
                with k.inside(several):
                    row(source, target, has_high, None)
        else:
            row(source, target, has_high, wide(s, k.load(k.ins[1], k.remainder(plane, zeros)), factor))
    wanted = {"column": planes.points, "plane": planes.count, "one": builder.index(1)}[per]
    sizes = [planes.count, planes.depth, planes.points, _count(builder, zero, wanted)]
    return builder.launch(k, ins, outs, sizes)[0]


def _kernel(
    builder: KernelBuilder,
    name: str,
    factor: Factor,
    zero: SSAValue | None,
    dims: Sequence[SSAValue],
    sizes: int,
) -> tuple[KernelBody, list[SSAValue], list[SSAValue]]:
    """A kernel that reads numbers and zero points and writes words of these dims."""
    ins = [factor.value] if zero is None else [factor.value, zero]
    shape = [DYNAMIC_INDEX if (v := index_value(d)) is None else v for d in dims]
    type_ = TensorType(i32, shape)
    return builder.kernel(name, ins, [type_], sizes), ins, [builder.empty(type_, dims)]


def _constant_words(
    builder: KernelBuilder, factor: Factor, axis: int, trailing: int | None
) -> SSAValue | None:
    """Words of a constant made at plan time; `trailing` dims follow zero points that are a vector."""
    values, zeros = program_constant(factor.value), zero_points(factor.zero)
    if values is None or zeros is None:
        return None
    shape = list(values.shape)
    shape[axis] = -(-shape[axis] // 2)
    if (zeros == zeros.flat[0]).all():
        params = {"axis": IntegerAttr(axis, i64), "zero": IntegerAttr(int(zeros.flat[0]), i64)}
        return builder.insert(
            loom.PackOp(factor.value, "pair_words", dict(params), TensorType(i32, shape))
        ).results[0]
    if trailing is not None and zeros.ndim == 1:
        zeros = zeros.reshape(-1, *[1] * trailing)
    check_fit(zeros, values.shape)
    return builder.constant(pair_up(values.astype(np.int32) - zeros, axis))


def zero_points(zero: SSAValue | None) -> Array | None:
    """Zero points that are known: one 0 where there are none."""
    if zero is None:
        return np.zeros(1, np.int32)
    array = program_constant(zero)
    return None if array is None or array.size == 0 else array.astype(np.int32)


def check_fit(zeros: Array, shape: Sequence[int]) -> None:
    """Raises Declined unless zero points broadcast to a factor of this shape."""
    padded = (1,) * (len(shape) - zeros.ndim) + zeros.shape
    if len(padded) != len(shape) or any(a not in (1, b) for a, b in zip(padded, shape, strict=True)):
        raise Declined(f"zero points of shape {list(zeros.shape)} do not fit a factor of {list(shape)}")


def is_zero(zero: SSAValue | None) -> bool:
    points = zero_points(zero)
    return points is not None and not points.any()


def _half(builder: KernelBuilder, size: SSAValue) -> SSAValue:
    """Half of a size, rounded up."""
    value = index_value(size)
    if value is not None:
        return builder.index(-(-value // 2))
    return builder.divide(builder.insert(arith.AddiOp(size, builder.index(1))).results[0], 2)


def _count(builder: KernelBuilder, zero: SSAValue | None, wanted: SSAValue) -> SSAValue:
    """How many zero points there are, which must be one or `wanted`."""
    if zero is None:
        return builder.index(1)
    count = builder.multiply(builder.dims(zero))
    refuse_neither(builder, count, wanted, "the zero points do not fit the factor: expected one or one each")
    return count


def wide(s: Scalars, value: Scalar, factor: Factor) -> Scalar:
    return s.int_to_int(value, i32, factor.unsigned)


def _number(k: KernelBody, factor: Factor, at: Scalar, offset: Scalar | None) -> Scalar:
    value = wide(k.scalars, k.load(k.ins[0], at), factor)
    return value if offset is None else k.scalars.sub(value, offset)


def _word(s: Scalars, low: Scalar, high: Scalar) -> Scalar:
    upper = s.emit(arith.ShLIOp(high, s.const(16, i32)))
    return s.or_(s.and_(low, s.const(0xFFFF, i32)), upper)
