"""How does a kernel transpose a matrix tile by tile? `write_transposed`: whole tiles in registers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from xdsl.dialects import arith
from xdsl.dialects.builtin import DictionaryAttr, IntegerAttr, MemRefType, StringAttr, i64
from xdsl.ir import Attribute, SSAValue

from onnxloom.conversion.onnx_to_loom.kernel_body import KernelBody
from onnxloom.dialects import loom
from onnxloom.dialects.loom.target import Target
from onnxloom.dialects.onnx.semantics.scalars import Scalar, bit_width


@dataclass(frozen=True)
class Matrix:
    """A matrix inside a buffer, rows contiguous."""

    buffer: SSAValue
    offset: Scalar
    row_stride: Scalar


def tile_lanes(target: Target, element: Attribute) -> int | None:
    """Rows of a square tile of this storage type; None where there is no tuned form."""
    size = bit_width(element) // 8
    return target.lanes(size) if size in (4, 8) else None


def write_transposed(
    k: KernelBody, source: Matrix, target: Matrix, rows: Scalar, columns: Scalar, lanes: int
) -> None:
    """`target[c, r] = source[r, c]` for all `rows` x `columns` elements of the source."""
    step = k.index(lanes)
    whole_rows, whole_columns = (k.scalars.emit(arith.DivUIOp(size, step)) for size in (rows, columns))
    with k.loop(whole_rows) as i:
        row = k.mul(i, step)
        with k.loop(whole_columns) as j:
            column = k.mul(j, step)
            args = [
                source.buffer,
                target.buffer,
                k.add(source.offset, k.add(k.mul(row, source.row_stride), column)),
                source.row_stride,
                k.add(target.offset, k.add(k.mul(column, target.row_stride), row)),
                target.row_stride,
            ]
            k.builder.insert(transpose_tile_op(args, lanes))
        with k.loop(columns, start=k.mul(whole_columns, step)) as c, k.loop(step, parallel=True) as r:
            _move(k, source, target, k.add(row, r), c)
    with k.loop(rows, start=k.mul(whole_rows, step)) as r, k.loop(columns, parallel=True) as c:
        _move(k, source, target, r, c)


def _move(k: KernelBody, source: Matrix, target: Matrix, r: Scalar, c: Scalar) -> None:
    value = k.load(source.buffer, k.add(source.offset, k.add(k.mul(r, source.row_stride), c)))
    k.store(value, target.buffer, k.add(target.offset, k.add(k.mul(c, target.row_stride), r)))


def transpose_tile_op(args: Sequence[SSAValue], lanes: int) -> loom.MicrokernelOp:
    """The `transpose_tile` op with its scalar reference.

    `args`: buffers source, target; source: offset, row stride; target: offset, row stride.
    """
    types = [cast("MemRefType[Attribute]", arg.type).element_type for arg in args[:2]]
    k = KernelBody("reference", types[:1], types[1:], 4)
    source_at, source_row, target_at, target_row = k.sizes
    size = k.index(lanes)
    with k.loop(size) as i, k.loop(size) as j:
        value = k.load(k.ins[0], k.add(source_at, k.add(k.mul(i, source_row), j)))
        k.store(value, k.outs[0], k.add(target_at, k.add(k.mul(j, target_row), i)))
    return loom.MicrokernelOp.create(
        operands=args,
        properties={
            "kind": StringAttr("transpose_tile"),
            "params": DictionaryAttr({"lanes": IntegerAttr(lanes, i64)}),
        },
        regions=[k.end().detach_region(0)],
    )
