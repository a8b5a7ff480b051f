"""Scalar semantics of ONNX's elementary functions: roots, exponentials, trigonometry, rounding."""

from __future__ import annotations

from xdsl.dialects import math as xmath
from xdsl.ir import Operation

from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.semantics.scalars import is_float
from onnxloom.dialects.onnx.semantics.semantics import ScalarSemantics, Table, element_type


def _float_operand(op: Operation) -> bool:
    element = element_type(op.operands[0])
    return element is not None and is_float(element)


def _unary(math_op: type[Operation]) -> ScalarSemantics:
    return ScalarSemantics(lambda s, op, x: s.unary(math_op, x[0]), supports=_float_operand)


OPS: Table = {
    onnx.SqrtOp: _unary(xmath.SqrtOp),
    onnx.ExpOp: _unary(xmath.ExpOp),
    onnx.LogOp: _unary(xmath.LogOp),
    onnx.ErfOp: _unary(xmath.ErfOp),
    onnx.SinOp: _unary(xmath.SinOp),
    onnx.CosOp: _unary(xmath.CosOp),
    onnx.TanOp: _unary(xmath.TanOp),
    onnx.AsinOp: _unary(xmath.AsinOp),
    onnx.AcosOp: _unary(xmath.AcosOp),
    onnx.AtanOp: _unary(xmath.AtanOp),
    onnx.SinhOp: _unary(xmath.SinhOp),
    onnx.CoshOp: _unary(xmath.CoshOp),
    onnx.TanhOp: _unary(xmath.TanhOp),
    onnx.AsinhOp: _unary(xmath.AsinhOp),
    onnx.AcoshOp: _unary(xmath.AcoshOp),
    onnx.AtanhOp: _unary(xmath.AtanhOp),
    onnx.FloorOp: _unary(xmath.FloorOp),
    onnx.CeilOp: _unary(xmath.CeilOp),
    onnx.RoundOp: _unary(xmath.RoundEvenOp),
}
