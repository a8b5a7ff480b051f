"""Reductions whose result does not depend on the order: of integers, and least and greatest elements."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np
from xdsl.ir import Operation

from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.access import bool_attr
from onnxloom.transforms.folding.numpy_op import Array, Inputs, NumpyOp, given, ints, is_native


def _reduction(function: Callable[..., Any], *, floats: bool) -> NumpyOp:
    def run(op: Operation, inputs: Inputs) -> Sequence[Array] | None:
        data, axes = given(inputs, 0), inputs[1]
        # What an empty axis gives is not numpy's to say; truth values have rules of their own.
        if not is_native(data) or data.size == 0 or data.dtype.kind == "b":
            return None
        if data.dtype.kind == "f" and not floats:
            return None
        along = None if axes is None or axes.size == 0 else tuple(ints(axes))
        if along is None and bool_attr(op, "noop_with_empty_axes"):
            return None
        reduced = function(data, axis=along, keepdims=bool_attr(op, "keepdims"))
        return [np.asarray(reduced).astype(data.dtype)]

    return run


OPS: Final[dict[type[Operation], NumpyOp]] = {
    onnx.ReduceSumOp: _reduction(np.sum, floats=False),
    onnx.ReduceProdOp: _reduction(np.prod, floats=False),
    onnx.ReduceMaxOp: _reduction(np.max, floats=True),
    onnx.ReduceMinOp: _reduction(np.min, floats=True),
}
