"""How is a number of one element type turned into another? Cast, CastLike, BitCast, and what they share.

Float to integer follows what numpy and onnxruntime do on x86: values outside the range of the conversion to
32 or 64 bits give the smallest integer, narrower targets keep the low bits of that. Unsigned numbers of the
upper half are converted less 2**31 or 2**63.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerType, f32, i1, i8, i32, i64
from xdsl.ir import Attribute, Operation

from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.access import int_attr, str_attr
from onnxloom.dialects.onnx.narrow import is_complex
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
from onnxloom.dialects.onnx.semantics.small_formats import float_to_small


def float_to_int(s: Scalars, a: Scalar, target: Attribute, to_unsigned: bool) -> Scalar:
    """A float as an integer, truncated; out of range gives a defined value."""
    a = s.widen(a)
    width = bit_width(target)
    wide = i64 if width == 64 else i32
    if width >= 32 and to_unsigned:
        big = s.const(2.0 ** (width - 1), a.type)
        high = s.cmp("ge", a, big)
        low = _guarded(s, s.select(high, s.sub(a, big), a), wide)
        return s.select(high, s.xor(low, s.const(-(2 ** (width - 1)), wide)), low)
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
    s: Scalars,
    a: Scalar,
    target: Attribute,
    from_unsigned: bool,
    to_unsigned: bool = False,
    *,
    saturate: bool = True,
    round_mode: str = "up",
) -> Scalar:
    """Any kernel number as any other, with the semantics of ONNX Cast."""
    if target == i1:
        return s.to_bool(a)
    if is_float(target):
        # Integers that f32 rounds are beyond the range of all but f8E8M0, which is made of f32.
        if bit_width(target) <= 8 and not is_float(a.type):
            a = s.int_to_float(a, f32, from_unsigned)
        if is_float(a.type):
            return float_to_small(s, a, target, saturate=saturate, round_mode=round_mode)
        return s.int_to_float(a, target, from_unsigned)
    if is_float(a.type):
        return float_to_int(s, a, target, to_unsigned)
    return s.int_to_int(a, target, from_unsigned)


def _cast(s: Scalars, op: Operation, x: Sequence[Scalar]) -> Scalar:
    target = element_type(op.results[0])
    assert target is not None
    return convert(
        s,
        x[0],
        storage_type(target),
        unsigned(op),
        is_unsigned(target),
        saturate=bool(int_attr(op, "saturate", 1)),
        round_mode=str_attr(op, "round_mode", "up"),
    )


def _castable(op: Operation) -> bool:
    return not any(is_complex(element_type(v)) for v in (op.operands[0], op.results[0]))


def _same_width(op: Operation) -> bool:
    source, target = element_type(op.operands[0]), element_type(op.results[0])
    if source is None or target is None or not (has_kernel(source) and has_kernel(target)):
        return False
    return _bits(source) == _bits(target)


def _bits(element: Attribute) -> int:
    """A boolean takes a byte."""
    return 8 if element == i1 else bit_width(storage_type(element))


def _bitcast(s: Scalars, op: Operation, x: Sequence[Scalar]) -> Scalar:
    target = result_storage(op)
    if target == i1 and x[0].type != i1:
        return s.to_bool(x[0] if not is_float(x[0].type) else s.emit(arith.BitcastOp(x[0], i8)))
    if x[0].type == i1 and target != i1:
        byte = s.int_to_int(x[0], i8, unsigned=True)
        return byte if target == i8 else s.emit(arith.BitcastOp(byte, target))
    return x[0] if x[0].type == target else s.emit(arith.BitcastOp(x[0], target))


def _first(op: Operation) -> list[int]:
    return [0]


OPS: Table = {
    onnx.CastOp: ScalarSemantics(_cast, supports=_castable, widen=False),
    onnx.CastLikeOp: ScalarSemantics(_cast, supports=_castable, reads=_first, widen=False),
    onnx.BitCastOp: ScalarSemantics(_bitcast, supports=_same_width, widen=False),
}
