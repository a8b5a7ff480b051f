"""LLVM forms of the `math` ops: intrinsics where LLVM has one, else calls of the C math library.

f32 functions that matter for speed are arithmetic by the time a kernel comes here (`expand-math`).
"""

from __future__ import annotations

from collections.abc import Sequence

from llvmlite import ir
from xdsl.dialects import math
from xdsl.ir import Operation

from onnxloom.lowering.emit_llvm.function import FunctionEmitter, Handler
from onnxloom.lowering.emit_llvm.types import F32, F64


def _intrinsic(name: str) -> Handler:
    def emit(f: FunctionEmitter, op: Operation) -> None:
        result = op.results[0]
        f[result] = f.convert(f.intrinsic(f"llvm.{name}", [f.wide(v) for v in op.operands]), result.type)

    return emit


def _library(name: str) -> Handler:
    def emit(f: FunctionEmitter, op: Operation) -> None:
        result = op.results[0]
        args = [f.wide(v) for v in op.operands]
        f[result] = f.convert(call_library(f, name, args), result.type)

    return emit


def call_library(f: FunctionEmitter, name: str, args: Sequence[ir.Value]) -> ir.Value:
    """A call of `name` of the C math library in the precision of `args`."""
    kind = args[0].type
    symbol = f"{name}f" if kind == F32 else name
    known = f.module.globals.get(symbol)
    if known is None:
        known = ir.Function(f.module, ir.FunctionType(kind, [a.type for a in args]), symbol)
        known.attributes.add("nounwind")
    return f.builder.call(known, args)


def _rsqrt(f: FunctionEmitter, op: Operation) -> None:
    x = f.wide(op.operands[0])
    root = f.intrinsic("llvm.sqrt", [x])
    f[op.results[0]] = f.convert(f.builder.fdiv(ir.Constant(x.type, 1.0), root), op.results[0].type)


def _fma(f: FunctionEmitter, op: Operation) -> None:
    a, b, c = (f.wide(v) for v in op.operands)
    f[op.results[0]] = f.convert(fused_multiply_add(f, a, b, c), op.results[0].type)


def fused_multiply_add(f: FunctionEmitter, a: ir.Value, b: ir.Value, c: ir.Value) -> ir.Value:
    """a * b + c with one rounding; without the instruction, f32 goes by way of f64 (exact product)."""
    if f.target.has_fma or a.type == F64:
        return f.intrinsic("llvm.fma", [a, b, c])
    builder = f.builder
    wide = [builder.fpext(v, F64) for v in (a, b, c)]
    return builder.fptrunc(builder.fadd(builder.fmul(wide[0], wide[1]), wide[2]), F32)


def _absi(f: FunctionEmitter, op: Operation) -> None:
    b = f.builder
    x = f[op.operands[0]]
    zero = ir.Constant(x.type, 0)
    f[op.results[0]] = b.select(b.icmp_signed("<", x, zero), b.sub(zero, x), x)


def _ctpop(f: FunctionEmitter, op: Operation) -> None:
    f[op.results[0]] = f.intrinsic("llvm.ctpop", [f[op.operands[0]]])


def _count_zeros(name: str) -> Handler:
    def emit(f: FunctionEmitter, op: Operation) -> None:
        x = f[op.operands[0]]
        no = ir.Constant(ir.IntType(1), 0)
        function = f.module.declare_intrinsic(
            f"llvm.{name}", [x.type], ir.FunctionType(x.type, [x.type, no.type])
        )
        f[op.results[0]] = f.builder.call(function, [x, no])

    return emit


def _powi(f: FunctionEmitter, op: Operation) -> None:
    """x**n of integers by squaring: the six to 64 steps are a loop; n < 0 gives 0, 1 or -1."""
    b = f.builder
    x, n = f.get(op.operands)
    kind = x.type
    zero, one, minus_one = (ir.Constant(kind, v) for v in (0, 1, -1))
    before = b.block
    header, body, done = (f.append_block(name) for name in ("pow", "pow.body", "pow.done"))
    b.branch(header)
    b.position_at_end(header)
    power, base, rest = b.phi(kind), b.phi(kind), b.phi(kind)
    for phi, start in ((power, one), (base, x), (rest, n)):
        phi.add_incoming(start, before)
    b.cbranch(b.icmp_signed(">", rest, zero), body, done)
    b.position_at_end(body)
    odd = b.icmp_unsigned("!=", b.and_(rest, one), zero)
    for phi, step in (
        (power, b.select(odd, b.mul(power, base), power)),
        (base, b.mul(base, base)),
        (rest, b.lshr(rest, one)),
    ):
        phi.add_incoming(step, body)
    b.branch(header)
    b.position_at_end(done)
    odd = b.icmp_unsigned("!=", b.and_(n, one), zero)
    of_minus_one = b.select(odd, minus_one, one)
    reciprocal = b.select(
        b.icmp_unsigned("==", x, one), one, b.select(b.icmp_unsigned("==", x, minus_one), of_minus_one, zero)
    )
    f[op.results[0]] = b.select(b.icmp_signed("<", n, zero), reciprocal, power)


def _fpowi(f: FunctionEmitter, op: Operation) -> None:
    b = f.builder
    x, n = f.wide(op.operands[0]), f[op.operands[1]]
    exponent = b.sitofp(n, x.type)
    f[op.results[0]] = f.convert(f.intrinsic("llvm.pow", [x, exponent]), op.results[0].type)


_INTRINSICS: dict[type[Operation], str] = {
    math.AbsFOp: "fabs", math.CeilOp: "ceil", math.FloorOp: "floor", math.TruncOp: "trunc",
    math.RoundOp: "round", math.RoundEvenOp: "roundeven", math.CopySignOp: "copysign",
    math.SqrtOp: "sqrt", math.ExpOp: "exp", math.Exp2Op: "exp2", math.LogOp: "log",
    math.Log2Op: "log2", math.Log10Op: "log10", math.PowFOp: "pow", math.SinOp: "sin",
    math.CosOp: "cos", math.TanOp: "tan", math.AsinOp: "asin", math.AcosOp: "acos",
    math.AtanOp: "atan", math.Atan2Op: "atan2", math.SinhOp: "sinh", math.CoshOp: "cosh",
    math.TanhOp: "tanh",
}  # fmt: skip
_LIBRARY: dict[type[Operation], str] = {
    math.ErfOp: "erf", math.ExpM1Op: "expm1", math.Log1pOp: "log1p", math.CbrtOp: "cbrt",
    math.AsinhOp: "asinh", math.AcoshOp: "acosh", math.AtanhOp: "atanh",
}  # fmt: skip

HANDLERS: dict[type[Operation], Handler] = {
    **{kind: _intrinsic(name) for kind, name in _INTRINSICS.items()},
    **{kind: _library(name) for kind, name in _LIBRARY.items()},
    math.RsqrtOp: _rsqrt,
    math.FmaOp: _fma,
    math.AbsIOp: _absi,
    math.CtPopOp: _ctpop,
    math.CountLeadingZerosOp: _count_zeros("ctlz"),
    math.CountTrailingZerosOp: _count_zeros("cttz"),
    math.IPowIOp: _powi,
    math.FPowIOp: _fpowi,
}
