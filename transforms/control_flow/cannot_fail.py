"""Which ops give a result whatever they are given, so that running one for nothing does no harm?

What ops fail at is values (an index out of range, an integer divided by zero) and shapes. The ones listed
here read no value that could be wrong; their shapes fit where all of them are known, since inference has
looked at them, or where one operand decides alone.
"""

from __future__ import annotations

from typing import Final

from xdsl.dialects.builtin import IntegerType
from xdsl.ir import Operation, SSAValue

from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.access import is_none
from onnxloom.dialects.onnx.types import StringType
from onnxloom.transforms.dim_analysis.facts import element_type, static_dims

_ANY_SHAPE: Final = (
    onnx.IdentityOp, onnx.ShapeOp, onnx.SizeOp, onnx.TransposeOp, onnx.FlattenOp, onnx.NotOp, onnx.IsNaNOp,
    onnx.IsInfOp, onnx.NegOp, onnx.AbsOp, onnx.SignOp, onnx.FloorOp, onnx.CeilOp, onnx.RoundOp, onnx.ExpOp,
    onnx.LogOp, onnx.SqrtOp, onnx.ReciprocalOp, onnx.ErfOp, onnx.SinOp, onnx.CosOp, onnx.TanOp, onnx.TanhOp,
    onnx.SigmoidOp, onnx.ReluOp, onnx.LeakyReluOp, onnx.EluOp, onnx.GeluOp, onnx.SoftplusOp, onnx.SoftmaxOp,
    onnx.LogSoftmaxOp, onnx.HardSigmoidOp, onnx.HardSwishOp, onnx.CastOp,
)  # fmt: skip
"""Ops of one tensor that accept any."""

_FITTING_SHAPES: Final = (
    onnx.AddOp, onnx.SubOp, onnx.MulOp, onnx.DivOp, onnx.MinOp, onnx.MaxOp, onnx.PowOp, onnx.AndOp, onnx.OrOp,
    onnx.XorOp, onnx.EqualOp, onnx.LessOp, onnx.LessOrEqualOp, onnx.GreaterOp, onnx.GreaterOrEqualOp,
    onnx.WhereOp, onnx.MatMulOp, onnx.GemmOp, onnx.ConvOp, onnx.ConcatOp,
)  # fmt: skip
"""Ops that fail at most because shapes do not fit."""

_DIVIDES: Final = (onnx.DivOp, onnx.PowOp)


def cannot_fail(op: Operation) -> bool:
    """Whether the op gives a result for all values of its operands."""
    elements = [element_type(value.type) for value in op.operands if not is_none(value)]
    if any(element is None or isinstance(element, StringType) for element in elements):
        return False
    if isinstance(op, _ANY_SHAPE):
        return not isinstance(element_type(op.results[0].type), StringType)
    if isinstance(op, _DIVIDES) and isinstance(elements[0], IntegerType):
        return False
    return isinstance(op, _FITTING_SHAPES) and _shapes_fit(op)


def _shapes_fit(op: Operation) -> bool:
    values = [*(value for value in op.operands if not is_none(value)), *op.results]
    return all(_is_static(value) for value in values)


def _is_static(value: SSAValue) -> bool:
    dims = static_dims(value)
    return dims is not None and None not in dims
