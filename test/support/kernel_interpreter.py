"""What does a kernel or a piece of scalar code compute? A plain interpreter over numpy, for tests.

Scalar ops work on whole arrays as well as on numpy scalars, so that one evaluation covers many inputs.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import ml_dtypes
import numpy as np
from xdsl.dialects import arith, memref, scf
from xdsl.dialects import math as xmath
from xdsl.dialects.builtin import FloatAttr, IndexType, IntegerAttr, IntegerType, MemRefType
from xdsl.ir import Attribute, Block, Operation, SSAValue

from onnxloom.dialects import loom

_FLOATS = {"f16": np.float16, "bf16": ml_dtypes.bfloat16, "f32": np.float32, "f64": np.float64}
_INTS = {1: np.bool_, 8: np.int8, 16: np.int16, 32: np.int32, 64: np.int64}


def dtype_of(type_: Attribute) -> np.dtype[Any]:
    """numpy dtype of a storage type."""
    if isinstance(type_, IndexType):
        return np.dtype(np.int64)
    if isinstance(type_, IntegerType):
        return np.dtype(_INTS[type_.width.data])
    return np.dtype(_FLOATS[str(type_)])


def _unsigned(x: Any) -> Any:
    x = np.asarray(x)
    return x if x.dtype == np.bool_ else x.view(f"u{x.dtype.itemsize}")


def _trunc_div(a: Any, b: Any) -> Any:
    assert not np.any(np.equal(b, 0)), "division by zero traps"
    lowest = np.iinfo(np.asarray(a).dtype).min
    assert not np.any((np.asarray(a) == lowest) & (np.asarray(b) == -1)), "overflowing division traps"
    q = np.floor_divide(a, b)
    return np.where((q < 0) & (q * b != a), q + 1, q).astype(np.asarray(a).dtype)


def _shift(f: Callable[[Any, Any], Any], unsigned: bool) -> Callable[[Any, Any], Any]:
    def run(a: Any, b: Any) -> Any:
        dtype = np.asarray(a).dtype
        assert np.all(_unsigned(b) < dtype.itemsize * 8), "shift by the width or more is undefined"
        return f(_unsigned(a), _unsigned(b)).view(dtype) if unsigned else f(a, b)

    return run


def _logical(f: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def run(a: Any, b: Any) -> Any:
        ua, ub = _unsigned(a), _unsigned(b)
        return np.asarray(f(ua, ub)).view(np.asarray(a).dtype)

    return run


def _no_zero(f: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def run(a: Any, b: Any) -> Any:
        assert not np.any(np.equal(b, 0)), "division by zero traps"
        return f(a, b)

    return run


def _erf(x: Any) -> Any:
    import math

    return np.vectorize(math.erf, otypes=[np.float64])(np.asarray(x, np.float64))


_BINARY: dict[type[Operation], Callable[[Any, Any], Any]] = {
    arith.AddiOp: np.add, arith.SubiOp: np.subtract, arith.MuliOp: np.multiply,
    arith.AddfOp: np.add, arith.SubfOp: np.subtract, arith.MulfOp: np.multiply, arith.DivfOp: np.divide,
    arith.DivSIOp: _trunc_div, arith.DivUIOp: _no_zero(_logical(operator.floordiv)),
    arith.CeilDivSIOp: _no_zero(lambda a, b: -np.floor_divide(-a, b)),
    arith.RemSIOp: _no_zero(np.fmod), arith.RemUIOp: _no_zero(_logical(np.fmod)),
    arith.MaxSIOp: np.maximum, arith.MinSIOp: np.minimum,
    arith.MaxUIOp: _logical(np.maximum), arith.MinUIOp: _logical(np.minimum),
    arith.MaximumfOp: np.maximum, arith.MinimumfOp: np.minimum,
    arith.MaxnumfOp: np.fmax, arith.MinnumfOp: np.fmin,
    arith.AndIOp: np.bitwise_and, arith.OrIOp: np.bitwise_or, arith.XOrIOp: np.bitwise_xor,
    arith.ShLIOp: _shift(np.left_shift, True), arith.ShRUIOp: _shift(np.right_shift, True),
    arith.ShRSIOp: _shift(np.right_shift, False),
    xmath.PowFOp: np.power, xmath.Atan2Op: np.arctan2, xmath.CopySignOp: np.copysign,
}  # fmt: skip

_UNARY: dict[type[Operation], Callable[[Any], Any]] = {
    arith.NegfOp: np.negative, xmath.AbsFOp: np.abs, xmath.AbsIOp: np.abs,
    xmath.SqrtOp: np.sqrt, xmath.ExpOp: np.exp, xmath.ExpM1Op: np.expm1, xmath.LogOp: np.log,
    xmath.Log1pOp: np.log1p, xmath.ErfOp: _erf, xmath.SinOp: np.sin, xmath.CosOp: np.cos,
    xmath.TanOp: np.tan, xmath.AsinOp: np.arcsin, xmath.AcosOp: np.arccos, xmath.AtanOp: np.arctan,
    xmath.SinhOp: np.sinh, xmath.CoshOp: np.cosh, xmath.TanhOp: np.tanh, xmath.AsinhOp: np.arcsinh,
    xmath.AcoshOp: np.arccosh, xmath.AtanhOp: np.arctanh, xmath.FloorOp: np.floor, xmath.CeilOp: np.ceil,
    xmath.RoundEvenOp: np.rint, xmath.TruncOp: np.trunc,
    arith.ExtFOp: np.asarray, arith.TruncFOp: np.asarray, arith.TruncIOp: np.asarray,
    arith.ExtSIOp: np.asarray, arith.SIToFPOp: np.asarray, arith.IndexCastOp: np.asarray,
    arith.ExtUIOp: _unsigned, arith.UIToFPOp: _unsigned,
}  # fmt: skip

_CMPI: Sequence[Callable[[Any, Any], Any]] = (
    np.equal, np.not_equal, np.less, np.less_equal, np.greater, np.greater_equal,
    *[lambda a, b, f=f: f(_unsigned(a), _unsigned(b))
      for f in (np.less, np.less_equal, np.greater, np.greater_equal)],
)  # fmt: skip


def _cmpf(predicate: int, a: Any, b: Any) -> Any:
    ordered = (None, np.equal, np.greater, np.greater_equal, np.less, np.less_equal, np.not_equal, None)
    nan = np.isnan(a) | np.isnan(b)
    if predicate in (7, 14):
        return ~nan if predicate == 7 else nan
    relation = ordered[predicate if predicate < 7 else predicate - 7]
    assert relation is not None
    return (relation(a, b) & ~nan) | (nan if predicate >= 8 else False)


def _fptosi(a: Any, dtype: np.dtype[Any]) -> Any:
    limit = 2.0 ** (dtype.itemsize * 8 - 1)
    wide = np.trunc(np.asarray(a, np.float64))
    assert np.all((wide >= -limit) & (wide < limit)), "conversion out of range is undefined"
    return np.asarray(a).astype(dtype)


class Interpreter:
    """Runs blocks of kernel ops; `values` maps SSA values to numpy scalars, arrays, or buffers."""

    def __init__(self, values: dict[SSAValue, Any] | None = None):
        self.values: dict[SSAValue, Any] = values or {}

    def block(self, block: Block) -> list[Any]:
        """Runs all ops; gives the operands of an `scf.yield` at the end."""
        for op in block.ops:
            if isinstance(op, scf.YieldOp):
                return [self.values[v] for v in op.operands]
            self.op(op)
        return []

    def op(self, op: Operation) -> None:
        """Runs one op."""
        x = [self.values[v] for v in op.operands]
        if isinstance(op, scf.ForOp):
            self._for(op, x)
        elif isinstance(op, scf.IfOp):
            region = op.true_region if bool(x[0]) else op.false_region
            for result, value in zip(
                op.results, self.block(region.block) if region.blocks else (), strict=True
            ):
                self.values[result] = value
        elif isinstance(op, memref.StoreOp):
            assert 0 <= int(x[2]) < x[1].size, "store outside of the buffer"
            x[1][int(x[2])] = x[0]
        elif not isinstance(op, loom.EndOp):
            self.values[op.results[0]] = self._pure(op, x)

    def _for(self, op: scf.ForOp, x: list[Any]) -> None:
        carried = x[3:]
        block = op.body.block
        for i in range(int(x[0]), int(x[1]), int(x[2])):
            for arg, value in zip(block.args, [np.int64(i), *carried], strict=True):
                self.values[arg] = value
            carried = self.block(block)
        for result, value in zip(op.results, carried, strict=True):
            self.values[result] = value

    def _pure(self, op: Operation, x: list[Any]) -> Any:
        if isinstance(op, memref.AllocaOp):
            type_ = op.results[0].type
            assert isinstance(type_, MemRefType)
            return np.zeros(type_.get_shape(), dtype_of(type_.element_type))
        dtype = dtype_of(op.results[0].type)
        with np.errstate(all="ignore"):
            if isinstance(op, arith.ConstantOp):
                assert isinstance(op.value, (IntegerAttr, FloatAttr))
                return np.asarray(op.value.value.data).astype(dtype)[()]
            if isinstance(op, memref.LoadOp):
                assert 0 <= int(x[1]) < x[0].size, "load outside of the buffer"
                return x[0][int(x[1])]
            if isinstance(op, arith.CmpiOp):
                return _CMPI[op.predicate.value.data](*x)
            if isinstance(op, arith.CmpfOp):
                return _cmpf(op.predicate.value.data, *x)
            if isinstance(op, arith.SelectOp):
                return np.where(*x)[()]
            if isinstance(op, arith.BitcastOp):
                return np.asarray(x[0]).view(dtype)[()]
            if isinstance(op, arith.FPToSIOp):
                return _fptosi(x[0], dtype)[()]
            if type(op) in _UNARY:
                return np.asarray(_UNARY[type(op)](x[0])).astype(dtype)[()]
            return np.asarray(_BINARY[type(op)](*x)).astype(dtype)[()]


def run_kernel(kernel: loom.KernelOp, args: Sequence[Any]) -> None:
    """Runs a kernel on flat buffers (written in place) and sizes."""
    Interpreter(dict(zip(kernel.body.block.args, args, strict=True))).block(kernel.body.block)
