"""DeformConv: the taps of windows sampled where an operand says, then a matrix product with the weights."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import DYNAMIC_INDEX, TensorType
from xdsl.ir import SSAValue

from onnxloom.conversion.onnx_to_loom.builder import KernelBuilder, buffer_element, rank_of, ranked, shape_of
from onnxloom.conversion.onnx_to_loom.convolutions.conv_forms import add_bias
from onnxloom.conversion.onnx_to_loom.convolutions.padded_image import window_sizes
from onnxloom.conversion.onnx_to_loom.decline import Declined
from onnxloom.conversion.onnx_to_loom.ops.movement import exact_dims
from onnxloom.conversion.onnx_to_loom.products.gemm import Product, build_gemm
from onnxloom.conversion.onnx_to_loom.registry import Inputs, lowering
from onnxloom.conversion.onnx_to_loom.resampling.deformed_columns import columns_kernel
from onnxloom.conversion.onnx_to_loom.resampling.elements import Elements
from onnxloom.conversion.onnx_to_loom.resampling.sample_points import LARGEST
from onnxloom.conversion.onnx_to_loom.value_checks import refuse_empty, refuse_where
from onnxloom.dialects import onnx
from onnxloom.dialects.loom.conv_space import Window
from onnxloom.dialects.onnx.access import int_attr, ints_attr
from onnxloom.dialects.onnx.semantics.scalars import Scalar, Scalars, is_float


@lowering(onnx.DeformConvOp)
def lower_deform_conv(op: onnx.DeformConvOp, inputs: Inputs, builder: KernelBuilder) -> Sequence[SSAValue]:
    """Images of two dims, of floats."""
    images, weights, offsets, bias, mask = [*inputs, None, None][:5]
    assert images is not None and weights is not None and offsets is not None
    if rank_of(images) != 4:
        raise Declined(f"DeformConv of {rank_of(images)} dims has no kernel")
    if any(rank_of(v) != 4 for v in (offsets, mask) if v is not None):
        raise Declined("DeformConv with offsets or a mask of another rank has no kernel")
    elements = Elements(ranked(images.type, "the images").element_type)
    operands = [v for v in (weights, offsets, bias, mask) if v is not None]
    if not is_float(elements.storage) or any(buffer_element(v.type) != elements.storage for v in operands):
        raise Declined("DeformConv of integers, or of operands of several types, has no kernel")
    window = _window(op, weights)
    groups, offset_groups = int_attr(op, "group"), int_attr(op, "offset_group")
    n, channels, height, width = builder.dims(images)
    rows, columns = builder.dims(offsets)[2:]
    outputs = window_sizes(builder, images, window).outputs
    for axis, (size, given) in enumerate(zip(outputs, (rows, columns), strict=True)):
        message = f"dim {axis + 2} of the offsets is not that of the result"
        refuse_where(builder, size, "ne", given, message)
    taps = window.kernel[0] * window.kernel[1]
    every = builder.index(offset_groups * taps)
    _refuse_other(
        builder, offsets, [n, builder.multiply([every, builder.index(2)]), rows, columns], "offsets"
    )
    if mask is not None:
        _refuse_other(builder, mask, [n, every, rows, columns], "mask")
    each, share = builder.divide(channels, offset_groups), builder.divide(channels, groups)
    for part, count in ((each, offset_groups), (share, groups)):
        whole = builder.multiply([part, builder.index(count)])
        refuse_where(builder, whole, "ne", channels, f"the channels do not fall into {count} groups")
    area = builder.multiply([height, width])
    refuse_where(builder, area, "sgt", builder.index(LARGEST), "an image is too large to be sampled")
    points = builder.multiply([rows, columns])
    refuse_empty(builder, area, "an image without elements cannot be sampled", unless=points)
    depth = [n, channels, builder.index(taps), points]
    column_type = TensorType(elements.element, [DYNAMIC_INDEX] * 2 + [taps, DYNAMIC_INDEX])
    ins = [v for v in (images, offsets, mask) if v is not None]
    k = builder.kernel("deform_columns", ins, [column_type], 7)
    columns_kernel(k, window, offset_groups, elements)
    counts = [n, each, height, width, rows, columns, channels]
    (sampled,) = builder.launch(k, ins, [builder.empty(column_type, depth)], counts)
    made = _product(builder, weights, sampled, bias, groups)
    type_ = ranked(op.results[0].type, "the result")
    dims = exact_dims(builder, type_, [n, builder.dim(weights, 0), rows, columns])
    return [builder.view(made, dims, type_)]


def _window(op: onnx.DeformConvOp, weights: SSAValue) -> Window:
    kernel = tuple(shape_of(weights)[2:])
    if DYNAMIC_INDEX in kernel or len(kernel) != 2:
        raise Declined("the dims of the window of DeformConv are not known")
    pads = ints_attr(op, "pads") or (0,) * 4
    if any(pad < 0 for pad in pads):
        raise Declined("negative pads of DeformConv have no kernel")
    ones = (1, 1)
    return Window(kernel, ints_attr(op, "strides") or ones, ints_attr(op, "dilations") or ones, pads)


def _refuse_other(builder: KernelBuilder, value: SSAValue, dims: Sequence[SSAValue], what: str) -> None:
    """Refuses an operand of other dims."""
    for axis, (have, want) in enumerate(zip(builder.dims(value), dims, strict=True)):
        refuse_where(builder, have, "ne", want, f"dim {axis} of the {what} does not fit the images")


def _product(
    builder: KernelBuilder,
    weights: SSAValue,
    sampled: SSAValue,
    bias: SSAValue | None,
    groups: int,
) -> SSAValue:
    """The weights of each group times the taps of its channels."""
    element = ranked(sampled.type, "the taps").element_type
    n, channels, taps, points = builder.dims(sampled)
    outputs, share = builder.dims(weights)[:2]
    refuse_where(
        builder,
        builder.multiply([share, builder.index(groups)]),
        "ne",
        channels,
        "the weights are for another number of channels",
    )
    group, part = builder.index(groups), builder.divide(outputs, groups)
    whole = builder.multiply([part, group])
    refuse_where(builder, whole, "ne", outputs, f"the results do not fall into {groups} groups")
    depth = builder.multiply([share, taps])
    lhs = builder.view(weights, [group, part, depth])
    rhs = builder.view(sampled, [n, group, depth, points])
    others = [] if bias is None else [builder.view(bias, [group, part, builder.index(1)])]

    def epilogue(s: Scalars, value: Scalar, others: Sequence[Scalar]) -> Scalar:
        return s.float_to(add_bias(s, value, others[0]), element)

    shape = [DYNAMIC_INDEX, groups, DYNAMIC_INDEX, DYNAMIC_INDEX]
    product = Product(lhs, rhs, TensorType(element, shape), others, epilogue if others else None)
    return build_gemm(builder, "deform_conv", product)
