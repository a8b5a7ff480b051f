"""Scalar semantics of BatchNormalization in inference mode, whose statistics are given."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import math as xmath
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Operation

from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.access import float_attr, int_attr
from onnxloom.dialects.onnx.semantics.scalars import Scalar, Scalars
from onnxloom.dialects.onnx.semantics.semantics import ScalarSemantics, Table

_CHANNELS = 1
"""The axis of the input along which the statistics lie."""


def _axis(op: Operation, operand: int) -> int | None:
    return None if operand == 0 else _CHANNELS


def _batch_norm(s: Scalars, op: Operation, x: Sequence[Scalar]) -> Scalar:
    value = x[0]
    scale, bias, mean, variance = (s.float_to(v, value.type) for v in x[1:])
    # The factor depends on the channel alone: loops over points compute it once.
    factor = s.divf(scale, s.unary(xmath.SqrtOp, s.add_const(variance, float_attr(op, "epsilon"))))
    return s.add(s.mul(s.sub(value, mean), factor), bias)


def _is_inference(op: Operation) -> bool:
    if int_attr(op, "training_mode"):
        return False
    types = [operand.type for operand in op.operands[1:]]
    return all(isinstance(type_, TensorType) and type_.get_num_dims() == 1 for type_ in types)


OPS: Table = {
    onnx.BatchNormalizationOp: ScalarSemantics(_batch_norm, supports=_is_inference, axis=_axis),
}
