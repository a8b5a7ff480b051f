"""How do half-width floats become f32 factors? At plan time for constants, else by one copy."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import BFloat16Type, Float16Type, TensorType, f32
from xdsl.ir import Attribute, SSAValue

from onnxloom.conversion.onnx_to_loom.builder import KernelBuilder, ranked
from onnxloom.conversion.onnx_to_loom.plan_known import is_plan_known
from onnxloom.dialects import loom
from onnxloom.dialects.onnx.semantics.scalars import Scalar, Scalars


def is_half(element: Attribute) -> bool:
    """Whether products of this element type are computed on f32 copies of the factors."""
    return isinstance(element, Float16Type | BFloat16Type)


def widened(builder: KernelBuilder, value: SSAValue) -> SSAValue:
    """A program-level tensor of half-width floats as f32; any other tensor as it is.

    Raises:
        Declined: the tensor has no known rank.
    """
    type_ = ranked(value.type, "an operand")
    if not is_half(type_.element_type):
        return value
    wide = TensorType(f32, type_.get_shape())
    if not is_plan_known(value):
        return builder.map("widen", [value], [wide], _widen)[0]
    if isinstance(value.owner, loom.ViewOp):
        view = value.owner
        return builder.view(widened(builder, view.source), list(view.sizes), wide, view.offset)
    return builder.insert(loom.PackOp(value, "as_float32", {}, wide)).results[0]


def _widen(s: Scalars, values: Sequence[Scalar]) -> Sequence[Scalar]:
    return [s.widen(values[0])]
