"""NonZero: the places of elements that are not zero. How many there are is read while the program runs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.ir import SSAValue

from onnxloom.conversion.onnx_to_loom.builder import KernelBuilder, number_element
from onnxloom.conversion.onnx_to_loom.registry import Inputs, lowering
from onnxloom.conversion.onnx_to_loom.selection.chosen_places import chosen_places, count_chosen
from onnxloom.dialects import onnx


@lowering(onnx.NonZeroOp)
def lower_non_zero(op: onnx.NonZeroOp, inputs: Inputs, builder: KernelBuilder) -> Sequence[SSAValue]:
    """`[rank, count]`; a scalar has no coordinates."""
    (data,) = inputs
    assert data is not None
    number_element(data.type)
    dims = builder.dims(data)
    count = count_chosen(builder, data, builder.multiply(dims))
    if not dims:
        return [builder.view(builder.constant(np.zeros(0, np.int64)), [builder.index(0), count], op.Y.type)]
    return [chosen_places(builder, data, dims, count, op.Y.type)]
