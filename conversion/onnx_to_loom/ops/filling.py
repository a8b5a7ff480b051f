"""ConstantOfShape: a tensor of one value whose dims are read at plan time."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.ir import SSAValue

from onnxloom.conversion.onnx_to_loom.builder import KernelBuilder, ranked, shape_of
from onnxloom.conversion.onnx_to_loom.decline import Declined
from onnxloom.conversion.onnx_to_loom.moving.copying import fill, word_type
from onnxloom.conversion.onnx_to_loom.registry import Inputs, lowering
from onnxloom.dialects import loom, onnx
from onnxloom.dialects.onnx.access import attr
from onnxloom.dialects.onnx.constant import constant_value


def lower_constant_of_shape(
    op: onnx.ConstantOfShapeOp, inputs: Inputs, builder: KernelBuilder
) -> Sequence[SSAValue]:
    """One dim for each element of the shape operand."""
    (shape,) = inputs
    assert shape is not None
    length = shape_of(shape)
    if len(length) != 1 or length[0] == DYNAMIC_INDEX:
        raise Declined("the length of the shape is not known")
    type_ = ranked(op.results[0].type, "the result")
    word_type(type_)
    if type_.get_num_dims() != length[0]:
        raise Declined("the result does not have one dim per element of the shape")
    dims = [
        builder.agreed(builder.insert(loom.ExtractOp(shape, i)).results[0], d, i)
        for i, d in enumerate(type_.get_shape())
    ]
    value = constant_value(attr(op, "value"))
    array = np.zeros(1, np.float32) if value is None else value
    return [fill(builder, builder.empty(type_, dims), dims, builder.constant(array.reshape(())))]


constant_of_shape = lowering(onnx.ConstantOfShapeOp)(lower_constant_of_shape)
