"""What is known about an index that differs from lane to lane?

Most such indices are one number plus the lane, or plus a known number per lane: the elements at them are
read with one load or two.
"""

from __future__ import annotations

from llvmlite import ir
from xdsl.dialects import arith
from xdsl.ir import Operation

from onnxloom.lowering.emit_llvm.types import I64

Offsets = tuple[ir.Value | None, tuple[int, ...]]
"""An index as a number that all lanes share (None for 0) plus one known number per lane."""


def combined(b: ir.IRBuilder, op: Operation, left: Offsets, right: Offsets) -> Offsets | None:
    """The result of an index op on two such indices, None where it is none."""
    (x, xs), (y, ys) = left, right
    if isinstance(op, arith.AddiOp):
        base = x if y is None else y if x is None else b.add(x, y, flags=("nsw",))
        return base, tuple(i + j for i, j in zip(xs, ys, strict=True))
    if isinstance(op, arith.SubiOp) and y is None:
        return x, tuple(i - j for i, j in zip(xs, ys, strict=True))
    if isinstance(op, arith.SubiOp):
        base = b.sub(ir.Constant(I64, 0) if x is None else x, y, flags=("nsw",))
        return base, tuple(i - j for i, j in zip(xs, ys, strict=True))
    if isinstance(op, arith.MuliOp) and x is None and len(set(xs)) == 1:
        (x, xs), (y, ys) = right, left
    if y is not None or len(set(ys)) != 1:
        return None
    factor = ys[0]
    if isinstance(op, arith.MuliOp):
        base = None if x is None else b.mul(x, ir.Constant(I64, factor), flags=("nsw",))
        return base, tuple(i * factor for i in xs)
    if x is not None or factor <= 0 or min(xs) < 0:
        return None
    if isinstance(op, (arith.DivSIOp, arith.DivUIOp)):
        return None, tuple(i // factor for i in xs)
    if isinstance(op, (arith.RemSIOp, arith.RemUIOp)):
        return None, tuple(i % factor for i in xs)
    return None
