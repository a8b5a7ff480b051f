"""LLVM forms of the `arith` ops.

Where LLVM would leave a result undefined and the processor would trap, kernels have a defined one:
x / 0 and x % 0 are 0 for integers, and the smallest integer / -1 wraps.
"""

from __future__ import annotations

import math
from typing import Any, cast

from llvmlite import ir
from xdsl.dialects import arith
from xdsl.ir import Attribute, Operation, SSAValue

from onnxloom.errors import PassError
from onnxloom.lowering.constants import constant_bits, float_constant, int_constant
from onnxloom.lowering.emit_llvm.function import FunctionEmitter, Handler, is_index
from onnxloom.lowering.emit_llvm.types import is_bool, value_type
from onnxloom.lowering.small_floats import small_float


def _constant(f: FunctionEmitter, op: Operation) -> None:
    result = op.results[0]
    goal = value_type(result.type)
    number = int_constant(result)
    if number is not None:
        f[result] = ir.Constant(goal, number & 1 if is_bool(result) else number)
        return
    real = float_constant(result)
    if real is None:
        raise PassError("emit-llvm: a constant in a kernel must be one number")
    form = small_float(result.type)
    f[result] = ir.Constant(goal, real if form is None else constant_bits(real, form))


def float_flags(op: Operation) -> tuple[str, ...]:
    """The fast-math flags an op may carry: never those that assume away NaN, infinity or -0.0."""
    if "loom.reassociate" in op.attributes:
        return ("reassoc", "contract")
    given = op.properties.get("fastmath")
    flags = [str(flag.value) for flag in cast(Any, given).data] if given is not None else []
    if isinstance(op, arith.MulfOp) and _feeds_reassociated_sum(op):
        flags.append("contract")
    return tuple(flag for flag in ("reassoc", "contract") if flag in flags or "fast" in flags)


def _feeds_reassociated_sum(op: Operation) -> bool:
    uses = list(op.results[0].uses)
    return len(uses) == 1 and "loom.reassociate" in uses[0].operation.attributes


def _float_binary(method: str) -> Handler:
    def emit(f: FunctionEmitter, op: Operation) -> None:
        result = op.results[0]
        a, b = (f.wide(v) for v in op.operands)
        f[result] = f.convert(getattr(f.builder, method)(a, b, flags=float_flags(op)), result.type)

    return emit


def _negf(f: FunctionEmitter, op: Operation) -> None:
    result = op.results[0]
    f[result] = f.convert(f.builder.fneg(f.wide(op.operands[0])), result.type)


def _extreme(predicate: str, intrinsic: str) -> Handler:
    """NaN-propagating maximum or minimum as compare and select, one instruction with a constant."""

    def emit(f: FunctionEmitter, op: Operation) -> None:
        b, result = f.builder, op.results[0]
        left, right = op.operands
        if op in f.nan_seen:
            f[result] = _over_loop(f, op, predicate)
            return
        # Across iterations LLVM vectorises the intrinsic, and the select only without NaN.
        if any(v in f.carried for v in op.operands):
            f[result] = f.convert(f.intrinsic(intrinsic, [f.wide(left), f.wide(right)]), result.type)
            return
        if _is_number(left):
            left, right = right, left
        x, y = f.wide(left), f.wide(right)
        value = b.select(b.fcmp_ordered(predicate, y, x), y, x)
        if not _is_number(right):
            value = b.select(b.fcmp_unordered("uno", y, y), y, value)
        f[result] = f.convert(value, result.type)

    return emit


def _over_loop(f: FunctionEmitter, op: Operation, predicate: str) -> ir.Value:
    """The step of a maximum or minimum over a loop: NaN is noted on the side and put in after the loop.

    The flags hold where the result is used: once a NaN was seen it is thrown away.
    """
    b = f.builder
    carried, element = op.operands if op.operands[0] in f.carried else reversed(op.operands)
    m, x = f[carried], f[element]
    f.nan_seen[op] = b.or_(f.nan_seen[op], b.fcmp_unordered("uno", x, x))
    flags = ("nnan", "nsz")
    return b.select(b.fcmp_ordered(predicate, x, m, flags=flags), x, m, flags=flags)


def _is_number(value: SSAValue) -> bool:
    constant = float_constant(value)
    return constant is not None and not math.isnan(constant)


def _number_extreme(predicate: str, intrinsic: str) -> Handler:
    """Maximum or minimum that prefers a number to NaN."""

    def emit(f: FunctionEmitter, op: Operation) -> None:
        b, result = f.builder, op.results[0]
        x, y = (f.wide(v) for v in op.operands)
        if any(v in f.carried for v in op.operands):
            f[result] = f.convert(f.intrinsic(intrinsic, [x, y]), result.type)
            return
        value = b.select(b.fcmp_ordered(predicate, x, y), x, y)
        f[result] = f.convert(b.select(b.fcmp_unordered("uno", y, y), x, value), result.type)

    return emit


