"""How the element types of kernels look in LLVM: as values in registers and as elements in memory.

| type | value | memory |
|---|---|---|
| `index` | i64 | i64 |
| `i1` | i1 | i8 (0 or 1) |
| `iN` | iN | iN; i8 for fewer than 8 bits; i128, a complex number, is aligned to 8 bytes |
| `f32`, `f64` | float, double | float, double |
| `f16`, `bf16`, fp8, fp6, fp4 | iN (the bits) | iN; i8 for fewer than 8 bits |

Of the byte of a value of fewer than 8 bits the low ones count; the others are written as zeros.
"""

from __future__ import annotations

from typing import cast

from llvmlite import ir
from xdsl.dialects.builtin import Float32Type, Float64Type, IndexType, IntegerType, MemRefType
from xdsl.ir import Attribute, SSAValue
from xdsl.utils.hints import isa

from onnxloom.errors import PassError
from onnxloom.lowering.small_floats import small_float

F32 = ir.FloatType()
F64 = ir.DoubleType()
I1 = ir.IntType(1)
I8 = ir.IntType(8)
I32 = ir.IntType(32)
I64 = ir.IntType(64)
I128 = ir.IntType(128)


def int_width(attribute: Attribute) -> int | None:
    """The bits of an integer type, None for every other type."""
    return cast("IntegerType", attribute).width.data if isinstance(attribute, IntegerType) else None


def is_bool(value: SSAValue) -> bool:
    """Whether `value` is an i1, which takes a whole byte in memory."""
    return int_width(value.type) == 1


def value_type(attribute: Attribute) -> ir.Type:
    """The LLVM type of an SSA value."""
    if isinstance(attribute, IndexType):
        return I64
    if (width := int_width(attribute)) is not None:
        return ir.IntType(width)
    if isinstance(attribute, Float32Type):
        return F32
    if isinstance(attribute, Float64Type):
        return F64
    if (small := small_float(attribute)) is not None:
        return ir.IntType(small.width)
    if isa(attribute, MemRefType):
        return memory_type(attribute.element_type).as_pointer()
    raise PassError(f"emit-llvm: no LLVM form of type {attribute}")


def memory_type(element: Attribute) -> ir.Type:
    """The LLVM type of one element of a buffer."""
    form = value_type(element)
    return I8 if isinstance(form, ir.IntType) and form.width < 8 else form


def memory_alignment(element: ir.Type) -> int:
    """The bytes an element in memory is aligned to."""
    if element in (F32, F64):
        return 4 if element == F32 else 8
    return min(element.width // 8, 8)
