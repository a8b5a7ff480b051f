"""How are 8-bit integers multiplied, and how are the sums made 8-bit numbers again?

Products and convolutions run on `pair_words`: sums are exact in 32 bits and wrap beyond.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from xdsl.dialects.builtin import DYNAMIC_INDEX, BFloat16Type, Float16Type, Float32Type, f32
from xdsl.ir import Attribute, Operation, SSAValue

from onnxloom.conversion.onnx_to_loom.builder import KernelBuilder, program_constant, ranked, shape_of
from onnxloom.conversion.onnx_to_loom.convolutions.conv_forms import channel_operand, conv_form
from onnxloom.conversion.onnx_to_loom.convolutions.select_convolution import build_convolution
from onnxloom.conversion.onnx_to_loom.decline import Declined
from onnxloom.conversion.onnx_to_loom.moving.transposing import transposed
from onnxloom.conversion.onnx_to_loom.products.gemm import Product, build_gemm
from onnxloom.conversion.onnx_to_loom.products.product_loops import Epilogue
from onnxloom.conversion.onnx_to_loom.quantized.pair_words import (
    Factor,
    image_words,
    left_words,
    plain_words,
    right_words,
    weight_words,
)
from onnxloom.conversion.onnx_to_loom.quantized.quad_words import convolution_quads, quad_factors
from onnxloom.dialects.onnx.semantics.quantized_levels import from_level, level_limits, to_level
from onnxloom.dialects.onnx.semantics.scalars import Scalar, Scalars, as_integer


def build_integer_product(
    builder: KernelBuilder,
    name: str,
    lhs: Factor,
    rhs: Factor,
    result_type: Attribute,
    others: Sequence[SSAValue] = (),
    epilogue: Epilogue | None = None,
    bias: SSAValue | None = None,
    trans_rhs: bool = False,
) -> SSAValue:
    """`(lhs - zero) @ (rhs - zero) + bias` in 32 bits, then the epilogue.

    `bias` is a constant with a number per column. Raises Declined.
    """
    quads = quad_factors(builder, lhs, rhs, bias, trans_rhs)
    if quads is None:
        if trans_rhs:
            rhs = replace(rhs, value=transposed(builder, rhs.value, [1, 0]))
        words = left_words(builder, lhs), right_words(builder, rhs)
        if bias is not None:
            others, epilogue = [bias, *others], first_added(epilogue)
        return build_gemm(builder, name, Product(*words, result_type, others, epilogue, parts=2))
    count = len(quads.others)

    def corrected(s: Scalars, value: Scalar, operands: Sequence[Scalar]) -> Scalar:
        value = quads.correct(s, value, operands[:count])
        return value if epilogue is None else epilogue(s, value, operands[count:])

    every = [*quads.others, *others]
    follows = corrected if every else epilogue
    product = Product(quads.lhs, quads.rhs, result_type, every, follows, trans_rhs=trans_rhs, parts=4)
    return build_gemm(builder, name, product)


def first_added(epilogue: Epilogue | None) -> Epilogue:
    """The epilogue after the first operand is added."""

    def corrected(s: Scalars, value: Scalar, operands: Sequence[Scalar]) -> Scalar:
        value = s.add(value, operands[0])
        return value if epilogue is None else epilogue(s, value, operands[1:])

    return corrected


def build_integer_convolution(
    builder: KernelBuilder,
    name: str,
    op: Operation,
    image: Factor,
    weights: Factor,
    result_type: Attribute,
    others: Sequence[SSAValue] = (),
    epilogue: Epilogue | None = None,
    bias: SSAValue | None = None,
) -> SSAValue:
    """A convolution of numbers minus their zero points, plus bias, in 32 bits, then the epilogue.

    `bias` is a vector with a number per output channel. Raises Declined.
    """
    form = conv_form(op, builder, image.value, weights.value)
    form = replace(form, result_type=result_type)
    spatial = form.window.rank
    if image.zero is not None and any(d != 1 for d in shape_of(image.zero)):
        raise Declined("the image of a convolution has several zero points")
    known = None if bias is None else program_constant(bias)
    quads = None
    if form.group == 1 or shape_of(weights.value)[1] != 1:
        quads = convolution_quads(builder, image, weights, form.group)
    if quads is not None and (bias is None or known is not None):
        addend = quads.addend if known is None else known + (0 if quads.addend is None else quads.addend)
        bias = None if addend is None else builder.constant(addend.astype(np.int32))
    elif quads is not None and quads.addend is not None:
        others = [channel_operand(builder, builder.constant(quads.addend), spatial), *others]
        epilogue = first_added(epilogue)
    if bias is not None:
        others, epilogue = [channel_operand(builder, bias, spatial), *others], first_added(epilogue)
    form = form.with_epilogue(others, epilogue)
    if quads is not None:
        form = replace(form, source=quads.source, weights=quads.weights, parts=4, border=quads.border)
        return build_convolution(builder, name, form)
    if form.group > 1 and shape_of(weights.value)[1] == 1:
        source, kernel = plain_words(builder, image, False), plain_words(builder, weights, True)
        return build_convolution(builder, name, replace(form, source=source, weights=kernel))
    depth = builder.dim(weights.value, 1)
    source, kernel = image_words(builder, image, form.group, depth), weight_words(builder, weights)
    return build_convolution(builder, name, replace(form, source=source, weights=kernel, parts=2))


def one_number(builder: KernelBuilder, value: SSAValue, what: str) -> SSAValue:
    """A tensor of one element without dims. Raises Declined."""
    if any(d != 1 for d in shape_of(value)):
        raise Declined(f"{what} has several elements, or an unknown number of them")
    return builder.view(value, [])


def row_operand(builder: KernelBuilder, value: SSAValue, what: str) -> SSAValue:
    """One number, or one per row of a matrix, as an operand that broadcasts to matrices."""
    shape = shape_of(value)
    if all(d == 1 for d in shape):
        return builder.view(value, [])
    if len(shape) != 1:
        return value
    if shape[0] == DYNAMIC_INDEX:
        raise Declined(f"{what} has an unknown number of elements")
    return builder.view(value, [builder.index(shape[0]), builder.index(1)])


def check_scales(scales: Sequence[SSAValue], *, halves: bool = False) -> None:
    """Raises Declined unless all scales are f32, or with `halves` f16 or bf16."""
    kinds = (Float32Type, Float16Type, BFloat16Type) if halves else (Float32Type,)
    for scale in scales:
        element = ranked(scale.type, "a scale").element_type
        if not isinstance(element, kinds):
            raise Declined(f"scales of type {element} have no kernel")


def requantized(s: Scalars, total: Scalar, scale: Scalar, zero: Scalar, target: Attribute) -> Scalar:
    """A 32-bit sum times `scale`, rounded half to even, plus the zero point, saturated to `target`.

    Raises:
        Declined: the target has no 8 bits.
    """
    integer = as_integer(target)
    if integer is None or integer.width.data != 8:
        raise Declined(f"there is no requantization to {target}")
    scaled = s.mul(s.int_to_float(total, f32, unsigned=False), scale)
    return from_level(s, to_level(s, scaled, level_limits(s, zero, integer)), zero, integer)