def _int_binary(method: str) -> Handler:
    def emit(f: FunctionEmitter, op: Operation) -> None:
        a, b = f.get(op.operands)
        f[op.results[0]] = getattr(f.builder, method)(a, b)

    return emit


def _wrapping(method: str) -> Handler:
    """add, sub, mul: integers wrap; addresses (`index`) never overflow, which helps the optimiser."""

    def emit(f: FunctionEmitter, op: Operation) -> None:
        a, b = f.get(op.operands)
        flags = ("nsw",) if is_index(op.results[0]) else ()
        f[op.results[0]] = getattr(f.builder, method)(a, b, flags=flags)

    return emit


def _int_extreme(predicate: str, signed: bool) -> Handler:
    def emit(f: FunctionEmitter, op: Operation) -> None:
        b = f.builder
        x, y = f.get(op.operands)
        compare = b.icmp_signed if signed else b.icmp_unsigned
        f[op.results[0]] = b.select(compare(predicate, x, y), x, y)

    return emit


def _quotient(f: FunctionEmitter, x: ir.Value, y: SSAValue, signed: bool) -> tuple[ir.Value, ir.Value]:
    """The quotient rounded to zero and the remainder, defined for every divisor."""
    b = f.builder
    divide, modulo = (b.sdiv, b.srem) if signed else (b.udiv, b.urem)
    divisor = f[y]
    known = int_constant(y)
    if known is not None and known not in (0, -1):
        return divide(x, divisor), modulo(x, divisor)
    zero = ir.Constant(x.type, 0)
    is_zero = b.icmp_unsigned("==", divisor, zero)
    trapping = is_zero
    if signed:
        negates = b.icmp_unsigned("==", divisor, ir.Constant(x.type, -1))
        trapping = b.or_(is_zero, negates)
        safe = b.select(trapping, ir.Constant(x.type, 1), divisor)
        result = b.select(negates, b.sub(zero, x), divide(x, safe))
    else:
        safe = b.select(trapping, ir.Constant(x.type, 1), divisor)
        result = divide(x, safe)
    return b.select(is_zero, zero, result), modulo(x, safe)


def _divide(signed: bool) -> Handler:
    def emit(f: FunctionEmitter, op: Operation) -> None:
        f[op.results[0]], _ = _quotient(f, f[op.operands[0]], op.operands[1], signed)

    return emit


def _modulo(signed: bool) -> Handler:
    def emit(f: FunctionEmitter, op: Operation) -> None:
        _, f[op.results[0]] = _quotient(f, f[op.operands[0]], op.operands[1], signed)

    return emit


def _rounded_divide(signed: bool, up: bool) -> Handler:
    """Division rounded to minus infinity, or to plus infinity (`up`)."""

    def emit(f: FunctionEmitter, op: Operation) -> None:
        b = f.builder
        x, y = f.get(op.operands)
        quotient, rest = _quotient(f, x, op.operands[1], signed)
        zero, one = ir.Constant(x.type, 0), ir.Constant(x.type, 1)
        inexact = b.icmp_unsigned("!=", rest, zero)
        if signed:
            differ = b.icmp_signed("<", b.xor(x, y), zero)
            inexact = b.and_(inexact, b.not_(differ) if up else differ)
        adjusted = b.add(quotient, one) if up else b.sub(quotient, one)
        f[op.results[0]] = b.select(inexact, adjusted, quotient)

    return emit


FLOAT_PREDICATES: tuple[tuple[bool, str] | None, ...] = (
    None,
    *((True, p) for p in ("==", ">", ">=", "<", "<=", "!=", "ord")),
    *((False, p) for p in ("==", ">", ">=", "<", "<=", "!=", "uno")),
    None,
)  # fmt: skip
INT_PREDICATES = ("==", "!=", "<", "<=", ">", ">=", "<", "<=", ">", ">=")


def _cmpf(f: FunctionEmitter, op: Operation) -> None:
    op = cast(arith.CmpfOp, op)
    number = op.predicate.value.data
    predicate = FLOAT_PREDICATES[number]
    if predicate is None:
        f[op.result] = ir.Constant(ir.IntType(1), int(number == 15))
        return
    ordered, name = predicate
    compare = f.builder.fcmp_ordered if ordered else f.builder.fcmp_unordered
    f[op.result] = compare(name, f.wide(op.lhs), f.wide(op.rhs))


