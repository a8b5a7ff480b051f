"""GridSample: images sampled at points that are an operand, for up to three spatial dims."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import f32, f64
from xdsl.ir import SSAValue

from onnxloom.conversion.onnx_to_loom.builder import KernelBuilder, buffer_element, rank_of, ranked
from onnxloom.conversion.onnx_to_loom.decline import Declined
from onnxloom.conversion.onnx_to_loom.kernel_body import KernelBody
from onnxloom.conversion.onnx_to_loom.moving.copying import word_type
from onnxloom.conversion.onnx_to_loom.ops.movement import exact_dims
from onnxloom.conversion.onnx_to_loom.registry import Inputs, lowering
from onnxloom.conversion.onnx_to_loom.resampling.elements import Elements
from onnxloom.conversion.onnx_to_loom.resampling.grid_sampling import sampling_kernel
from onnxloom.conversion.onnx_to_loom.resampling.sample_points import LARGEST, Sampling
from onnxloom.conversion.onnx_to_loom.value_checks import refuse_empty, refuse_where
from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.access import int_attr, str_attr
from onnxloom.dialects.onnx.semantics.scalars import is_float

_MODES = {"bilinear": "linear", "bicubic": "cubic"}
"""Names of earlier versions."""


@lowering(onnx.GridSampleOp)
def lower_grid_sample(op: onnx.GridSampleOp, inputs: Inputs, builder: KernelBuilder) -> Sequence[SSAValue]:
    """Nearest for any element type, linear and cubic for floats."""
    images, grid = inputs
    assert images is not None and grid is not None
    mode, padding = str_attr(op, "mode"), str_attr(op, "padding_mode")
    mode = _MODES.get(mode, mode)
    dims = rank_of(images) - 2
    if mode not in ("nearest", "linear", "cubic") or padding not in ("zeros", "border", "reflection"):
        raise Declined(f"GridSample of mode {mode} with padding {padding} has no kernel")
    if not 1 <= dims <= 3 or rank_of(grid) != dims + 2:
        raise Declined(f"GridSample of {rank_of(images)} dims by {rank_of(grid)} has no kernel")
    element, point = buffer_element(images.type), buffer_element(grid.type)
    if mode != "nearest" and not is_float(element):
        raise Declined(f"GridSample of mode {mode} of integers has no kernel")
    type_ = ranked(op.results[0].type, "the result")
    sizes, points = builder.dims(images), builder.dims(grid)
    refuse_where(builder, points[0], "ne", sizes[0], "the grid has another batch size than the images")
    refuse_where(
        builder, points[-1], "ne", builder.index(dims), f"a point of the grid has not {dims} numbers"
    )
    area, count = builder.multiply(sizes[2:]), builder.multiply(points[1:-1])
    refuse_where(builder, area, "sgt", builder.index(LARGEST), "an image is too large to be sampled")
    reads = builder.multiply([sizes[0], sizes[1], count])
    refuse_empty(builder, area, "an image without elements cannot be sampled", unless=reads)
    elements = None if mode == "nearest" else Elements(ranked(images.type, "the images").element_type)
    stored = word_type(images.type) if elements is None else element
    coordinate = f64 if f64 in (element, point) else f32
    k = KernelBody(f"grid_sample_{mode}", [stored, point], [stored], 3 + dims)
    aligned = bool(int_attr(op, "align_corners", 0))
    sampling_kernel(k, Sampling(dims, mode, padding, aligned, elements), coordinate)
    out = builder.empty(type_, exact_dims(builder, type_, [*sizes[:2], *points[1:-1]]))
    return builder.launch(k, [images, grid], [out], [*sizes[:2], count, *sizes[2:]])
