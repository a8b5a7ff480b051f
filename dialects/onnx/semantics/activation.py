"""Scalar semantics of ONNX activation functions: Relu and its family, Sigmoid, Gelu, Softplus, ..."""

from __future__ import annotations

import math
from collections.abc import Sequence

from xdsl.dialects import math as xmath
from xdsl.dialects.builtin import f64
from xdsl.ir import Operation

from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.access import float_attr, is_none, str_attr
from onnxloom.dialects.onnx.constant import constant_value
from onnxloom.dialects.onnx.semantics.conversion import float_to_int
from onnxloom.dialects.onnx.semantics.scalars import Scalar, Scalars, is_float
from onnxloom.dialects.onnx.semantics.semantics import ScalarSemantics, Table, result_storage, unsigned

Values = Sequence[Scalar]


def _zero(s: Scalars, x: Scalar) -> Scalar:
    return s.const(0, x.type)


def _where_negative(s: Scalars, x: Scalar, negative: Scalar, other: Scalar) -> Scalar:
    return s.select(s.cmp("lt", x, _zero(s, x)), negative, other)


def _exp_minus_one(s: Scalars, x: Scalar) -> Scalar:
    return s.add_const(s.unary(xmath.ExpOp, x), -1.0)


def sigmoid(s: Scalars, x: Scalar) -> Scalar:
    """1 / (1 + exp(-x))."""
    return s.divf(s.const(1.0, x.type), s.add_const(s.unary(xmath.ExpOp, s.neg(x)), 1.0))


def softplus(s: Scalars, x: Scalar) -> Scalar:
    """log(1 + exp(x)) without overflow."""
    rest = s.unary(xmath.Log1pOp, s.unary(xmath.ExpOp, s.neg(s.abs(x))))
    return s.add(s.maximum(x, _zero(s, x)), rest)


def _clamp01(s: Scalars, x: Scalar) -> Scalar:
    return s.maximum(s.minimum(x, s.const(1.0, x.type)), _zero(s, x))


def _relu(s: Scalars, op: Operation, x: Values) -> Scalar:
    return s.maximum(x[0], _zero(s, x[0]))


def _leaky_relu(s: Scalars, op: Operation, x: Values) -> Scalar:
    return _where_negative(s, x[0], s.mul_const(x[0], float_attr(op, "alpha")), x[0])


def _prelu(s: Scalars, op: Operation, x: Values) -> Scalar:
    if unsigned(op):
        return x[0]
    return _where_negative(s, x[0], s.mul(x[0], x[1]), x[0])


def _elu(s: Scalars, op: Operation, x: Values) -> Scalar:
    negative = s.mul_const(_exp_minus_one(s, x[0]), float_attr(op, "alpha"))
    return _where_negative(s, x[0], negative, x[0])


def _selu(s: Scalars, op: Operation, x: Values) -> Scalar:
    alpha, gamma = float_attr(op, "alpha"), float_attr(op, "gamma")
    negative = s.mul_const(_exp_minus_one(s, x[0]), alpha)
    positive = s.cmp("gt", x[0], _zero(s, x[0]))
    return s.mul_const(s.select(positive, x[0], negative), gamma)


def _celu(s: Scalars, op: Operation, x: Values) -> Scalar:
    alpha = float_attr(op, "alpha")
    scaled = s.divf(x[0], s.const(alpha, x[0].type))
    negative = s.minimum(s.mul_const(_exp_minus_one(s, scaled), alpha), _zero(s, x[0]))
    return s.add(s.maximum(x[0], _zero(s, x[0])), negative)


def _thresholded_relu(s: Scalars, op: Operation, x: Values) -> Scalar:
    above = s.cmp("gt", x[0], s.const(float_attr(op, "alpha"), x[0].type))
    return s.select(above, x[0], _zero(s, x[0]))


def _hard_sigmoid(s: Scalars, op: Operation, x: Values) -> Scalar:
    scaled = s.mul_const(x[0], float_attr(op, "alpha"))
    return _clamp01(s, s.add_const(scaled, float_attr(op, "beta")))