def _cmpi(f: FunctionEmitter, op: Operation) -> None:
    op = cast(arith.CmpiOp, op)
    number = op.predicate.value.data
    compare = f.builder.icmp_unsigned if number < 2 or number > 5 else f.builder.icmp_signed
    f[op.result] = compare(INT_PREDICATES[number], f[op.lhs], f[op.rhs])


def _select(f: FunctionEmitter, op: Operation) -> None:
    f[op.results[0]] = f.builder.select(*f.get(op.operands))


def _convert_float(f: FunctionEmitter, op: Operation) -> None:
    f[op.results[0]] = f.convert(f.wide(op.operands[0]), op.results[0].type)


def _int_to_float(method: str) -> Handler:
    def emit(f: FunctionEmitter, op: Operation) -> None:
        goal: Attribute = op.results[0].type
        wide = ir.FloatType() if small_float(goal) is not None else value_type(goal)
        f[op.results[0]] = f.convert(getattr(f.builder, method)(f[op.operands[0]], wide), goal)

    return emit


def _float_to_int(method: str) -> Handler:
    def emit(f: FunctionEmitter, op: Operation) -> None:
        goal = value_type(op.results[0].type)
        f[op.results[0]] = getattr(f.builder, method)(f.wide(op.operands[0]), goal)

    return emit


def _resize(method: str) -> Handler:
    def emit(f: FunctionEmitter, op: Operation) -> None:
        f[op.results[0]] = getattr(f.builder, method)(f[op.operands[0]], value_type(op.results[0].type))

    return emit


def _index_cast(f: FunctionEmitter, op: Operation) -> None:
    value, goal = f[op.operands[0]], value_type(op.results[0].type)
    narrower = goal.width < value.type.width
    f[op.results[0]] = f.builder.trunc(value, goal) if narrower else f.builder.sext(value, goal)


def _bitcast(f: FunctionEmitter, op: Operation) -> None:
    value, goal = f[op.operands[0]], value_type(op.results[0].type)
    f[op.results[0]] = value if value.type == goal else f.builder.bitcast(value, goal)


HANDLERS: dict[type[Operation], Handler] = {
    arith.ConstantOp: _constant,
    arith.AddfOp: _float_binary("fadd"),
    arith.SubfOp: _float_binary("fsub"),
    arith.MulfOp: _float_binary("fmul"),
    arith.DivfOp: _float_binary("fdiv"),
    arith.NegfOp: _negf,
    arith.MaximumfOp: _extreme(">", "llvm.maximum"),
    arith.MinimumfOp: _extreme("<", "llvm.minimum"),
    arith.MaxnumfOp: _number_extreme(">", "llvm.maxnum"),
    arith.MinnumfOp: _number_extreme("<", "llvm.minnum"),
    arith.AddiOp: _wrapping("add"),
    arith.SubiOp: _wrapping("sub"),
    arith.MuliOp: _wrapping("mul"),
    arith.AndIOp: _int_binary("and_"),
    arith.OrIOp: _int_binary("or_"),
    arith.XOrIOp: _int_binary("xor"),
    arith.ShLIOp: _int_binary("shl"),
    arith.ShRSIOp: _int_binary("ashr"),
    arith.ShRUIOp: _int_binary("lshr"),
    arith.MaxSIOp: _int_extreme(">", signed=True),
    arith.MinSIOp: _int_extreme("<", signed=True),
    arith.MaxUIOp: _int_extreme(">", signed=False),
    arith.MinUIOp: _int_extreme("<", signed=False),
    arith.DivSIOp: _divide(signed=True),
    arith.DivUIOp: _divide(signed=False),
    arith.RemSIOp: _modulo(signed=True),
    arith.RemUIOp: _modulo(signed=False),
    arith.FloorDivSIOp: _rounded_divide(signed=True, up=False),
    arith.CeilDivSIOp: _rounded_divide(signed=True, up=True),
    arith.CeilDivUIOp: _rounded_divide(signed=False, up=True),
    arith.CmpfOp: _cmpf,
    arith.CmpiOp: _cmpi,
    arith.SelectOp: _select,
    arith.ExtFOp: _convert_float,
    arith.TruncFOp: _convert_float,
    arith.SIToFPOp: _int_to_float("sitofp"),
    arith.UIToFPOp: _int_to_float("uitofp"),
    arith.FPToSIOp: _float_to_int("fptosi"),
    arith.FPToUIOp: _float_to_int("fptoui"),
    arith.ExtSIOp: _resize("sext"),
    arith.ExtUIOp: _resize("zext"),
    arith.TruncIOp: _resize("trunc"),
    arith.IndexCastOp: _index_cast,
    arith.BitcastOp: _bitcast,
}
