"""Python forms of the `math` ops."""

from __future__ import annotations

from xdsl.dialects import math
from xdsl.ir import Operation

from onnxloom.lowering.emit_python.arith_ops import wrapped
from onnxloom.lowering.emit_python.types import int_width
from onnxloom.lowering.emit_python.writer import Handler, Writer, bare, convert


def _call(function: str) -> Handler:
    def emit(w: Writer, op: Operation) -> None:
        args = ", ".join(bare(w.wide(v)) for v in op.operands)
        w.float_result(op.results[0], f"{function}({args})", atom=True)

    return emit


def _helper(name: str) -> Handler:
    def emit(w: Writer, op: Operation) -> None:
        w.float_result(op.results[0], w.helper(name, *(w.wide(v) for v in op.operands)), atom=True)

    return emit


def _rsqrt(w: Writer, op: Operation) -> None:
    x = w.wide(op.operands[0])
    w.float_result(op.results[0], f"np.float32(1.0) / math.sqrt({bare(x)})")


def _pow(w: Writer, op: Operation) -> None:
    x, y = (w.wide(v) for v in op.operands)
    w.float_result(op.results[0], f"{x} ** {y}")


def _fpowi(w: Writer, op: Operation) -> None:
    x, n = w.wide(op.operands[0]), bare(w[op.operands[1]])
    w.float_result(op.results[0], f"{x} ** np.float32({n})")


def _absi(w: Writer, op: Operation) -> None:
    wrapped(w, op.results[0], f"abs({bare(w[op.operands[0]])})")


def _ipowi(w: Writer, op: Operation) -> None:
    result = op.results[0]
    text = w.helper("power", *(f"np.int64({bare(t)})" for t in w.get(op.operands)))
    w.expression(result, text if int_width(result.type) == 64 else convert(result.type, text), atom=True)


_FUNCTIONS: dict[type[Operation], str] = {
    math.AbsFOp: "abs", math.CeilOp: "np.ceil", math.FloorOp: "np.floor", math.TruncOp: "np.trunc",
    math.RoundEvenOp: "np.rint", math.CopySignOp: "math.copysign", math.SqrtOp: "math.sqrt",
    math.ExpOp: "math.exp", math.Exp2Op: "np.exp2", math.ExpM1Op: "math.expm1", math.LogOp: "math.log",
    math.Log2Op: "np.log2", math.Log10Op: "math.log10", math.Log1pOp: "math.log1p", math.SinOp: "math.sin",
    math.CosOp: "math.cos", math.TanOp: "math.tan", math.AsinOp: "math.asin", math.AcosOp: "math.acos",
    math.AtanOp: "math.atan", math.Atan2Op: "math.atan2", math.SinhOp: "math.sinh",
    math.CoshOp: "math.cosh", math.TanhOp: "math.tanh", math.AsinhOp: "math.asinh",
    math.AcoshOp: "math.acosh", math.AtanhOp: "math.atanh", math.ErfOp: "math.erf",
    math.CbrtOp: "np.cbrt",
}  # fmt: skip

HANDLERS: dict[type[Operation], Handler] = {
    **{kind: _call(name) for kind, name in _FUNCTIONS.items()},
    math.FmaOp: _helper("fma"),
    math.RoundOp: _helper("round_away"),
    math.RsqrtOp: _rsqrt,
    math.PowFOp: _pow,
    math.FPowIOp: _fpowi,
    math.AbsIOp: _absi,
    math.IPowIOp: _ipowi,
}
