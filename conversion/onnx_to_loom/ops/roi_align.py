"""RoiAlign: regions of images pooled into bins of a fixed number, each of several bilinear samples."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, SSAValue

from onnxloom.conversion.onnx_to_loom.builder import KernelBuilder, buffer_element, rank_of, ranked, shape_of
from onnxloom.conversion.onnx_to_loom.decline import Declined
from onnxloom.conversion.onnx_to_loom.ops.movement import exact_dims
from onnxloom.conversion.onnx_to_loom.registry import Inputs, lowering
from onnxloom.conversion.onnx_to_loom.resampling.elements import Elements
from onnxloom.conversion.onnx_to_loom.resampling.region_pooling import Pooling, pooling_kernel
from onnxloom.conversion.onnx_to_loom.resampling.sample_points import LARGEST
from onnxloom.conversion.onnx_to_loom.value_checks import IndexGuard, refuse_empty, refuse_where
from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.access import float_attr, int_attr, str_attr
from onnxloom.dialects.onnx.semantics.scalars import is_float


@lowering(onnx.RoiAlignOp)
def lower_roi_align(op: onnx.RoiAlignOp, inputs: Inputs, builder: KernelBuilder) -> Sequence[SSAValue]:
    """Floats; half-width ones as f32."""
    images, regions, batches = inputs
    assert images is not None and regions is not None and batches is not None
    mode, transform = str_attr(op, "mode"), str_attr(op, "coordinate_transformation_mode")
    if mode not in ("avg", "max") or transform not in ("half_pixel", "output_half_pixel"):
        raise Declined(f"RoiAlign of mode {mode} with {transform} coordinates has no kernel")
    if (rank_of(images), rank_of(regions), rank_of(batches)) != (4, 2, 1):
        raise Declined("RoiAlign of operands of other ranks has no kernel")
    elements = Elements(ranked(images.type, "the images").element_type)
    if not is_float(elements.storage) or buffer_element(regions.type) != elements.storage:
        raise Declined("RoiAlign of integers, or of regions of another type, has no kernel")
    pooling = Pooling(
        int_attr(op, "output_height"),
        int_attr(op, "output_width"),
        mode == "max",
        transform == "half_pixel",
        int_attr(op, "sampling_ratio"),
        float_attr(op, "spatial_scale"),
    )
    type_ = ranked(op.results[0].type, "the result")
    n, c, height, width = builder.dims(images)
    count, four = builder.dims(regions)
    area = builder.multiply([height, width])
    refuse_where(builder, four, "ne", builder.index(4), "a region has not 4 numbers")
    refuse_where(builder, builder.dim(batches, 0), "ne", count, "there is not one batch index per region")
    refuse_where(builder, area, "sgt", builder.index(LARGEST), "an image is too large to be sampled")
    refuse_empty(builder, area, "an image without elements cannot be sampled", unless=count)
    guard = IndexGuard(builder, batches, [n], from_end=False)
    guard.check_apart(batches)
    dims = exact_dims(builder, type_, [count, c, builder.index(pooling.rows), builder.index(pooling.columns)])
    wide = TensorType(elements.compute, type_.get_shape())
    widened = _converted(builder, images, elements.compute)
    ins = [widened, _converted(builder, regions, elements.compute), batches]
    k = builder.kernel(f"roi_align_{mode}", ins, [wide], 5)
    pooling_kernel(k, pooling, elements.compute)
    sizes = [n, c, height, width, count]
    (made,) = builder.launch(k, ins, [builder.empty(wide, dims)], sizes)
    return [_converted(builder, made, elements.storage)]


def _converted(builder: KernelBuilder, value: SSAValue, element: Attribute) -> SSAValue:
    """A float tensor in another type."""
    if buffer_element(value.type) == element:
        return value
    type_ = TensorType(element, shape_of(value))
    return builder.map("float_cast", [value], [type_], lambda s, x: [s.float_to(x[0], element)])[0]
