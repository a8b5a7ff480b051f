"""When is a product of dequantized tensors a product of integers, scaled afterwards?

    DequantizeLinear(a) ─┐
    DequantizeLinear(b) ─┴► MatMul     is     sum of (a - zero) (b - zero), times both scales

Each factor needs one scale for all that a sum runs over: one for the left factor, one or one per column
for the right one (for a convolution: image and output channels).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from xdsl.dialects.builtin import Float32Type
from xdsl.ir import Operation, SSAValue

from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.access import float_attr, int_attr, ints_attr, is_none
from onnxloom.dialects.onnx.constant import constant_value
from onnxloom.dialects.onnx.semantics.scalars import as_integer
from onnxloom.transforms.fusion.spaces import element_of, shape_of
from onnxloom.transforms.miss import Miss

SCALE_TOLERANCE: Final = 1e-6
"""How far the scale of an integer bias may be from the product of the factors' scales: rounding of floats."""

MOVEMENT: Final[tuple[type[Operation], ...]] = (
    onnx.ReshapeOp,
    onnx.TransposeOp,
    onnx.FlattenOp,
    onnx.SqueezeOp,
    onnx.UnsqueezeOp,
)
"""Ops that only move elements: they may stand before or after a dequantization."""


@dataclass(frozen=True)
class Dequantized:
    """The dequantizations that a product reads."""

    left: onnx.DequantizeLinearOp
    right: onnx.DequantizeLinearOp
    bias: onnx.DequantizeLinearOp | None
    """Of a bias whose scale is the product of the factors' scales: it is added to the sums of integers."""

    @property
    def ops(self) -> tuple[onnx.DequantizeLinearOp, ...]:
        return (self.left, self.right) if self.bias is None else (self.left, self.right, self.bias)


def dequantized_factors(product: Operation) -> Dequantized | Miss:
    """The dequantizations a MatMul, Gemm or Conv can be computed without."""
    problem = _unfit_form(product)
    if problem is not None:
        return problem
    around = transposes_around(product)
    source = product.operands[0] if around is None else around[0].data
    left, right = source.owner, product.operands[1].owner
    for op in (left, right):
        if not isinstance(op, onnx.DequantizeLinearOp):
            return Miss(f"a factor of {product.name} is not dequantized")
        problem = _unfit_numbers(op)
        if problem is not None:
            return problem
    assert isinstance(left, onnx.DequantizeLinearOp) and isinstance(right, onnx.DequantizeLinearOp)
    if not _is_one(left.x_scale) or not _is_one_or_none(left.x_zero_point):
        return Miss(f"the left factor of {product.name} has several scales or zero points")
    columns = _column_axis(product)
    for value in (right.x_scale, right.x_zero_point):
        if not _is_one_or_none(value) and not _lies_along(right, value, columns):
            return Miss(f"the scales of the right factor of {product.name} lie along an axis that is summed")
    return Dequantized(left, right, _integer_bias(product, left, right))


def transposes_around(product: Operation) -> tuple[onnx.TransposeOp, onnx.TransposeOp] | None:
    """The Transposes of a channels-last convolution: of its image and of its result, which it alone reads."""
    if not isinstance(product, onnx.ConvOp | onnx.ConvIntegerOp):
        return None
    before, after = product.operands[0].owner, [use.operation for use in product.results[0].uses]
    rank = len(shape_of(product.results[0]) or ())
    if not isinstance(before, onnx.TransposeOp) or len(after) != 1 or rank < 3:
        return None
    (following,) = after
    if not isinstance(following, onnx.TransposeOp):
        return None
    if before.parent is not product.parent or following.parent is not product.parent:
        return None
    to_first, to_last = (0, rank - 1, *range(1, rank - 1)), (0, *range(2, rank), 1)
    if ints_attr(before, "perm") != to_first or ints_attr(following, "perm") != to_last:
        return None
    return before, following


def is_held_for_product(op: onnx.DequantizeLinearOp) -> bool:
    """Whether a dequantization of a constant is computed along with a product, not ahead of it."""
    readers = [use.operation for use in op.y.uses]
    while len(readers) == 1 and isinstance(readers[0], MOVEMENT):
        readers = [use.operation for use in readers[0].results[0].uses]
    return bool(readers) and all(isinstance(r, PRODUCTS) and _is_of_integers(r) for r in readers)


