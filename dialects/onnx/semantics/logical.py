"""Scalar semantics of ONNX logic on booleans and bits: And, Or, Xor, Not, Bitwise*, BitShift."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith
from xdsl.ir import Operation

from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.access import str_attr
from onnxloom.dialects.onnx.semantics.scalars import Scalar, Scalars, bit_width
from onnxloom.dialects.onnx.semantics.semantics import ScalarSemantics, Table, unsigned


def _shift(s: Scalars, op: Operation, x: Sequence[Scalar]) -> Scalar:
    value, amount = x
    zero = s.const(0, value.type)
    left = str_attr(op, "direction") == "LEFT"
    # A shift by the width or more is undefined on the machine; in ONNX no bit of the value is left.
    width = bit_width(value.type)
    inside = s.cmp("lt", amount, s.const(width, amount.type), unsigned=True)
    if not left and not unsigned(op):
        return s.emit(arith.ShRSIOp(value, s.select(inside, amount, s.const(width - 1, amount.type))))
    amount = s.select(inside, amount, zero)
    shifted = s.emit(arith.ShLIOp(value, amount) if left else arith.ShRUIOp(value, amount))
    return s.select(inside, shifted, zero)


_AND = ScalarSemantics(lambda s, op, x: s.and_(x[0], x[1]))
_OR = ScalarSemantics(lambda s, op, x: s.or_(x[0], x[1]))
_XOR = ScalarSemantics(lambda s, op, x: s.xor(x[0], x[1]))
_NOT = ScalarSemantics(lambda s, op, x: s.not_(x[0]))

OPS: Table = {
    onnx.AndOp: _AND,
    onnx.OrOp: _OR,
    onnx.XorOp: _XOR,
    onnx.NotOp: _NOT,
    onnx.BitwiseAndOp: _AND,
    onnx.BitwiseOrOp: _OR,
    onnx.BitwiseXorOp: _XOR,
    onnx.BitwiseNotOp: _NOT,
    onnx.BitShiftOp: ScalarSemantics(_shift),
}
