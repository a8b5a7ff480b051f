"""How is scalar arithmetic written down? `Scalars`: typed helpers that emit `arith` and `math` ops.

Values have storage types: signless integers, `i1`, and floats of 4 to 64 bits. Helpers pick the float or the
integer op from the type; whether an integer is unsigned is an argument, as signless types do not say.
Complex numbers are only moved, as integers of their width.
"""

from __future__ import annotations

import math
from typing import TypeAlias, cast

from xdsl.builder import Builder
from xdsl.dialects import arith
from xdsl.dialects import math as xmath
from xdsl.dialects.builtin import (
    AnyFloat,
    BFloat16Type,
    FixedBitwidthType,
    Float4E2M1FNType,
    Float6E2M3FNType,
    Float6E3M2FNType,
    Float8E4M3FNType,
    Float8E4M3FNUZType,
    Float8E5M2FNUZType,
    Float8E5M2Type,
    Float8E8M0FNUType,
    Float16Type,
    Float32Type,
    Float64Type,
    FloatAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    Signedness,
    f32,
    f64,
    i1,
    i32,
)
from xdsl.ir import Attribute, Block, Operation, SSAValue

from onnxloom.dialects.onnx.narrow import is_complex
from onnxloom.dialects.onnx.semantics.quick_ops import INDEX, binary, constant

Scalar: TypeAlias = SSAValue
NARROW_FLOATS = (
    Float16Type, BFloat16Type,
    Float8E4M3FNType, Float8E4M3FNUZType, Float8E5M2Type, Float8E5M2FNUZType, Float8E8M0FNUType,
    Float6E2M3FNType, Float6E3M2FNType, Float4E2M1FNType,
)  # fmt: skip
"""Those that are computed with as `f32`."""
KERNEL_FLOATS = (*NARROW_FLOATS, Float32Type, Float64Type)
KERNEL_INT_WIDTHS = (1, 2, 4, 8, 16, 32, 64)

_FLOAT_PREDICATES = {"eq": "oeq", "ne": "une", "lt": "olt", "le": "ole", "gt": "ogt", "ge": "oge"}
_SIGNED_PREDICATES = {"eq": "eq", "ne": "ne", "lt": "slt", "le": "sle", "gt": "sgt", "ge": "sge"}
_UNSIGNED_PREDICATES = {"eq": "eq", "ne": "ne", "lt": "ult", "le": "ule", "gt": "ugt", "ge": "uge"}


def as_integer(type_: Attribute | None) -> IntegerType | None:
    """The type if it is an integer type, else None."""
    return cast(IntegerType, type_) if isinstance(type_, IntegerType) else None


def has_kernel(element: Attribute) -> bool:
    """Whether kernels can hold values of this tensor element type."""
    integer = as_integer(element)
    if integer is not None:
        return integer.width.data in KERNEL_INT_WIDTHS
    if is_complex(element):
        return isinstance(element.element_type, (Float32Type, Float64Type))
    return isinstance(element, KERNEL_FLOATS)


def is_unsigned(element: Attribute) -> bool:
    """Whether a tensor element type is an unsigned integer (bool included)."""
    integer = as_integer(element)
    if integer is None:
        return False
    return integer.signedness.data == Signedness.UNSIGNED or integer.width.data == 1


def storage_type(element: Attribute) -> Attribute:
    """The type kernels store a tensor element as: integers lose their sign."""
    integer = as_integer(element)
    if is_complex(element):
        return IntegerType(2 * bit_width(element.element_type))
    return element if integer is None else IntegerType(integer.width.data)


def compute_type(storage: Attribute) -> Attribute:
    """The type arithmetic is done in: `f32` for the narrow floats."""
    return f32 if isinstance(storage, NARROW_FLOATS) else storage


def is_float(type_: Attribute) -> bool:
    """Whether a storage type is a float."""
    return isinstance(type_, AnyFloat)


