"""How does a kernel compute the softmax of contiguous rows? As the tuned `softmax_row`, with scalar loops."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, cast

from xdsl.dialects import arith
from xdsl.dialects import math as xmath
from xdsl.dialects.builtin import (
    DictionaryAttr,
    FloatAttr,
    IntegerAttr,
    MemRefType,
    StringAttr,
    f32,
    f64,
    i1,
    i64,
)
from xdsl.ir import Attribute, SSAValue

from onnxloom.conversion.onnx_to_loom.builder import KernelBuilder
from onnxloom.conversion.onnx_to_loom.kernel_body import KernelBody
from onnxloom.dialects import loom
from onnxloom.dialects.onnx.semantics.scalars import Scalar

BLOCK = 8
"""Rows per task."""


@dataclass(frozen=True)
class SoftmaxRow:
    """What is done to a row of f32."""

    lanes: int
    scale: float = 1.0
    mask: Literal["none", "added", "truth"] = "none"
    """`added`: numbers added to the scaled row; `truth`: elements that do not count are false."""
    normalized: bool = True
    """Whether the row is divided by its sum; else it is left to who reads the inverse of the sum."""
    hidden: bool = False
    """Whether a row in which nothing counts is 0, not NaN."""


def softmax_rows(builder: KernelBuilder, data: SSAValue, rows: SSAValue, length: SSAValue) -> SSAValue:
    """The softmax of each row of an f32 tensor."""
    k = builder.kernel("softmax", [data], [data.type], 2)
    all_rows, columns = k.sizes
    block = k.index(BLOCK)
    with k.tasks(k.scalars.emit(arith.CeilDivSIOp(all_rows, block))) as i:
        first = k.mul(i, block)
        at = k.mul(first, columns)
        count = k.scalars.minimum(block, k.sub(all_rows, first))
        args = [k.ins[0], k.outs[0], at, at, columns, columns, count, columns]
        k.builder.insert(softmax_row_op(SoftmaxRow(builder.kernels.target.lanes(4)), args))
    out = builder.empty(data.type, builder.dims(data))
    return builder.launch(k, [data], [out], [rows, length], [[0]])[0]


def softmax_row_op(row: SoftmaxRow, args: Sequence[SSAValue]) -> loom.MicrokernelOp:
    """The `softmax_row` op with its scalar reference.

    `args`: buffers source, mask if any, result and, where rows are not normalized, inverses of the sums;
    offset in each; distance between rows in each; rows; elements per row.
    """
    count = (len(args) - 2) // 3
    outs = 1 if row.normalized else 2
    types = [cast("MemRefType[Attribute]", arg.type).element_type for arg in args[:count]]
    k = KernelBody("reference", types[:-outs], types[-outs:], 2 * count + 2)
    offsets, strides = k.sizes[:count], k.sizes[count : 2 * count]
    with k.loop(k.sizes[-2]) as i:
        _write(k, row, [k.add(at, k.mul(i, stride)) for at, stride in zip(offsets, strides, strict=True)])
    params: dict[str, Attribute] = {
        "lanes": IntegerAttr(row.lanes, i64),
        "scale": FloatAttr(row.scale, f64),
        "mask": StringAttr(row.mask),
        "normalized": IntegerAttr(int(row.normalized), i64),
        "hidden": IntegerAttr(int(row.hidden), i64),
    }
    return loom.MicrokernelOp.create(
        operands=args,
        properties={"kind": StringAttr("softmax_row"), "params": DictionaryAttr(params)},
        regions=[k.end().detach_region(0)],
    )


def _write(k: KernelBody, row: SoftmaxRow, offsets: Sequence[Scalar]) -> None:
    s, count = k.scalars, k.sizes[-1]
    result = k.outs[0]
    source_at, result_at = offsets[0], offsets[len(k.ins)]

    def element(j: Scalar) -> Scalar:
        x = k.load(k.ins[0], k.add(source_at, j))
        x = x if row.scale == 1.0 else s.mul_const(x, row.scale)
        if row.mask == "none":
            return x
        mask = k.load(k.ins[1], k.add(offsets[1], j))
        if row.mask == "added":
            return s.add(x, mask)
        counts = mask if mask.type == i1 else s.cmp("ne", mask, s.const(0, mask.type))
        return s.select(counts, x, s.const(-math.inf, f32))

    lowest, zero, one = (s.const(value, f32) for value in (-math.inf, 0.0, 1.0))
    (largest,) = k.reduce(count, [lowest], lambda j, acc: [s.maximum(acc[0], element(j))])
    if row.hidden:
        largest = s.select(s.cmp("eq", largest, lowest), zero, largest)

    def add(j: Scalar, acc: Sequence[Scalar]) -> Sequence[Scalar]:
        value = s.unary(xmath.ExpOp, s.sub(element(j), largest))
        k.store(value, result, k.add(result_at, j))
        return [s.add(acc[0], value)]

    (total,) = k.reduce(count, [zero], add)
    factor = s.divf(one, total)
    if row.hidden:
        factor = s.select(s.cmp("eq", total, zero), one, factor)
    if not row.normalized:
        k.store(factor, k.outs[1], offsets[-1])
        return
    with k.loop(count) as j:
        place = k.add(result_at, j)
        k.store(s.mul(k.load(result, place), factor), result, place)
