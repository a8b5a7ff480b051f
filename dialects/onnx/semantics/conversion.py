"""How is a number of one element type turned into another? Cast, CastLike, BitCast, and what they share.

Float to integer follows what numpy does on x86: values outside the range of the wide conversion give
its smallest integer, narrower targets keep the low bits of that.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerType, i1, i32, i64
from xdsl.ir import Attribute, Operation

from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.semantics.scalars import (
    Scalar,
    Scalars,
    bit_width,
    has_kernel,
    is_float,
    is_unsigned,
    storage_type,
)
from onnxloom.dialects.onnx.semantics.semantics import (
    ScalarSemantics,
    Table,
    element_type,
    result_storage,
    unsigned,
)


def float_to_int(s: Scalars, a: Scalar, target: Attribute, to_unsigned: bool) -> Scalar:
    """A float as an integer, truncated; out of range gives a defined value."""
    a = s.widen(a)
    width = bit_width(target)
    if width == 64 and to_unsigned:
        big = s.const(2.0**63, a.type)
        high = s.cmp("ge", a, big)
        low = _guarded(s, s.select(high, s.sub(a, big), a), i64)
        return s.select(high, s.xor(low, s.const(-(2**63), i64)), low)
    wide = i64 if width == 64 or (width == 32 and to_unsigned) else i32
    return s.int_to_int(_guarded(s, a, wide), target, to_unsigned)


def _guarded(s: Scalars, a: Scalar, target: IntegerType) -> Scalar:
    limit = 2.0 ** (bit_width(target) - 1)
    lowest = s.const(-limit, a.type)
    inside = s.and_(s.cmp("ge", a, lowest), s.cmp("lt", a, s.const(limit, a.type)))
    if bit_width(a.type) == 64 and bit_width(target) == 32:
        # f64 holds values between -2**31 - 1 and -2**31, which truncate into range.
        inside = s.and_(s.cmp("gt", a, s.const(-limit - 1, a.type)), s.cmp("lt", a, s.const(limit, a.type)))
    return s.emit(arith.FPToSIOp(s.select(inside, a, lowest), target))


def convert(
    s: Scalars, a: Scalar, target: Attribute, from_unsigned: bool, to_unsigned: bool = False
) -> Scalar:
    """Any kernel number as any other, with the semantics of ONNX Cast."""
    if target == i1:
        return s.to_bool(a)
    if is_float(a.type):
        return s.float_to(a, target) if is_float(target) else float_to_int(s, a, target, to_unsigned)
    if is_float(target):
        return s.int_to_float(a, target, from_unsigned)
    return s.int_to_int(a, target, from_unsigned)


def _cast(s: Scalars, op: Operation, x: Sequence[Scalar]) -> Scalar:
    target = element_type(op.results[0])
    assert target is not None
    return convert(s, x[0], storage_type(target), unsigned(op), is_unsigned(target))


def _same_width(op: Operation) -> bool:
    source, target = element_type(op.operands[0]), element_type(op.results[0])
    if source is None or target is None or not (has_kernel(source) and has_kernel(target)):
        return False
    widths = bit_width(storage_type(source)), bit_width(storage_type(target))
    return widths[0] == widths[1] and widths[0] >= 8


def _bitcast(s: Scalars, op: Operation, x: Sequence[Scalar]) -> Scalar:
    target = result_storage(op)
    return x[0] if x[0].type == target else s.emit(arith.BitcastOp(x[0], target))


def _first(op: Operation) -> list[int]:
    return [0]


OPS: Table = {
    onnx.CastOp: ScalarSemantics(_cast, widen=False),
    onnx.CastLikeOp: ScalarSemantics(_cast, reads=_first, widen=False),
    onnx.BitCastOp: ScalarSemantics(_bitcast, supports=_same_width, widen=False),
}
