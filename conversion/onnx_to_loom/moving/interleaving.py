"""How is a matrix of a few long rows transposed? The rows are woven together, a vector of each at a time.

So an image of three planes becomes one of three values per point, and groups of channels are shuffled.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, cast

from xdsl.dialects import arith
from xdsl.dialects.builtin import DictionaryAttr, IntegerAttr, IntegerType, MemRefType, StringAttr, i64
from xdsl.ir import Attribute, SSAValue

from onnxloom.conversion.onnx_to_loom.kernel_body import KernelBody
from onnxloom.dialects import loom
from onnxloom.dialects.onnx.semantics.scalars import Scalar

MAX_ROWS: Final = 8
"""Rows that are woven together at most: beyond, whole square tiles are transposed."""

STRIP: Final = 4096
"""Columns that are a task at most."""


def interleave_kernel(
    word: IntegerType, outer: int, rows: int, lanes: int, *, begins: bool = False
) -> KernelBody:
    """`target[..., c, r] = source[..., r, c]` for `rows` rows, which is known; columns are contiguous.

    Sizes of the kernel: `outer` dims, columns; then the distances in the source: of the outer dims, of rows;
    the place of the first element, where it `begins` elsewhere than the source.
    """
    k = KernelBody(f"interleave_{rows}", [word], [word], 2 * (outer + 1) + begins)
    dims, columns = k.sizes[:outer], k.sizes[outer]
    strides, row_stride = k.sizes[outer + 1 : 2 * outer + 1], k.sizes[2 * outer + 1]
    begin = k.sizes[-1] if begins else k.index(0)
    strips = k.scalars.emit(arith.CeilDivSIOp(columns, k.index(STRIP)))
    with k.task_nest(*dims, strips) as (*position, strip):
        source, number = begin, k.index(0)
        for size, stride, i in zip(dims, strides, position, strict=True):
            source, number = k.add(source, k.mul(i, stride)), k.at(number, size, i)
        first = k.mul(strip, k.index(STRIP))
        source = k.add(source, first)
        target = k.mul(k.add(k.mul(number, columns), first), k.index(rows))
        count = k.scalars.minimum(k.index(STRIP), k.sub(columns, first))
        _weave(k, source, row_stride, target, count, rows, lanes)
    return k


def _weave(
    k: KernelBody, source: Scalar, row_stride: Scalar, target: Scalar, count: Scalar, rows: int, lanes: int
) -> None:
    step = k.index(lanes)
    few = k.scalars.cmp("lt", count, step)
    with k.branch(few) as (scalar, vector):
        with k.inside(scalar), k.loop(count) as c:
            at = k.add(target, k.mul(c, k.index(rows)))
            for r in range(rows):
                value = k.load(k.ins[0], k.add(k.add(source, k.mul(row_stride, k.index(r))), c))
                k.store(value, k.outs[0], k.add(at, k.index(r)))
        with k.inside(vector), k.loop(k.scalars.emit(arith.CeilDivSIOp(count, step))) as tile:
            # The last tile begins where it ends with the row, and writes again what the one before wrote.
            c = k.scalars.minimum(k.mul(tile, step), k.sub(count, step))
            args = [k.ins[0], k.outs[0], k.add(source, c), row_stride, k.add(target, k.mul(c, k.index(rows)))]
            k.builder.insert(interleave_tile_op(args, rows, lanes))


def interleave_tile_op(args: Sequence[SSAValue], rows: int, lanes: int) -> loom.MicrokernelOp:
    """The `interleave_tile` op with its scalar reference.

    `args`: buffers source, target; source: offset, row stride; target: offset.
    """
    types = [cast("MemRefType[Attribute]", arg.type).element_type for arg in args[:2]]
    k = KernelBody("reference", types[:1], types[1:], 3)
    source_at, source_row, target_at = k.sizes
    with k.loop(k.index(lanes)) as c, k.loop(k.index(rows)) as r:
        value = k.load(k.ins[0], k.add(k.add(source_at, k.mul(r, source_row)), c))
        k.store(value, k.outs[0], k.add(target_at, k.add(k.mul(c, k.index(rows)), r)))
    params = {"lanes": IntegerAttr(lanes, i64), "rows": IntegerAttr(rows, i64)}
    return loom.MicrokernelOp.create(
        operands=args,
        properties={"kind": StringAttr("interleave_tile"), "params": DictionaryAttr(params)},
        regions=[k.end().detach_region(0)],
    )
