"""Which xDSL element type stands for which element type of the ONNX standard?

Integers are signless (`i64`), unsigned ones marked (`ui8`), booleans `i1`.
"""

from __future__ import annotations

from typing import Final

from xdsl.dialects.builtin import (
    ComplexType,
    Float4E2M1FNType,
    Float6E2M3FNType,
    Float6E3M2FNType,
    Float8E4M3FNType,
    Float8E4M3FNUZType,
    Float8E5M2FNUZType,
    Float8E5M2Type,
    Float8E8M0FNUType,
    IntegerType,
    Signedness,
    bf16,
    f16,
    f32,
    f64,
    i1,
    i8,
    i16,
    i32,
    i64,
)
from xdsl.ir import Attribute

from onnxloom.dialects.onnx.types import STRING_TYPE


def _unsigned(width: int) -> IntegerType:
    return IntegerType(width, Signedness.UNSIGNED)


ui2: Final = _unsigned(2)
ui4: Final = _unsigned(4)
ui8: Final = _unsigned(8)
ui16: Final = _unsigned(16)
ui32: Final = _unsigned(32)
ui64: Final = _unsigned(64)
i2: Final = IntegerType(2)
i4: Final = IntegerType(4)
si64: Final = IntegerType(64, Signedness.SIGNED)

ELEMENT_TYPES: Final[dict[str, Attribute]] = {
    "float": f32,
    "double": f64,
    "float16": f16,
    "bfloat16": bf16,
    "bool": i1,
    "int2": i2,
    "int4": i4,
    "int8": i8,
    "int16": i16,
    "int32": i32,
    "int64": i64,
    "uint2": ui2,
    "uint4": ui4,
    "uint8": ui8,
    "uint16": ui16,
    "uint32": ui32,
    "uint64": ui64,
    "string": STRING_TYPE,
    "complex64": ComplexType(f32),
    "complex128": ComplexType(f64),
    "float8e4m3fn": Float8E4M3FNType(),
    "float8e4m3fnuz": Float8E4M3FNUZType(),
    "float8e5m2": Float8E5M2Type(),
    "float8e5m2fnuz": Float8E5M2FNUZType(),
    "float8e8m0": Float8E8M0FNUType(),
    "float6e2m3": Float6E2M3FNType(),
    "float6e3m2": Float6E3M2FNType(),
    "float4e2m1": Float4E2M1FNType(),
}
"""Name inside `tensor(...)` in the standard's type constraints -> xDSL element type."""
