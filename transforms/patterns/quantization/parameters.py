"""What may a pattern ask about scales and zero points?"""

from __future__ import annotations

import numpy as np
from xdsl.ir import SSAValue

from onnxloom.dialects.onnx.access import is_none
from onnxloom.transforms.rewriting.graph_index import GraphIndex


def is_one_positive_scale(graph: GraphIndex, scale: SSAValue) -> bool:
    """Whether it is one known number with which no quantized number of 16 bits over- or underflows."""
    array = graph.constant(scale)
    if array is None or array.size != 1:
        return False
    limits = np.finfo(np.float32)
    return bool(float(limits.tiny) <= array.item() <= float(limits.max) / 65536)


def same_parameters(graph: GraphIndex, left: SSAValue, right: SSAValue) -> bool:
    """Whether two scales or zero points are one value, equal numbers, or both left out."""
    if left is right:
        return True
    if is_none(left) or is_none(right):
        return is_none(left) and is_none(right)
    first, second = graph.constant(left), graph.constant(right)
    if first is None or second is None or first.dtype != second.dtype:
        return False
    return first.size == second.size and bool((first.reshape(-1) == second.reshape(-1)).all())


def is_known_f32(graph: GraphIndex, scale: SSAValue) -> bool:
    """Whether a scale is known, one number or a vector of them in f32."""
    array = graph.constant(scale)
    return array is not None and array.dtype == np.float32 and array.ndim <= 1
