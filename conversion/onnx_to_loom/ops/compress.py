"""Compress: the slices along an axis for which a condition holds; without an axis, of the flat data."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith
from xdsl.ir import SSAValue

from onnxloom.conversion.onnx_to_loom.builder import KernelBuilder, rank_of
from onnxloom.conversion.onnx_to_loom.decline import Declined
from onnxloom.conversion.onnx_to_loom.moving.copying import word_type
from onnxloom.conversion.onnx_to_loom.registry import Inputs, lowering
from onnxloom.conversion.onnx_to_loom.selection.chosen_places import (
    PLACES,
    chosen_places,
    count_chosen,
    pick_slices,
)
from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.access import attr, int_attr


@lowering(onnx.CompressOp)
def lower_compress(op: onnx.CompressOp, inputs: Inputs, builder: KernelBuilder) -> Sequence[SSAValue]:
    """Slices that a short condition says nothing of are left out; so is what a long one says of none."""
    data, condition = inputs
    assert data is not None and condition is not None
    word_type(data.type)
    if rank_of(condition) != 1:
        raise Declined("a condition that is no list has no kernel")
    dims, axis = builder.dims(data), 0
    if attr(op, "axis") is None:
        dims = [builder.multiply(dims)]
    else:
        axis = int_attr(op, "axis") % len(dims)
    size = builder.insert(arith.MinSIOp(builder.dim(condition, 0), dims[axis])).results[0]
    count = count_chosen(builder, condition, size)
    places = chosen_places(builder, condition, [size], count, PLACES)
    around = dims[:axis], dims[axis], dims[axis + 1 :]
    return [pick_slices(builder, data, places, op.output.type, around, count)]
