"""Ops made of arrays, for tests that need no module around them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from xdsl.dialects.builtin import NoneType, UnrankedTensorType
from xdsl.ir import Operation

from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.access import make
from onnxloom.dialects.onnx.dtypes import element_of_dtype

Array = np.ndarray[Any, Any]


def op_of(
    op_class: type[Operation],
    inputs: Sequence[Array | None],
    results: Sequence[Any] = (None,),
    **attributes: Any,
) -> Operation:
    """An op on constants; a result type that is None is that of the first input."""
    operands = [
        make(onnx.NoValueOp, [], [NoneType()]).results[0] if i is None else onnx.make_constant(i).output
        for i in inputs
    ]
    first = next((i.dtype for i in inputs if i is not None), np.dtype(np.float32))
    types = [UnrankedTensorType(element_of_dtype(np.dtype(first if r is None else r))) for r in results]
    return make(op_class, operands, types, **attributes)
