"""Python forms of the `arith` ops, with the integer types and corner cases of the LLVM forms."""

from __future__ import annotations

import math
from typing import cast

from xdsl.dialects import arith
from xdsl.dialects.builtin import Float32Type, Float64Type, IndexType
from xdsl.ir import Operation, SSAValue

from onnxloom.errors import PassError
from onnxloom.lowering.constants import constant_bits, float_constant, int_constant
from onnxloom.lowering.emit_python.types import int_width, narrow_width, numpy_name
from onnxloom.lowering.emit_python.writer import Handler, Writer, bare, convert
from onnxloom.lowering.small_floats import small_float


def _constant(w: Writer, op: Operation) -> None:
    result = op.results[0]
    number = int_constant(result)
    if number is not None:
        if isinstance(result.type, IndexType):
            w[result] = str(number) if number >= 0 else f"({number})"
        elif int_width(result.type) == 1:
            w[result] = str(bool(number & 1))
        else:
            w[result] = f"{numpy_name(result.type)}({number})"
        return
    real = float_constant(result)
    if real is None:
        raise PassError("emit-python: a constant in a kernel must be one number")
    form = small_float(result.type)
    text = _real(real) if form is None else f"{constant_bits(real, form):#x}"
    w[result] = f"{numpy_name(result.type)}({text})"


def _real(value: float) -> str:
    if math.isnan(value):
        return "np.nan"
    if math.isinf(value):
        return "np.inf" if value > 0 else "-np.inf"
    return repr(value)


def _float_binary(sign: str) -> Handler:
    def emit(w: Writer, op: Operation) -> None:
        a, b = (w.wide(v) for v in op.operands)
        w.float_result(op.results[0], f"{a} {sign} {b}")

    return emit


def _negf(w: Writer, op: Operation) -> None:
    w.float_result(op.results[0], f"-{w.wide(op.operands[0])}")


def _float_extreme(helper: str) -> Handler:
    def emit(w: Writer, op: Operation) -> None:
        left, right = op.operands
        constant = float_constant(left)
        if constant is not None and not math.isnan(constant):
            left, right = right, left  # of two zeros the LLVM form keeps the one that is no constant
        w.float_result(op.results[0], w.helper(helper, w.wide(left), w.wide(right)), atom=True)

    return emit


def _number_extreme(helper: str) -> Handler:
    def emit(w: Writer, op: Operation) -> None:
        w.float_result(op.results[0], w.helper(helper, *(w.wide(v) for v in op.operands)), atom=True)

    return emit


def wrapped(w: Writer, result: SSAValue, text: str) -> None:
    """An integer expression wrapped to the type of `result`; 64-bit ones wrap by themselves."""
    if int_width(result.type) == 64:
        w.expression(result, text)
    else:
        w.expression(result, convert(result.type, text), atom=True)


def _int_binary(sign: str, of_bools: str | None = None) -> Handler:
    def emit(w: Writer, op: Operation) -> None:
        a, b = w.get(op.operands)
        if int_width(op.results[0].type) == 1 and of_bools is not None:
            w.expression(op.results[0], f"{a} {of_bools} {b}")
            return
        wrapped(w, op.results[0], f"{a} {sign} {b}")

    return emit


def unsigned(w: Writer, value: SSAValue) -> str:
    """An integer operand read as unsigned."""
    width = int_width(value.type)
    if narrow_width(value.type) is not None:
        return f"np.uint8(({bare(w[value])}) & {(1 << (width or 8)) - 1:#x})"
    return w[value] if width == 1 else f"np.uint{width}({bare(w[value])})"


def _signed(w: Writer, value: SSAValue) -> str:
    """An integer operand read as signed: a set bit is -1."""
    return f"-1 if {w[value]} else 0" if int_width(value.type) == 1 else w[value]


def _shrui(w: Writer, op: Operation) -> None:
    a, b = (unsigned(w, v) for v in op.operands)
    w.expression(op.results[0], convert(op.results[0].type, f"{a} >> {b}"), atom=True)


def _int_extreme(sign: str, signed: bool) -> Handler:
    def emit(w: Writer, op: Operation) -> None:
        a, b = w.get(op.operands)
        left, right = (a, b) if signed else (unsigned(w, v) for v in op.operands)
        w.expression(op.results[0], f"{a} if {left} {sign} {right} else {b}")

    return emit


def _division(helper: str, signed: bool) -> Handler:
    def emit(w: Writer, op: Operation) -> None:
        args = w.get(op.operands) if signed else [unsigned(w, v) for v in op.operands]
        wide = int_width(op.results[0].type) == 64 and signed
        text = w.helper(helper, *args)
        w.expression(op.results[0], text if wide else convert(op.results[0].type, text), atom=True)

    return emit


_FLOAT_COMPARISONS = (
    "False", "{a} == {b}", "{a} > {b}", "{a} >= {b}", "{a} < {b}", "{a} <= {b}",
    "{a} < {b} or {a} > {b}", "{a} == {a} and {b} == {b}",
    "not ({a} < {b} or {a} > {b})", "not {a} <= {b}", "not {a} < {b}", "not {a} >= {b}", "not {a} > {b}",
    "{a} != {b}", "{a} != {a} or {b} != {b}", "True",
)  # fmt: skip
_INT_COMPARISONS = ("==", "!=", "<", "<=", ">", ">=", "<", "<=", ">", ">=")


def _cmpf(w: Writer, op: Operation) -> None:
    op = cast(arith.CmpfOp, op)
    number = op.predicate.value.data
    form = _FLOAT_COMPARISONS[number]
    if op.lhs == op.rhs and number in (7, 14):
        form = "{a} == {a}" if number == 7 else "{a} != {a}"
    w.expression(op.result, form.format(a=w.wide(op.lhs), b=w.wide(op.rhs)))