def _hard_swish(s: Scalars, op: Operation, x: Values) -> Scalar:
    return s.mul(x[0], _clamp01(s, s.add_const(s.mul_const(x[0], 1 / 6), 0.5)))


def _swish(s: Scalars, op: Operation, x: Values) -> Scalar:
    alpha = float_attr(op, "alpha")
    scaled = x[0] if alpha == 1.0 else s.mul_const(x[0], alpha)
    return s.mul(x[0], sigmoid(s, scaled))


def _softsign(s: Scalars, op: Operation, x: Values) -> Scalar:
    return s.divf(x[0], s.add_const(s.abs(x[0]), 1.0))


def _mish(s: Scalars, op: Operation, x: Values) -> Scalar:
    return s.mul(x[0], s.unary(xmath.TanhOp, softplus(s, x[0])))


def _gelu(s: Scalars, op: Operation, x: Values) -> Scalar:
    (a,) = x
    half = s.mul_const(a, 0.5)
    if str_attr(op, "approximate") == "tanh":
        cube = s.mul(s.mul(a, a), a)
        inner = s.mul_const(s.add(a, s.mul_const(cube, 0.044715)), math.sqrt(2 / math.pi))
        return s.mul(half, s.add_const(s.unary(xmath.TanhOp, inner), 1.0))
    return s.mul(half, s.add_const(s.unary(xmath.ErfOp, s.mul_const(a, math.sqrt(0.5))), 1.0))


def _shrink(s: Scalars, op: Operation, x: Values) -> Scalar:
    """Integers are computed with as f64, and truncated."""
    (a,) = x
    if is_float(a.type):
        return _shrunk(s, op, a)
    wide = _shrunk(s, op, s.int_to_float(a, f64, unsigned(op)))
    return float_to_int(s, wide, result_storage(op), unsigned(op))


def _shrunk(s: Scalars, op: Operation, a: Scalar) -> Scalar:
    bias, lambd = float_attr(op, "bias"), float_attr(op, "lambd")
    below = s.cmp("lt", a, s.const(-lambd, a.type))
    above = s.cmp("gt", a, s.const(lambd, a.type))
    inner = s.select(above, s.add_const(a, -bias), _zero(s, a))
    return s.select(below, s.add_const(a, bias), inner)


def _inference(op: Operation) -> bool:
    if len(op.operands) < 3 or is_none(op.operands[2]):
        return True
    training = constant_value(op.operands[2])
    return training is not None and not bool(training.any())


def _first(op: Operation) -> list[int]:
    return [0]


OPS: Table = {
    onnx.ReluOp: ScalarSemantics(_relu),
    onnx.LeakyReluOp: ScalarSemantics(_leaky_relu),
    onnx.PReluOp: ScalarSemantics(_prelu),
    onnx.EluOp: ScalarSemantics(_elu),
    onnx.SeluOp: ScalarSemantics(_selu),
    onnx.CeluOp: ScalarSemantics(_celu),
    onnx.ThresholdedReluOp: ScalarSemantics(_thresholded_relu),
    onnx.SigmoidOp: ScalarSemantics(lambda s, op, x: sigmoid(s, x[0])),
    onnx.HardSigmoidOp: ScalarSemantics(_hard_sigmoid),
    onnx.HardSwishOp: ScalarSemantics(_hard_swish),
    onnx.SwishOp: ScalarSemantics(_swish),
    onnx.SoftplusOp: ScalarSemantics(lambda s, op, x: softplus(s, x[0])),
    onnx.SoftsignOp: ScalarSemantics(_softsign),
    onnx.MishOp: ScalarSemantics(_mish),
    onnx.GeluOp: ScalarSemantics(_gelu),
    onnx.ShrinkOp: ScalarSemantics(_shrink),
    onnx.DropoutOp: ScalarSemantics(lambda s, op, x: x[0], supports=_inference, reads=_first, widen=False),
}