PRODUCTS: Final = (onnx.MatMulOp, onnx.GemmOp, onnx.ConvOp)
"""Ops that multiply dequantized tensors."""


def _is_of_integers(product: Operation) -> bool:
    """Whether both factors are dequantized from 8 bits and moved at most."""
    for factor in product.operands[:2]:
        source = factor.owner
        while isinstance(source, MOVEMENT):
            source = source.operands[0].owner
        if not isinstance(source, onnx.DequantizeLinearOp) or _unfit_numbers(source) is not None:
            return False
    return _unfit_form(product) is None


def _unfit_form(product: Operation) -> Miss | None:
    if not isinstance(product, PRODUCTS):
        return Miss(f"{product.name} is no product of floats")
    if isinstance(product, onnx.GemmOp):
        if int_attr(product, "transA"):
            return Miss("a Gemm with transA has no integer kernel")
        if float_attr(product, "alpha") != 1.0 or float_attr(product, "beta") != 1.0:
            return Miss("a Gemm with alpha or beta has no integer kernel")
        if any(len(shape_of(bias) or ()) > 1 for bias in product.operands[2:]):
            return Miss("the bias of a Gemm is no vector")
    if any(shape_of(factor) is None for factor in (*product.operands[:2], product.results[0])):
        return Miss(f"{product.name} of a tensor of unknown rank")
    if isinstance(product, onnx.MatMulOp) and any(len(shape_of(f) or ()) < 2 for f in product.operands):
        return Miss("MatMul of a vector")
    return None


def _unfit_numbers(op: onnx.DequantizeLinearOp) -> Miss | None:
    integer = as_integer(element_of(op.x))
    if integer is None or integer.width.data != 8:
        return Miss(f"{op.name} of {op.x.type} gives no factor of 8 bits")
    if not isinstance(element_of(op.x_scale), Float32Type) or not isinstance(element_of(op.y), Float32Type):
        return Miss(f"{op.name} to {op.y.type} gives no factor in f32")
    return Miss(f"{op.name} has a scale per block") if int_attr(op, "block_size") else None


def _is_one(value: SSAValue) -> bool:
    shape = shape_of(value)
    return shape is not None and all(dim == 1 for dim in shape)


def _is_one_or_none(value: SSAValue) -> bool:
    return is_none(value) or _is_one(value)


def _column_axis(product: Operation) -> int:
    """The axis of the right factor that is not summed."""
    if isinstance(product, onnx.ConvOp):
        return 0
    if isinstance(product, onnx.GemmOp):
        return 0 if int_attr(product, "transB") else 1
    return len(shape_of(product.operands[1]) or ()) - 1


def _lies_along(op: onnx.DequantizeLinearOp, value: SSAValue, axis: int) -> bool:
    """Whether a vector of scales or zero points lies along `axis`, the only one that is not 1 of more."""
    shape, rank = shape_of(value), len(shape_of(op.x) or ())
    return shape is not None and len(shape) == 1 and int_attr(op, "axis", 1) % max(rank, 1) == axis


def _integer_bias(
    product: Operation, left: onnx.DequantizeLinearOp, right: onnx.DequantizeLinearOp
) -> onnx.DequantizeLinearOp | None:
    if len(product.operands) < 3 or not isinstance(product.operands[2].owner, onnx.DequantizeLinearOp):
        return None
    bias = product.operands[2].owner
    integer, shape = as_integer(element_of(bias.x)), shape_of(bias.x)
    if integer is None or integer.width.data != 32 or shape is None or len(shape) != 1:
        return None
    scales = [constant_value(op.x_scale) for op in (left, right, bias)]
    if any(scale is None for scale in scales):
        return None
    a, b, c = (np.asarray(scale, np.float64) for scale in scales)
    if c.size not in (1, shape[0]) or b.size not in (1, shape[0]):
        return None
    zero = constant_value(bias.x_zero_point)
    if not is_none(bias.x_zero_point) and (zero is None or zero.any()):
        return None
    product_scales = a.reshape(-1) * b.reshape(-1)
    agree = np.all(np.abs(product_scales - c.reshape(-1)) <= SCALE_TOLERANCE * np.abs(product_scales))
    return bias if agree else None