def _cmpi(w: Writer, op: Operation) -> None:
    op = cast(arith.CmpiOp, op)
    number = op.predicate.value.data
    operands = (op.lhs, op.rhs)
    if int_width(op.lhs.type) == 1 and 2 <= number <= 5:
        operands = (op.rhs, op.lhs)  # as a signed number, a set bit is -1
    a, b = (w[v] if number <= 5 else unsigned(w, v) for v in operands)
    w.expression(op.result, f"{a} {_INT_COMPARISONS[number]} {b}")


def _select(w: Writer, op: Operation) -> None:
    condition, a, b = w.get(op.operands)
    w.expression(op.results[0], f"{a} if {condition} else {b}")


def _convert_float(w: Writer, op: Operation) -> None:
    (operand,), result = op.operands, op.results[0]
    text = w.wide(operand)
    if small_float(result.type) is None:
        single = small_float(operand.type) is not None and isinstance(result.type, Float32Type)
        w.expression(result, text if single else convert(result.type, text), atom=True)
        return
    w.float_result(result, text, atom=True, double=isinstance(operand.type, Float64Type))


def _int_to_float(signed: bool) -> Handler:
    def emit(w: Writer, op: Operation) -> None:
        (operand,), result = op.operands, op.results[0]
        text = _signed(w, operand) if signed else unsigned(w, operand)
        kind = "np.float32" if small_float(result.type) is not None else numpy_name(result.type)
        w.float_result(result, f"{kind}({bare(text)})", atom=True)

    return emit


def _float_to_int(signed: bool) -> Handler:
    def emit(w: Writer, op: Operation) -> None:
        (operand,), result = op.operands, op.results[0]
        text = w.wide(operand)
        if not signed:
            text = f"np.uint{int_width(result.type)}({bare(text)})"
        w.expression(result, convert(result.type, text), atom=True)

    return emit


def _extend_signed(w: Writer, op: Operation) -> None:
    (operand,), result = op.operands, op.results[0]
    w.expression(result, convert(result.type, _signed(w, operand)), atom=True)


def _extend_unsigned(w: Writer, op: Operation) -> None:
    w.expression(op.results[0], convert(op.results[0].type, unsigned(w, op.operands[0])), atom=True)


def _truncate(w: Writer, op: Operation) -> None:
    (operand,), result = op.operands, op.results[0]
    if int_width(result.type) == 1:
        w.expression(result, f"({w[operand]} & 1) != 0")
        return
    w.expression(result, convert(result.type, w[operand]), atom=True)


def _bitcast(w: Writer, op: Operation) -> None:
    (operand,), result = op.operands, op.results[0]
    source, goal = numpy_name(operand.type), numpy_name(result.type)
    if source == goal and narrow_width(result.type) is None:
        w[result] = w[operand]
    elif "float" in source or "float" in goal:
        # Numba takes `.view` of an explicit conversion only.
        typed = w[operand] if w[operand].startswith(f"{source}(") else convert(operand.type, w[operand])
        w.expression(result, f"{typed}.view({goal})", atom=True)
    else:
        w.expression(result, convert(result.type, w[operand]), atom=True)


HANDLERS: dict[type[Operation], Handler] = {
    arith.ConstantOp: _constant,
    arith.AddfOp: _float_binary("+"),
    arith.SubfOp: _float_binary("-"),
    arith.MulfOp: _float_binary("*"),
    arith.DivfOp: _float_binary("/"),
    arith.NegfOp: _negf,
    arith.MaximumfOp: _float_extreme("maximum"),
    arith.MinimumfOp: _float_extreme("minimum"),
    arith.MaxnumfOp: _number_extreme("maxnum"),
    arith.MinnumfOp: _number_extreme("minnum"),
    arith.AddiOp: _int_binary("+", "^"),
    arith.SubiOp: _int_binary("-", "^"),
    arith.MuliOp: _int_binary("*", "&"),
    arith.AndIOp: _int_binary("&", "&"),
    arith.OrIOp: _int_binary("|", "|"),
    arith.XOrIOp: _int_binary("^", "^"),
    arith.ShLIOp: _int_binary("<<"),
    arith.ShRSIOp: _int_binary(">>"),
    arith.ShRUIOp: _shrui,
    arith.MaxSIOp: _int_extreme(">", signed=True),
    arith.MinSIOp: _int_extreme("<", signed=True),
    arith.MaxUIOp: _int_extreme(">", signed=False),
    arith.MinUIOp: _int_extreme("<", signed=False),
    arith.DivSIOp: _division("div", signed=True),
    arith.DivUIOp: _division("div_unsigned", signed=False),
    arith.RemSIOp: _division("rem", signed=True),
    arith.RemUIOp: _division("rem_unsigned", signed=False),
    arith.FloorDivSIOp: _division("floordiv", signed=True),
    arith.CeilDivSIOp: _division("ceildiv", signed=True),
    arith.CeilDivUIOp: _division("ceildiv_unsigned", signed=False),
    arith.CmpfOp: _cmpf,
    arith.CmpiOp: _cmpi,
    arith.SelectOp: _select,
    arith.ExtFOp: _convert_float,
    arith.TruncFOp: _convert_float,
    arith.SIToFPOp: _int_to_float(signed=True),
    arith.UIToFPOp: _int_to_float(signed=False),
    arith.FPToSIOp: _float_to_int(signed=True),
    arith.FPToUIOp: _float_to_int(signed=False),
    arith.ExtSIOp: _extend_signed,
    arith.ExtUIOp: _extend_unsigned,
    arith.TruncIOp: _truncate,
    arith.IndexCastOp: _extend_signed,
    arith.BitcastOp: _bitcast,
}
