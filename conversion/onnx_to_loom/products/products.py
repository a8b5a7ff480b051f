"""What do MatMul and Gemm multiply, and what does Gemm add? Shared by the single op and the fused kind."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from xdsl.ir import Operation, SSAValue

from onnxloom.conversion.onnx_to_loom.decline import Declined
from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.access import float_attr, int_attr, is_none
from onnxloom.dialects.onnx.semantics import element_type
from onnxloom.dialects.onnx.semantics.scalars import Scalar, Scalars, is_float


@dataclass(frozen=True)
class Factors:
    """The operands of a product op in terms of positions: `lhs @ rhs`, then `finish(.., operand 2)`."""

    trans_lhs: bool
    trans_rhs: bool
    addend: SSAValue | None
    """Gemm's C, None where it is omitted or scaled by zero."""
    finish: Callable[[Scalars, Scalar, Scalar | None], Scalar] | None
    """What follows the sum of products, on the type sums are kept in; None if nothing."""


def factors_of(op: Operation) -> Factors:
    """How a MatMul or Gemm multiplies.

    Raises:
        Declined: alpha or beta of an integer Gemm is no whole number.
    """
    if isinstance(op, onnx.MatMulOp):
        return Factors(False, False, None, None)
    assert isinstance(op, onnx.GemmOp)
    alpha, beta = float_attr(op, "alpha"), float_attr(op, "beta")
    element = element_type(op.operands[0])
    if element is not None and not is_float(element) and not (alpha.is_integer() and beta.is_integer()):
        raise Declined(f"alpha {alpha} or beta {beta} of an integer Gemm is no whole number")
    addend = op.operands[2] if len(op.operands) > 2 and not is_none(op.operands[2]) else None

    def finish(s: Scalars, value: Scalar, c: Scalar | None) -> Scalar:
        if alpha != 1.0:
            value = s.mul_const(value, alpha)
        if c is None:
            return value
        c = s.widen(c)
        return s.add(value, c if beta == 1.0 else s.mul_const(c, beta))

    plain = alpha == 1.0 and addend is None
    return Factors(
        bool(int_attr(op, "transA")), bool(int_attr(op, "transB")), addend, None if plain else finish
    )
