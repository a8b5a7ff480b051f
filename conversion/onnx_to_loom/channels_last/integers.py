"""How is a convolution of 8-bit channels-last tensors computed? As one of words along the channels.

Where bytes are multiplied four by four and the channels of a pixel are whole words, the image is read as
it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from xdsl.dialects.builtin import TensorType, i32
from xdsl.ir import Attribute, Operation, SSAValue

from onnxloom.conversion.onnx_to_loom.builder import (
    KernelBuilder,
    program_constant,
    rank_of,
    ranked,
    shape_of,
)
from onnxloom.conversion.onnx_to_loom.channels_last.select import select_channels_last_convolution
from onnxloom.conversion.onnx_to_loom.convolutions.conv_forms import conv_form
from onnxloom.conversion.onnx_to_loom.convolutions.depthwise import is_depthwise
from onnxloom.conversion.onnx_to_loom.decline import Declined
from onnxloom.conversion.onnx_to_loom.moving.transposing import transposed
from onnxloom.conversion.onnx_to_loom.products.product_loops import Epilogue
from onnxloom.conversion.onnx_to_loom.quantized.integer_products import (
    build_integer_convolution,
    first_added,
)
from onnxloom.conversion.onnx_to_loom.quantized.pair_words import (
    Array,
    Factor,
    left_words,
    plain_words,
    weight_words,
)
from onnxloom.conversion.onnx_to_loom.quantized.quad_words import channels_last_quads
from onnxloom.dialects.onnx.semantics.scalars import Scalar, Scalars


def build_integer_channels_last(
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
    """See `build_integer_convolution`; image, result and operands are channels-last. Raises Declined."""
    form = replace(conv_form(op, builder, image.value, weights.value), result_type=result_type)
    if image.zero is not None and any(d != 1 for d in shape_of(image.zero)):
        raise Declined("the image of a convolution has several zero points")
    addends: tuple[SSAValue | None, ...] = (bias,)
    if is_depthwise(form):
        words = plain_words(builder, image, False), plain_words(builder, weights, True)
        form = replace(form, source=words[0], weights=words[1])
    else:
        depth = shape_of(weights.value)[1]
        quads = channels_last_quads(builder, image, weights, form.group)
        if quads is not None:
            form = replace(form, source=quads.source, weights=quads.weights, parts=4, border=quads.border)
            addends = _with_addend(builder, bias, quads.addend)
        elif form.group == 1 or depth % 2 == 0:
            words = left_words(builder, image), weight_words(builder, weights)
            form = replace(form, source=words[0], weights=words[1], parts=2)
        else:
            return _channels_first(builder, name, op, image, weights, result_type, others, epilogue, bias)
    for addend in addends:
        if addend is not None:
            others, epilogue = [addend, *others], first_added(epilogue)
    form = form.with_epilogue(others, epilogue)
    return select_channels_last_convolution(builder, form)(builder, name, form)


def _with_addend(
    builder: KernelBuilder, bias: SSAValue | None, addend: Array | None
) -> tuple[SSAValue | None, SSAValue | None]:
    """Bias and a further addend, as one constant where that is possible."""
    if addend is None:
        return bias, None
    known = None if bias is None else program_constant(bias)
    if known is not None:
        return builder.constant((known + addend).astype(np.int32)), None
    return builder.constant(addend), bias


def _channels_first(
    builder: KernelBuilder,
    name: str,
    op: Operation,
    image: Factor,
    weights: Factor,
    result_type: Attribute,
    others: Sequence[SSAValue],
    epilogue: Epilogue | None,
    bias: SSAValue | None,
) -> SSAValue:
    """Sums of the transposed image, transposed again; then the epilogue."""
    rank = rank_of(image.value)
    first = Factor(transposed(builder, image.value, [0, rank - 1, *range(1, rank - 1)]), image.zero)
    batch, *spatial, channels = ranked(result_type, "the result").get_shape()
    type_ = TensorType(i32, [batch, channels, *spatial])
    sums = build_integer_convolution(builder, name, op, first, weights, type_, bias=bias)
    last = transposed(builder, sums, [0, *range(2, rank), 1])
    if epilogue is None:
        return last

    def finish(s: Scalars, x: Sequence[Scalar]) -> Sequence[Scalar]:
        return [epilogue(s, x[0], x[1:])]

    return builder.map(f"{name}_epilogue", [last, *others], [result_type], finish)[0]