def bit_width(type_: Attribute) -> int:
    """Bits of a storage type."""
    assert isinstance(type_, FixedBitwidthType)
    return type_.bitwidth


def constant_of(value: SSAValue) -> int | float | None:
    """The number behind an `arith.constant`, else None. Integers come back signed."""
    if not isinstance(value.owner, arith.ConstantOp):
        return None
    attr = value.owner.value
    if isinstance(attr, (IntegerAttr, FloatAttr)):
        return attr.value.data
    return None


class Scalars:
    """Emits scalar ops at a builder's insertion point.

    Constants go to the start of `entry` when it is given (each once), else to the insertion point.
    """

    def __init__(self, builder: Builder, entry: Block | None = None):
        self.builder = builder
        self._entry = entry
        self._constants: dict[Attribute, SSAValue] = {}
        self._indices: dict[int, SSAValue] = {}
        self._last_constant: Operation | None = None

    def emit(self, op: Operation) -> Scalar:
        """Inserts an op of one result and gives the result."""
        return self.builder.insert(op).results[0]

    # Constants

    def const(self, value: float | int | bool, type_: Attribute) -> Scalar:
        """A constant of a storage type; integers wrap into the type's range."""
        attr: IntegerAttr | FloatAttr
        if isinstance(type_, IndexType):
            attr = IntegerAttr(int(value), type_)
        elif (integer := as_integer(type_)) is not None:
            attr = IntegerAttr(_wrap(int(value), integer.width.data), integer)
        else:
            assert isinstance(type_, AnyFloat)
            attr = FloatAttr(float(value), type_)
        if self._entry is None:
            return self.emit(constant(attr))
        found = self._constants.get(attr)
        # 0.0 and -0.0 compare equal, and so would their attributes.
        distinct = isinstance(attr, FloatAttr) and (math.isnan(attr.value.data) or attr.value.data == 0.0)
        if found is not None and not distinct:
            return found
        op = constant(attr)
        self._insert_constant(op)
        if not distinct:
            self._constants[attr] = op.result
        return op.result

    def _insert_constant(self, op: Operation) -> None:
        assert self._entry is not None
        if self._last_constant is not None and self._last_constant.parent is self._entry:
            self._entry.insert_op_after(op, self._last_constant)
        elif self._entry.first_op is not None:
            self._entry.insert_op_before(op, self._entry.first_op)
        else:
            self._entry.add_op(op)
        self._last_constant = op

    def index(self, value: int) -> Scalar:
        """A constant of type index."""
        found = self._indices.get(value)
        if found is None:
            found = self.const(value, INDEX)
            if self._entry is not None:
                self._indices[value] = found
        return found

    # Arithmetic

    def add(self, a: Scalar, b: Scalar) -> Scalar:
        """a + b; integers wrap."""
        _same_type("add", a, b)
        return self.emit(binary(arith.AddfOp if is_float(a.type) else arith.AddiOp, a, b))

    def sub(self, a: Scalar, b: Scalar) -> Scalar:
        """a - b; integers wrap."""
        _same_type("sub", a, b)
        return self.emit(binary(arith.SubfOp if is_float(a.type) else arith.SubiOp, a, b))

    def mul(self, a: Scalar, b: Scalar) -> Scalar:
        """a * b; integers wrap."""
        _same_type("mul", a, b)
        return self.emit(binary(arith.MulfOp if is_float(a.type) else arith.MuliOp, a, b))

    def divf(self, a: Scalar, b: Scalar) -> Scalar:
        """a / b of floats."""
        _same_type("divf", a, b)
        if not is_float(a.type):
            raise TypeError(f"divf divides floats, not values of type {a.type}")
        return self.emit(binary(arith.DivfOp, a, b))

    def neg(self, a: Scalar) -> Scalar:
        """-a; integers wrap."""
        if is_float(a.type):
            return self.emit(arith.NegfOp(a))
        return self.sub(self.const(0, a.type), a)

    def abs(self, a: Scalar, unsigned: bool = False) -> Scalar:
        """Absolute value; the smallest signed integer is its own."""
        if unsigned:
            return a
        if is_float(a.type):
            return self.emit(xmath.AbsFOp(a))
        return self.select(self.cmp("lt", a, self.const(0, a.type)), self.neg(a), a)

    def unary(self, op: type[Operation], a: Scalar) -> Scalar:
        """One `math` op of one float operand."""
        if not is_float(a.type):
            raise TypeError(f"{op.name} takes a float, not a value of type {a.type}")
        return self.emit(op(a))  # pyright: ignore[reportArgumentType, reportCallIssue]

    def add_const(self, a: Scalar, value: float) -> Scalar:
        """a + value."""
        return self.add(a, self.const(value, a.type))

    def mul_const(self, a: Scalar, value: float) -> Scalar:
        """a * value."""
        return self.mul(a, self.const(value, a.type))

    # Comparison and selection

    def cmp(self, predicate: str, a: Scalar, b: Scalar, unsigned: bool = False) -> Scalar:
        """eq, ne, lt, le, gt, ge as i1; ordered on floats, except that NaN != NaN holds."""
        _same_type("cmp", a, b)
        if is_float(a.type):
            return self.emit(arith.CmpfOp(a, b, _FLOAT_PREDICATES[predicate]))
        table = _UNSIGNED_PREDICATES if unsigned else _SIGNED_PREDICATES
        return self.emit(arith.CmpiOp(a, b, table[predicate]))

    def select(self, condition: Scalar, a: Scalar, b: Scalar) -> Scalar:
        """condition ? a : b."""
        _same_type("select", a, b)
        if condition.type != i1:
            raise TypeError(f"select takes an i1 as its condition, not a value of type {condition.type}")
        return self.emit(arith.SelectOp(condition, a, b))

    def isnan(self, a: Scalar) -> Scalar:
        """Whether a float is NaN."""
        return self.emit(arith.CmpfOp(a, a, "uno"))

    def maximum(self, a: Scalar, b: Scalar, unsigned: bool = False) -> Scalar:
        """The larger; NaN if either is NaN."""
        return self._extremum(a, b, unsigned, "gt", arith.MaximumfOp, arith.MaxSIOp, arith.MaxUIOp)

    def minimum(self, a: Scalar, b: Scalar, unsigned: bool = False) -> Scalar:
        """The smaller; NaN if either is NaN."""
        return self._extremum(a, b, unsigned, "lt", arith.MinimumfOp, arith.MinSIOp, arith.MinUIOp)

    def _extremum(
        self,
        a: Scalar,
        b: Scalar,
        unsigned: bool,
        predicate: str,
        float_op: type[arith.MaximumfOp] | type[arith.MinimumfOp],
        signed_op: type[arith.MaxSIOp] | type[arith.MinSIOp],
        unsigned_op: type[arith.MaxUIOp] | type[arith.MinUIOp],
    ) -> Scalar:
        _same_type("maximum or minimum", a, b)
        if not is_float(a.type):
            return self.emit(binary(unsigned_op if unsigned else signed_op, a, b))
        # Compared with a number, `number > x ? number : x` keeps NaN and is one vector instruction.
        for number, other in ((b, a), (a, b)):
            value = constant_of(number)
            if value is not None and not math.isnan(value):
                return self.select(self.cmp(predicate, number, other), number, other)
        return self.emit(float_op(a, b))

    # Logic

    def and_(self, a: Scalar, b: Scalar) -> Scalar:
        """Bitwise and."""
        _same_type("and_", a, b)
        return self.emit(arith.AndIOp(a, b))

    def or_(self, a: Scalar, b: Scalar) -> Scalar:
        """Bitwise or."""
        _same_type("or_", a, b)
        return self.emit(arith.OrIOp(a, b))

    def xor(self, a: Scalar, b: Scalar) -> Scalar:
        """Bitwise exclusive or."""
        _same_type("xor", a, b)
        return self.emit(arith.XOrIOp(a, b))

    def not_(self, a: Scalar) -> Scalar:
        """Bitwise complement."""
        return self.xor(a, self.const(-1, a.type))

    # Conversion

    def widen(self, a: Scalar) -> Scalar:
        """A narrow float as f32, anything else unchanged."""
        if isinstance(a.type, NARROW_FLOATS):
            return self.emit(arith.ExtFOp(a, f32))
        return a

    def float_to(self, a: Scalar, target: Attribute) -> Scalar:
        """A float as another float type, rounded once."""
        if a.type == target:
            return a
        if isinstance(target, Float8E8M0FNUType):
            raise TypeError("there is more than one way to round to f8E8M0FNU")
        if isinstance(a.type, NARROW_FLOATS):
            return self.float_to(self.widen(a), target)
        if isinstance(a.type, Float32Type) and isinstance(target, Float64Type):
            return self.emit(arith.ExtFOp(a, target))
        if isinstance(a.type, Float64Type) and isinstance(target, NARROW_FLOATS):
            return self.emit(arith.TruncFOp(self.round_to_odd(a), target))
        return self.emit(arith.TruncFOp(a, target))

    def round_to_odd(self, a: Scalar) -> Scalar:
        """f64 as f32, inexact results with an odd last bit: rounding that again rounds once."""
        narrow = self.emit(arith.TruncFOp(a, f32))
        back = self.emit(arith.ExtFOp(narrow, f64))
        inexact = self.emit(arith.CmpfOp(back, a, "one"))
        bits = self.emit(arith.BitcastOp(narrow, i32))
        even = self.cmp("eq", self.and_(bits, self.const(1, i32)), self.const(0, i32))
        too_big = self.cmp("gt", self.abs(back), self.abs(a))
        step = self.select(too_big, self.const(-1, i32), self.const(1, i32))
        fixed = self.select(self.and_(inexact, even), self.add(bits, step), bits)
        return self.emit(arith.BitcastOp(fixed, f32))

    def int_to_float(self, a: Scalar, target: Attribute, unsigned: bool) -> Scalar:
        """An integer (or i1) as a float; by way of f32 for narrow floats."""
        wide = cast(AnyFloat, compute_type(target))
        # LLVM vectorises conversions from i32, not from i8 and i16.
        if bit_width(a.type) < 32:
            a = self.int_to_int(a, i32, unsigned)
            unsigned = False
        raw = self.emit(arith.UIToFPOp(a, wide) if unsigned else arith.SIToFPOp(a, wide))
        return self.float_to(raw, target)

    def int_to_int(self, a: Scalar, target: Attribute, unsigned: bool) -> Scalar:
        """An integer of another width: wraps when narrower, extends by the source's signedness."""
        integer = as_integer(target)
        assert integer is not None
        have, want = bit_width(a.type), integer.width.data
        if have == want:
            return a
        if have > want:
            return self.emit(arith.TruncIOp(a, integer))
        return self.emit(arith.ExtUIOp(a, integer) if unsigned else arith.ExtSIOp(a, integer))

    def to_bool(self, a: Scalar) -> Scalar:
        """a != 0 as i1; NaN is true."""
        a = self.widen(a)
        return a if a.type == i1 else self.cmp("ne", a, self.const(0, a.type))


def _same_type(what: str, a: Scalar, b: Scalar) -> None:
    if a.type != b.type:
        raise TypeError(
            f"{what} of types {a.type} and {b.type}; convert one (widen, float_to, int_to_float, int_to_int)"
        )


def _wrap(value: int, width: int) -> int:
    """A value as the signed number with the same low `width` bits; i1 stays 0 or 1."""
    value &= (1 << width) - 1
    if width > 1 and value >> (width - 1):
        value -= 1 << width
    return value
