"""How are the ops that kernels consist of made? Without what xDSL's constructors look up each time.

A model has some ten thousand of them, and the general way takes three times as long. The ops are the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, cast

from xdsl.dialects import arith, memref, scf
from xdsl.dialects.builtin import FloatAttr, IndexType, IntegerAttr, MemRefType
from xdsl.ir import Attribute, Operation, Region, SSAValue

INDEX: Final = IndexType()
_NO_OVERFLOW: Final[dict[str, Attribute]] = {"overflowFlags": arith.IntegerOverflowAttr("none")}
_NO_FASTMATH: Final[dict[str, Attribute]] = {"fastmath": arith.FastMathFlagsAttr("none")}
_NONE: Final[dict[str, Attribute]] = {}
_PROPERTIES: Final[dict[type[Operation], dict[str, Attribute]]] = {
    arith.AddiOp: _NO_OVERFLOW, arith.SubiOp: _NO_OVERFLOW, arith.MuliOp: _NO_OVERFLOW,
    arith.AddfOp: _NO_FASTMATH, arith.SubfOp: _NO_FASTMATH, arith.MulfOp: _NO_FASTMATH,
    arith.DivfOp: _NO_FASTMATH,
    arith.MinSIOp: _NONE, arith.MaxSIOp: _NONE, arith.MinUIOp: _NONE, arith.MaxUIOp: _NONE,
    arith.CeilDivSIOp: _NONE, arith.DivSIOp: _NONE, arith.RemSIOp: _NONE,
}  # fmt: skip


def binary(op: type[Operation], a: SSAValue, b: SSAValue) -> Operation:
    """An `arith` op of two operands of the type of its result, with no flags set."""
    return op.create(operands=(a, b), result_types=(a.type,), properties=dict(_PROPERTIES[op]))


def constant(value: IntegerAttr | FloatAttr) -> arith.ConstantOp:
    """`arith.constant`."""
    return arith.ConstantOp.create(result_types=(value.get_type(),), properties={"value": value})


def load(buffer: SSAValue, offset: SSAValue) -> Operation:
    """`memref.load` from a buffer of one dim."""
    type_ = cast("MemRefType[Attribute]", buffer.type)
    return memref.LoadOp.create(operands=(buffer, offset), result_types=(type_.element_type,))


def store(value: SSAValue, buffer: SSAValue, offset: SSAValue) -> Operation:
    """`memref.store` to a buffer of one dim."""
    return memref.StoreOp.create(operands=(value, buffer, offset))


def loop(bounds: Sequence[SSAValue], init: Sequence[SSAValue], body: Region) -> scf.ForOp:
    """`scf.for` from, to and by `bounds`."""
    types = [value.type for value in init]
    return scf.ForOp.create(operands=(*bounds, *init), result_types=types, regions=(body,))


def end_of(values: Sequence[SSAValue] = ()) -> Operation:
    """`scf.yield`."""
    return scf.YieldOp.create(operands=values)
