"""A short way to write scalar arithmetic as `arith`/`math` ops: the language expansions are written in."""

from __future__ import annotations

import math as pymath
from collections.abc import Sequence
from dataclasses import dataclass, field

from xdsl.builder import Builder
from xdsl.dialects import arith, math
from xdsl.dialects.builtin import FloatAttr, IntegerAttr, f32, f64, i32, i64
from xdsl.ir import Operation, SSAValue

Value = SSAValue


@dataclass(frozen=True)
class Arithmetic:
    """Scalar arithmetic in f32, or in f64 (`double`); integers have the same width."""

    builder: Builder
    double: bool = False
    _constants: dict[tuple[str, float], Value] = field(default_factory=dict[tuple[str, float], Value])

    def _add(self, op: Operation) -> Value:
        self.builder.insert(op)
        return op.results[0]

    # Constants.

    def c(self, value: float) -> Value:
        """A float constant."""
        key = (str(value), 0.0)
        if key not in self._constants:
            op = arith.ConstantOp(FloatAttr(value, f64 if self.double else f32))
            self._constants[key] = self._add(op)
        return self._constants[key]

    def i(self, value: int) -> Value:
        """An integer constant."""
        key = ("i", value)
        if key not in self._constants:
            op = arith.ConstantOp(IntegerAttr(value, i64 if self.double else i32))
            self._constants[key] = self._add(op)
        return self._constants[key]

    # Float arithmetic; a Python number stands for a constant.

    def _value(self, x: Value | float) -> Value:
        return self.c(x) if isinstance(x, (int, float)) else x

    def add(self, a: Value | float, b: Value | float) -> Value:
        """a + b"""
        return self._add(arith.AddfOp(self._value(a), self._value(b)))

    def sub(self, a: Value | float, b: Value | float) -> Value:
        """a - b"""
        return self._add(arith.SubfOp(self._value(a), self._value(b)))

    def mul(self, a: Value | float, b: Value | float) -> Value:
        """a * b"""
        return self._add(arith.MulfOp(self._value(a), self._value(b)))

    def div(self, a: Value | float, b: Value | float) -> Value:
        """a / b"""
        return self._add(arith.DivfOp(self._value(a), self._value(b)))

    def fma(self, a: Value | float, b: Value | float, c: Value | float) -> Value:
        """a * b + c, rounded once"""
        return self._add(math.FmaOp(self._value(a), self._value(b), self._value(c)))

    def horner(self, x: Value, coefficients: Sequence[float]) -> Value:
        """The polynomial in x whose coefficients start with the constant one."""
        result = self.c(coefficients[-1])
        for coefficient in reversed(coefficients[:-1]):
            result = self.fma(result, x, coefficient)
        return result

    def neg(self, x: Value) -> Value:
        """-x"""
        return self._add(arith.NegfOp(x))

    def abs(self, x: Value) -> Value:
        """|x|"""
        return self._add(math.AbsFOp(x))

    def sqrt(self, x: Value) -> Value:
        """The square root."""
        return self._add(math.SqrtOp(x))

    def rint(self, x: Value) -> Value:
        """The nearest integer, ties to even."""
        return self._add(math.RoundEvenOp(x))

    def copysign(self, magnitude: Value, sign: Value) -> Value:
        """|magnitude| with the sign of `sign`."""
        return self._add(math.CopySignOp(magnitude, sign))

    # Comparisons: false when an operand is NaN, except `unequal` and `unordered`.

    def compare(self, predicate: str, a: Value | float, b: Value | float) -> Value:
        """An `arith.cmpf` predicate (`olt`, `ogt`, `oeq`, `une`, `uno`, ...)."""
        return self._add(arith.CmpfOp(self._value(a), self._value(b), predicate))

    def select(self, condition: Value, a: Value | float, b: Value | float) -> Value:
        """a where `condition` holds, else b."""
        return self._add(arith.SelectOp(condition, self._value(a), self._value(b)))

    def clamp(self, x: Value, low: float, high: float) -> Value:
        """x limited to [low, high]; NaN stays NaN."""
        x = self.select(self.compare("olt", x, low), low, x)
        return self.select(self.compare("ogt", x, high), high, x)

    def clamp_number(self, x: Value, low: float, high: float) -> Value:
        """x limited to [low, high]; NaN becomes `low` (a NaN has no integer part)."""
        x = self.select(self.compare("ogt", x, low), x, low)
        return self.select(self.compare("olt", x, high), x, high)

    # Bits.

    def bits(self, x: Value) -> Value:
        """The bit pattern of x."""
        return self._add(arith.BitcastOp(x, i64 if self.double else i32))

    def from_bits(self, x: Value) -> Value:
        """The float of bit pattern x."""
        return self._add(arith.BitcastOp(x, f64 if self.double else f32))

    def to_int(self, x: Value) -> Value:
        """An integral float as an integer."""
        return self._add(arith.FPToSIOp(x, i64 if self.double else i32))

    def to_float(self, x: Value) -> Value:
        """An integer as a float."""
        return self._add(arith.SIToFPOp(x, f64 if self.double else f32))

    def iadd(self, a: Value, b: Value | int) -> Value:
        """a + b of integers"""
        return self._add(arith.AddiOp(a, self.i(b) if isinstance(b, int) else b))

    def isub(self, a: Value, b: Value | int) -> Value:
        """a - b of integers"""
        return self._add(arith.SubiOp(a, self.i(b) if isinstance(b, int) else b))

    def iand(self, a: Value, b: int) -> Value:
        """a & b"""
        return self._add(arith.AndIOp(a, self.i(b)))

    def shl(self, a: Value, by: int) -> Value:
        """a << by"""
        return self._add(arith.ShLIOp(a, self.i(by)))

    def shr(self, a: Value, by: int) -> Value:
        """a >> by, the sign is copied in"""
        return self._add(arith.ShRSIOp(a, self.i(by)))

    def int_equal(self, a: Value, b: int) -> Value:
        """a == b of integers"""
        return self._add(arith.CmpiOp(a, self.i(b), "eq"))

    def either(self, a: Value, b: Value) -> Value:
        """a or b (of i1)"""
        return self._add(arith.OrIOp(a, b))

    def both(self, a: Value, b: Value) -> Value:
        """a and b (of i1)"""
        return self._add(arith.AndIOp(a, b))

    def power_of_two(self, n: Value) -> Value:
        """2**n for an integer n with a normal result."""
        bias, mantissa = (1023, 52) if self.double else (127, 23)
        return self.from_bits(self.shl(self.iadd(n, bias), mantissa))

    def select_int(self, condition: Value, a: Value, b: Value) -> Value:
        """a where `condition` holds, else b, of integers."""
        return self._add(arith.SelectOp(condition, a, b))

    # Precision.

    def widen_int(self, x: Value) -> Value:
        """An i32 as i64."""
        return self._add(arith.ExtSIOp(x, i64))

    def as_double(self) -> Arithmetic:
        """The same place, in f64."""
        return Arithmetic(self.builder, double=True)

    def widen(self, x: Value) -> Value:
        """An f32 as f64."""
        return self._add(arith.ExtFOp(x, f64))

    def narrow(self, x: Value) -> Value:
        """An f64 as f32."""
        return self._add(arith.TruncFOp(x, f32))


INFINITY = pymath.inf
NAN = pymath.nan
